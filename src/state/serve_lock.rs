//! The lock that gives a state directory to one serving process.
//!
//! It ends with the process, however that ends. The file's text, the holder's process id, only serves error messages. The folder `run` of
//! the directory is locked too, so that a removed lock file lets no second process serve; whoever opens the database locks the directory
//! itself for a moment. Invariant: whoever serves holds both locks.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use codeyard_base::clock::Instant;
use codeyard_base::file_lock::FileLock;
use parking_lot::Mutex;

use crate::limits::{DEAD_HOLDER_POLL, DEAD_HOLDER_WAIT};

/// The name of the lock's file in the state directory.
pub(crate) const SERVE_LOCK_FILE: &str = "serve.lock";

/// The folder of the state directory that is locked too. It holds the sockets of the serving process.
pub(crate) const RUN_FOLDER: &str = "run";

/// The locks that this process holds. A process id doesn't prove it: processes of two containers can have the same one.
static OWN_LOCKS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Held by the serving process. Dropping it releases the state directory.
#[derive(Debug)]
pub struct ServeLock {
    path: PathBuf,
    folder: FileLock,
    file: Mutex<FileLock>,
}

/// What became of a lock that this process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockState {
    Held,
    /// Its file had been removed or replaced; there is a new one. The folder `run` was locked throughout.
    Restored,
    /// The state directory or its folder `run` was removed or replaced: another process may serve from its path.
    Lost,
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
        let until = Instant::now() + DEAD_HOLDER_WAIT;
        let (folder, mut file) = loop {
            if let Some(locks) = try_both(path)? {
                break locks;
            }
            let holder = LockHolder { pid: read_pid(path) };
            // A child that a killed process was just starting has its files until it becomes another program.
            if !holder.is_gone() || Instant::now() >= until {
                return Err(ServeLockError::Held(holder));
            }
            #[expect(clippy::disallowed_methods, reason = "a condition of the system, which nothing reports; bounded")]
            std::thread::sleep(DEAD_HOLDER_POLL);
        };
        write_pid(&mut file)?;
        OWN_LOCKS.lock().push(path.to_owned());
        Ok(Self { path: path.to_owned(), folder, file: Mutex::new(file) })
    }

    /// Checks that the lock file and the directory are still those that are locked. A lock file that was removed or replaced is made
    /// again. Reads the disk.
    ///
    /// # Errors
    /// If a new lock file can't be made.
    pub fn check(&self) -> io::Result<LockState> {
        if !self.folder.is_at(&run_folder(&self.path)) {
            return Ok(LockState::Lost);
        }
        let mut file = self.file.lock();
        if file.is_at(&self.path) {
            return Ok(LockState::Held);
        }
        // A process of another version that doesn't lock the directory may hold the new file.
        let Some(mut again) = FileLock::try_acquire(&self.path)? else { return Ok(LockState::Lost) };
        write_pid(&mut again)?;
        *file = again;
        Ok(LockState::Restored)
    }

    /// The other process that holds the lock of the state directory `folder`, if there is one.
    ///
    /// # Errors
    /// If the lock file can't be opened.
    pub(crate) fn other_holder(folder: &Path) -> io::Result<Option<LockHolder>> {
        let path = folder.join(SERVE_LOCK_FILE);
        if OWN_LOCKS.lock().contains(&path) {
            return Ok(None);
        }
        let is_file_free = !path.exists() || FileLock::try_acquire(&path)?.is_some();
        let run = folder.join(RUN_FOLDER);
        if is_file_free && (!run.exists() || FileLock::try_acquire_folder(&run)?.is_some()) {
            return Ok(None);
        }
        Ok(Some(LockHolder { pid: read_pid(&path) }))
    }
}

impl LockHolder {
    /// Whether this machine shows processes and doesn't show this one. One of another container can be alive all the same.
    fn is_gone(self) -> bool {
        let is_shown = |process: &str| Path::new("/proc").join(process).exists();
        is_shown("self") && self.pid.is_some_and(|pid| !is_shown(&pid.to_string()))
    }
}

impl Drop for ServeLock {
    fn drop(&mut self) {
        OWN_LOCKS.lock().retain(|path| *path != self.path);
    }
}

/// Both locks of the state directory; `None` if another process holds one of them.
fn try_both(path: &Path) -> io::Result<Option<(FileLock, FileLock)>> {
    let folder = run_folder(path);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let Some(folder) = FileLock::try_acquire_folder(&folder)? else { return Ok(None) };
    Ok(FileLock::try_acquire(path)?.map(|file| (folder, file)))
}

fn run_folder(path: &Path) -> PathBuf {
    path.with_file_name(RUN_FOLDER)
}

fn write_pid(lock: &mut FileLock) -> io::Result<()> {
    let file = lock.file();
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn read_pid(path: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(path).ok()?.take(16).read_to_string(&mut text).ok()?;
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
    fn a_removed_lock_file_lets_nobody_in_and_is_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = ServeLock::take(&path).unwrap();
        assert_eq!(first.check().unwrap(), LockState::Held);
        for replace in [false, true] {
            std::fs::remove_file(&path).unwrap();
            if replace {
                std::fs::write(&path, "").unwrap();
            }
            assert!(matches!(ServeLock::take(&path), Err(ServeLockError::Held(_))));
            assert_eq!(first.check().unwrap(), LockState::Restored);
            assert_eq!(first.check().unwrap(), LockState::Held);
            match ServeLock::take(&path) {
                Err(ServeLockError::Held(held)) => assert_eq!(held.pid, Some(std::process::id())),
                other => panic!("{other:?}"),
            }
        }
        std::fs::remove_dir_all(dir.path()).unwrap();
        std::fs::create_dir(dir.path()).unwrap();
        assert_eq!(first.check().unwrap(), LockState::Lost);
        assert!(ServeLock::take(&path).is_ok(), "it is another directory");
        assert_eq!(first.check().unwrap(), LockState::Lost);
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

    #[test]
    fn what_a_dead_holder_has_left_open_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        // No process has such a number.
        std::fs::write(&path, "999999999\n").unwrap();
        let left_open = FileLock::try_acquire(&path).unwrap().unwrap();
        let next = std::thread::spawn({
            let path = path.clone();
            move || ServeLock::take(&path).map(drop)
        });
        drop(left_open);
        next.join().unwrap().unwrap();
    }
}
