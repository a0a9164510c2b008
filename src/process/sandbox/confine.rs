//! The last step before a confined server: the hidden subcommand `__confine` applies a policy to its own process and becomes the server.
//!
//! It has one thread. Invariants: it gives up all capabilities; the program is run only after every step has succeeded.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use super::policy::ConfinedPolicy;
use super::{landlock, seccomp};

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "__confine";

/// Exit code if the server wasn't started.
const NOT_STARTED: u8 = 127;

/// Applies a policy, then replaces this process by the program. Arguments: the policy as JSON, the program, its arguments.
pub(crate) fn confine_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let policy = args.next().and_then(|text| serde_json::from_str::<ConfinedPolicy>(text.to_str()?).ok());
    let (Some(policy), Some(program)) = (policy, args.next()) else { return ExitCode::from(NOT_STARTED) };
    if let Err(error) = apply(&policy) {
        eprintln!("codeyard: cannot confine the language server: {error}");
        return ExitCode::from(NOT_STARTED);
    }
    #[expect(clippy::disallowed_methods, reason = "this process becomes the language server")]
    let error = Command::new(program).args(args).exec();
    eprintln!("codeyard: cannot start the language server in its sandbox: {error}");
    ExitCode::from(NOT_STARTED)
}

fn apply(policy: &ConfinedPolicy) -> Result<(), String> {
    close_foreign_descriptors();
    policy.limits.apply_to_self().map_err(|error| format!("limits can't be set: {error}"))?;
    drop_privileges()?;
    if policy.needs_landlock {
        landlock::apply_or_fail(policy)?;
    } else {
        landlock::apply_where_possible(policy);
    }
    seccomp::apply()
}

/// Closes all descriptors except the standard streams when the program is run.
fn close_foreign_descriptors() {
    // SAFETY: the call marks descriptors and accesses no memory of this process.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
}

/// The header and the data of `capset`, in the third version of its interface.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const CAPABILITY_WORDS: usize = 6;
const LAST_CAPABILITY: libc::c_int = 63;

/// Gives up all capabilities, and the way to get them back by running a program.
fn drop_privileges() -> Result<(), String> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let none = [0_u32; CAPABILITY_WORDS];
    // SAFETY: the calls take numbers, and two structures that outlive the last call and have the size that its version demands.
    let result = unsafe {
        for capability in 0..=LAST_CAPABILITY {
            // Without the right to change the set, or for numbers that the kernel doesn't know, it fails.
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 {
            libc::syscall(libc::SYS_capset, &raw const header, &raw const none)
        } else {
            -1
        }
    };
    if result == 0 { Ok(()) } else { Err(format!("privileges can't be given up: {}", std::io::Error::last_os_error())) }
}
