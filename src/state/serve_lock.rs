//! The lock that gives a state directory to one serving process.
//!
//! It is the kernel's `flock`: it ends with the process, however that ends. The file's text, the holder's process id, only serves
//! error messages. Invariant: children don't inherit the descriptor.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Held by the serving process. Dropping it releases the state directory.
#[derive(Debug)]
pub struct ServeLock {
    _file: File,
}

/// The process that holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process id; `None` until it has written it.
    pub pid: Option<u32>,
}

/// Why the lock can't be taken.
#[derive(Debug, thiserror::Error)]
pub enum ServeLockError {
    /// Another process serves from this state directory.
    #[error("another process serves from this state directory{}", pid_text(.0))]
    Held(LockHolder),
    /// The lock file can't be opened or written.
    #[error("the lock file of the state directory can't be used")]
    Io(#[from] io::Error),
}

impl ServeLock {
    pub(crate) fn take(path: &Path) -> Result<Self, ServeLockError> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ServeLockError::Held(LockHolder { pid: read_pid(&mut file) })),
            Err(TryLockError::Error(error)) => return Err(ServeLockError::Io(error)),
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

fn pid_text(held: &LockHolder) -> String {
    held.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_process_learns_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = ServeLock::take(&path).unwrap();
        match ServeLock::take(&path) {
            Err(ServeLockError::Held(held)) => assert_eq!(held.pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        drop(first);
        assert!(ServeLock::take(&path).is_ok());
    }

    #[test]
    fn the_text_of_a_dead_holder_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "999999999999 rubbish").unwrap();
        let held = ServeLock::take(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
        drop(held);
    }
}
