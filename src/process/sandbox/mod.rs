//! Confines a language server: it reads the roots and the toolchain, writes its own folders, and has no network.
//!
//! Two mechanisms: bubblewrap builds a file system, a process namespace and a network namespace of the server's own; Landlock restricts the
//! server in the namespaces of this machine. In both, the last step before the server is the hidden subcommand [`confine::SUBCOMMAND`] of
//! this program, which sets limits, gives up capabilities, and applies Landlock rules and a filter of system calls. Invariants: what isn't
//! named in a [`SandboxPolicy`] can't be read; a step that fails prevents the start; a mechanism counts only after [`probe`] has seen it
//! hold in a child process.

pub mod bubblewrap;
pub mod confine;
pub mod landlock;
pub mod policy;
pub mod probe;
mod seccomp;
mod system_paths;

pub use policy::SandboxPolicy;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How a sandbox is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mechanism {
    /// Namespaces by the program `bwrap`, with Landlock rules inside where the kernel has them.
    Bubblewrap,
    /// Landlock rules and a filter of system calls.
    Landlock,
}

impl Mechanism {
    /// All mechanisms, the preferred one first.
    pub const ALL: [Self; 2] = [Self::Bubblewrap, Self::Landlock];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
        }
    }
}

/// The command line that runs `program` with `args` in a sandbox. `confiner` is the executable file of this program.
///
/// # Errors
/// If the policy can't be written as a command line: a path isn't UTF-8, or a visible folder can't hide one inside it.
pub fn command_line(
    mechanism: Mechanism,
    confiner: &Path,
    policy: &SandboxPolicy,
    program: &Path,
    args: &[OsString],
) -> Result<(PathBuf, Vec<OsString>), String> {
    let (front, mut line) = match mechanism {
        Mechanism::Bubblewrap => bubblewrap::front(confiner, policy)?,
        Mechanism::Landlock => {
            policy.check_nothing_hidden_is_visible()?;
            (confiner.to_path_buf(), Vec::new())
        }
    };
    let text = serde_json::to_string(&policy.confined(mechanism)).map_err(|error| error.to_string())?;
    line.extend([confine::SUBCOMMAND.into(), text.into(), program.as_os_str().to_owned()]);
    line.extend(args.iter().cloned());
    Ok((front, line))
}
