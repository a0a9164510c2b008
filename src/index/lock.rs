//! Who may write an index: one job at a time, of whichever process.
//!
//! The kernel's lock on a file of the index's folder: it is gone with the process, however that ends. Readers don't ask for it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// Held while the index is written; dropping it lets the next one in.
#[derive(Debug)]
pub(super) struct WriterLock(#[expect(dead_code, reason = "open as long as the lock is held")] File);

impl WriterLock {
    /// Takes the lock in `folder`; `None` while somebody else holds it. Two openings exclude each other in one process too.
    pub(crate) fn take(folder: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        let file =
            options.read(true).write(true).create(true).truncate(false).mode(0o600).open(folder.join("writer.lock"))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let held = WriterLock::take(dir.path()).unwrap().unwrap();
        assert!(WriterLock::take(dir.path()).unwrap().is_none());
        drop(held);
        assert!(WriterLock::take(dir.path()).unwrap().is_some());
    }
}
