//! The lock that makes a state directory belong to one serving process (decisions §1).
//!
//! The kernel's `flock`: it is gone with the process, however that ends. The file's text, the holder's process id, is
//! only for telling people. Invariant: the descriptor isn't inherited by children.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// Held by the serving process; dropping it frees the state directory.
#[derive(Debug)]
pub struct ServeLock {
    _file: File,
}

/// Who holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockedBy {
    /// Its process id; `None` in the moment before it has written it.
    pub pid: Option<u32>,
}

/// Why the lock wasn't taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process serves from this state directory.
    #[error("another process serves from this state directory{}", pid_text(.0))]
    Held(LockedBy),
    /// The lock's file can't be used.
    #[error("the lock of the state directory can't be used")]
    Io(#[from] io::Error),
}

impl ServeLock {
    pub(super) fn take(path: &Path) -> Result<Self, LockError> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(LockError::Held(LockedBy { pid: read_pid(&mut file) })),
            Err(errno) => return Err(LockError::Io(errno.into())),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: file })
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn pid_text(held: &LockedBy) -> String {
    held.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = ServeLock::take(&path).unwrap();
        match ServeLock::take(&path) {
            Err(LockError::Held(held)) => assert_eq!(held.pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        drop(first);
        assert!(ServeLock::take(&path).is_ok());
    }

    #[test]
    fn a_stale_text_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "999999999999 rubbish").unwrap();
        let held = ServeLock::take(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
        drop(held);
    }
}
