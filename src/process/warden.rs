//! The warden: a small process beside codeyard, the hidden subcommand `__warden`. When codeyard has been killed, it kills what language
//! servers left that had killed their guards before.
//!
//! It starts nothing and sleeps until the death pipe is closed. Invariant: it ends a bounded time after codeyard.

use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use parking_lot::Mutex;

use super::orphans;
use crate::limits::{WARDEN_PASS_MS, WARDEN_PASSES};

/// The hidden subcommand.
pub(crate) const SUBCOMMAND: &str = "__warden";

/// The running warden of this process.
#[derive(Debug, Default)]
pub(crate) struct Warden(Mutex<Option<(Child, PipeWriter)>>);

impl Warden {
    /// Starts it, unless it runs. A failure is logged: the next start of codeyard does the same work.
    pub(crate) fn keep_running(&self, program: &Path) {
        let mut running = self.0.lock();
        if running.as_mut().is_some_and(|(child, _)| matches!(child.try_wait(), Ok(None))) {
            return;
        }
        match start(program) {
            Ok(started) => *running = Some(started),
            Err(error) => tracing::warn!(%error, "cannot start the warden of language servers"),
        }
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        if let Some((mut child, pipe)) = self.0.lock().take() {
            drop(pipe);
            // The guards end their servers by themselves: an orderly end needs no warden.
            drop(child.kill());
            drop(child.wait());
        }
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
    // Guards end their own servers first. Nothing is ever sent, so each wait lasts its whole time.
    let (_sender, never) = mpsc::channel::<()>();
    for _ in 0..WARDEN_PASSES {
        let _waited = never.recv_timeout(Duration::from_millis(WARDEN_PASS_MS));
        orphans::kill_abandoned();
    }
    ExitCode::SUCCESS
}
