//! The lock of an index's folder: one job at a time writes the index, of whichever process. Readers don't take it.

use std::io;
use std::path::Path;

use codeyard_base::file_lock::FileLock;

/// Held while the index is written.
#[derive(Debug)]
pub(super) struct WriterLock {
    _lock: FileLock,
}

impl WriterLock {
    /// Takes the lock in `folder`; `None` if another opening, of this process or another one, holds it.
    pub(crate) fn take(folder: &Path) -> io::Result<Option<Self>> {
        Ok(FileLock::try_acquire(&folder.join("writer.lock"))?.map(|lock| Self { _lock: lock }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_exclusive() {
        let dir = tempfile::tempdir().unwrap();
        let held = WriterLock::take(dir.path()).unwrap().unwrap();
        assert!(WriterLock::take(dir.path()).unwrap().is_none());
        drop(held);
        assert!(WriterLock::take(dir.path()).unwrap().is_some());
    }
}
