//! An exclusive lock on a file or folder, between processes and between openings in one process.
//!
//! It is the kernel's `flock`: it ends with the process, however that ends. The file is created with mode 0600 and stays when the lock is
//! released. Invariant: children don't inherit the descriptor.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A held lock. Dropping it releases it.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Takes the lock, waiting as long as another opening holds it.
    ///
    /// # Errors
    /// If the file can't be opened or locked.
    pub fn acquire(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        file.lock()?;
        Ok(Self(file))
    }

    /// Takes the lock; `None` if another opening holds it.
    ///
    /// # Errors
    /// If the file can't be opened or locked.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the lock of a folder itself, which survives the removal of files in it; `None` if another opening holds it.
    ///
    /// # Errors
    /// If the folder can't be opened or locked.
    pub fn try_acquire_folder(path: &Path) -> io::Result<Option<Self>> {
        let folder = OpenOptions::new().read(true).open(path)?;
        match folder.try_lock() {
            Ok(()) => Ok(Some(Self(folder))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether `path` still names what is locked.
    pub fn is_at(&self, path: &Path) -> bool {
        let same = |found: &Metadata, own: &Metadata| (found.dev(), found.ino()) == (own.dev(), own.ino());
        matches!((path.metadata(), self.0.metadata()), (Ok(found), Ok(own)) if same(&found, &own))
    }

    /// The locked file, open for reading and writing.
    pub fn file(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A process that another thread is starting has a copy of the descriptor until it runs its program. Closing the own one would not
        // release the lock until then. If unlocking fails, closing releases it.
        let _ = self.0.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_lock_is_free_though_a_starting_process_has_a_copy_of_the_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let mut held = FileLock::try_acquire(&path).unwrap().unwrap();
        let copy = held.file().try_clone().unwrap();
        drop(held);
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
        drop(copy);
    }

    #[test]
    fn one_opening_holds_the_lock_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = FileLock::try_acquire(&path).unwrap().unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        let waiter = std::thread::spawn({
            let path = path.clone();
            move || FileLock::acquire(&path).is_ok()
        });
        drop(held);
        assert!(waiter.join().unwrap());
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
        assert!(FileLock::try_acquire(&dir.path().join("missing/lock")).is_err());
        assert!(FileLock::try_acquire_folder(&dir.path().join("missing")).is_err());
    }

    #[test]
    fn the_lock_of_a_folder_survives_its_files_and_a_removed_file_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = FileLock::try_acquire(&path).unwrap().unwrap();
        let folder = FileLock::try_acquire_folder(dir.path()).unwrap().unwrap();
        assert!(held.is_at(&path) && folder.is_at(dir.path()));
        std::fs::remove_file(&path).unwrap();
        assert!(!held.is_at(&path));
        std::fs::write(&path, "").unwrap();
        assert!(!held.is_at(&path), "another file of the same name");
        assert!(FileLock::try_acquire_folder(dir.path()).unwrap().is_none());
        drop(folder);
        assert!(FileLock::try_acquire_folder(dir.path()).unwrap().is_some());
    }
}
