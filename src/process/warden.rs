//! The warden: a small process beside codeyard, the hidden subcommand `__warden`. When codeyard has ended, it kills the tools that codeyard
//! was running, and what language servers left that had killed their guards before.
//!
//! It starts nothing and sleeps until the death pipe is closed. Invariants: it ends a bounded time after codeyard, at once if nothing is
//! left; it runs only while a language server or a tool does.

use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Weak, mpsc};
use std::time::Duration;

use parking_lot::Mutex;

use super::orphans;

/// The warden: pause before each pass after the death of codeyard, in milliseconds.
const WARDEN_PASS_MS: u64 = 100;
/// The warden: most passes after the death of codeyard.
const WARDEN_PASSES: u32 = 40;
/// The warden: passes that leave guards alone, which end their own servers. It is longer than a guard needs.
const WARDEN_PATIENT_PASSES: u32 = 15;
/// The warden: it ends after so many passes in a row that found nothing.
const WARDEN_QUIET_PASSES: u32 = 3;

/// The hidden subcommand.
pub(crate) const SUBCOMMAND: &str = "__warden";

/// The warden of this process, which runs as long as somebody holds it.
static WARDEN: Mutex<Weak<RunningWarden>> = Mutex::new(Weak::new());

/// Holds the running warden; starts it from `program`, if none runs. A failure is logged: the next start of codeyard does the same work.
pub(crate) fn hold(program: &Path) -> Option<Arc<RunningWarden>> {
    let mut known = WARDEN.lock();
    if let Some(running) = known.upgrade().filter(|running| running.is_alive()) {
        return Some(running);
    }
    match RunningWarden::start(program) {
        Ok(running) => {
            let running = Arc::new(running);
            *known = Arc::downgrade(&running);
            Some(running)
        }
        Err(error) => {
            tracing::warn!(%error, "cannot start the warden of child processes");
            None
        }
    }
}

#[derive(Debug)]
pub(crate) struct RunningWarden {
    child: Mutex<Child>,
    _death: PipeWriter,
}

impl RunningWarden {
    fn start(program: &Path) -> std::io::Result<Self> {
        let (child, death) = start(program)?;
        Ok(Self { child: Mutex::new(child), _death: death })
    }

    fn is_alive(&self) -> bool {
        matches!(self.child.lock().try_wait(), Ok(None))
    }
}

impl Drop for RunningWarden {
    fn drop(&mut self) {
        // Guards end their servers by themselves, and codeyard what they leave: an orderly end needs no warden.
        let child = self.child.get_mut();
        drop(child.kill());
        drop(child.wait());
    }
}

fn start(program: &Path) -> std::io::Result<(Child, PipeWriter)> {
    let (read, write) = std::io::pipe()?;
    rustix::io::fcntl_setfd(&read, rustix::io::FdFlags::empty())?;
    #[expect(clippy::disallowed_methods, reason = "the warden is started only here")]
    let mut command = Command::new(program);
    command.arg0("codeyard").arg(SUBCOMMAND).arg(read.as_raw_fd().to_string()).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let child = command.spawn()?;
    Ok((child, write))
}

/// The warden itself. Argument: the number of the death pipe's descriptor.
pub(crate) fn warden_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let pipe = args.into_iter().next().and_then(|text| text.to_str()?.parse().ok());
    let Some(pipe) = pipe.filter(|pipe| *pipe > 2) else { return ExitCode::FAILURE };
    // SAFETY: the parent left this descriptor open for this process, and nothing else here owns it.
    let mut pipe = PipeReader::from(unsafe { OwnedFd::from_raw_fd(pipe) });
    // SAFETY: ignoring signals and naming the process takes numbers and a constant text.
    unsafe {
        for number in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::signal(number, libc::SIG_IGN);
        }
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_NAME, c"lsp-warden".as_ptr());
    }
    while matches!(pipe.read(&mut [0]), Ok(1..)) {}
    // Nothing is ever sent, so each wait lasts its whole time.
    let (_sender, never) = mpsc::channel::<()>();
    let mut quiet = 0;
    for pass in 0..WARDEN_PASSES {
        let _waited = never.recv_timeout(Duration::from_millis(WARDEN_PASS_MS));
        let found = orphans::kill_abandoned_except(pass < WARDEN_PATIENT_PASSES);
        quiet = if found == 0 { quiet + 1 } else { 0 };
        if quiet == WARDEN_QUIET_PASSES {
            break;
        }
    }
    ExitCode::SUCCESS
}
