//! The hidden subcommands: roles that this program has as a child of itself.
//!
//! Each is one thread without a runtime, so they must be recognised before anything else is done.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[cfg(target_os = "linux")]
use crate::sandbox::{confine, probe};
use crate::{guard, sibling, warden};

/// Whether this program has the hidden subcommands. Most programs of tests have none.
static HAS_SUBCOMMANDS: AtomicBool = AtomicBool::new(false);

/// This program, if it has the hidden subcommands.
pub(crate) fn program() -> Option<PathBuf> {
    if HAS_SUBCOMMANDS.load(Relaxed) { sibling::running().ok() } else { None }
}

/// Runs the hidden subcommand that the command line names. Must be called first in `main`.
pub fn from_command_line(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    HAS_SUBCOMMANDS.store(true, Relaxed);
    let mut args = args.into_iter().skip(1);
    let name = args.next()?;
    match name.to_str()? {
        guard::SUBCOMMAND => Some(guard::guard_main(args)),
        warden::SUBCOMMAND => Some(warden::warden_main(args)),
        #[cfg(target_os = "linux")]
        confine::SUBCOMMAND => Some(confine::confine_main(args)),
        #[cfg(target_os = "linux")]
        probe::SUBCOMMAND => Some(probe::probe_main(args)),
        _ => None,
    }
}
