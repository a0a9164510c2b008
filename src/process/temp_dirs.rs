//! Temporary folders of language servers, one for each process, below the state directory.
//!
//! A server that is killed leaves its temporary files. In a folder of its own they are removed with it. The folders of one codeyard are in
//! `<state>/tmp/<process>`, and a lock beside that folder shows that this codeyard is alive. Invariants: a folder is removed when its
//! server has ended; folders of a dead codeyard are removed at the next start; those of a running one never are; once closed, there are
//! no folders and no new ones, even while threads still hold a reference.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use tracing::warn;

use super::proc_tree;
use super::tool::Tool;
use codeyard_base::file_lock::FileLock;

/// Longest time of each tool that removes a temporary folder which codeyard can't remove by itself, in milliseconds.
const REMOVE_LIMIT_MS: u64 = 5_000;

/// A path below an open folder that is longer than this, in bytes, is continued from a deeper one. The system allows 4,096.
const LONG_PATH: usize = 3_000;

/// The extension of the locks.
const LOCK: &str = "lock";
/// The lock that is held while folders of codeyards are created or swept.
const SWEEP_LOCK: &str = "sweep";

/// The temporary folders of the servers of this process.
#[derive(Debug)]
pub struct TempDirs {
    own: PathBuf,
    lock_path: PathBuf,
    next: AtomicU64,
    /// The lock, until they are closed.
    lock: Mutex<Option<FileLock>>,
}

/// The temporary folder of one server. It is removed when this is dropped.
#[derive(Debug)]
pub(super) struct TempDir(PathBuf);

impl TempDirs {
    /// Removes the folders that dead codeyards left in this state directory, and creates the one of this process.
    ///
    /// # Errors
    /// If the folder can't be created or locked.
    pub fn open(state: &Path) -> io::Result<Self> {
        let all = state.join("tmp");
        create(&all)?;
        let _sweeping = FileLock::acquire(&all.join(SWEEP_LOCK))?;
        sweep(&all);
        let pid = std::process::id();
        let start = proc_tree::identity(pid).map_or(0, |own| own.start);
        // One process may open the same state directory several times.
        for attempt in 0_u32.. {
            let name = format!("{pid}-{start}-{attempt}");
            let lock_path = all.join(&name).with_extension(LOCK);
            let Some(lock) = FileLock::try_acquire(&lock_path)? else { continue };
            let own = all.join(name);
            create(&own)?;
            return Ok(Self { own, lock_path, next: AtomicU64::new(0), lock: Mutex::new(Some(lock)) });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A new, empty folder.
    pub(super) fn create(&self) -> io::Result<TempDir> {
        let lock = self.lock.lock();
        if lock.is_none() {
            return Err(io::Error::other("codeyard is stopping"));
        }
        let path = self.own.join(self.next.fetch_add(1, Relaxed).to_string());
        create(&path)?;
        Ok(TempDir(path))
    }

    /// Removes all folders. From now on none is created. At the end of the process threads may still hold a reference, so that dropping
    /// one isn't enough.
    pub fn close(&self) {
        let Some(_held) = self.lock.lock().take() else { return };
        remove(&self.own);
        // A lock that stays is removed by the next sweep.
        let _ = fs::remove_file(&self.lock_path);
    }
}

impl Drop for TempDirs {
    fn drop(&mut self) {
        self.close();
    }
}

impl TempDir {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

fn create(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove(path: &Path) {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {}
        _ => return,
    }
    // Folders without permissions, or nested deeper than there are descriptors.
    make_accessible(path);
    if fs::remove_dir_all(path).is_err() {
        let tool = Tool::new("rm").args([OsStr::new("-rf"), OsStr::new("--"), path.as_os_str()]);
        drop(tool.run(Duration::from_millis(REMOVE_LIMIT_MS), &|| {}));
    }
    if let Err(error) = fs::remove_dir_all(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        warn!(%error, "cannot remove the temporary folder of a language server; the next start tries again");
    }
}

/// Gives the owner all permissions for the folders below `path`. No link is followed, even if a process that still runs puts it there
/// meanwhile.
fn make_accessible(path: &Path) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(top) = open(path, flags, Mode::empty()) else { return };
    // Each folder with an open one above it. A path of the system has a greatest length.
    let mut folders = vec![(Rc::new(top), PathBuf::from("."))];
    while let Some((mut base, mut folder)) = folders.pop() {
        let strictly = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let Ok(opened) = openat2(&base, &folder, flags, Mode::empty(), strictly) else { continue };
        // A descriptor of a folder that can't be read changes no mode itself; the kernel's link to the same folder does.
        let link = format!("/proc/self/fd/{}", opened.as_raw_fd());
        drop(fs::set_permissions(&link, fs::Permissions::from_mode(0o700)));
        let entries = fs::read_dir(&link).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let below: Vec<_> = below.map(|entry| entry.file_name()).collect();
        if folder.as_os_str().len() > LONG_PATH {
            (base, folder) = (Rc::new(opened), PathBuf::from("."));
        }
        folders.extend(below.into_iter().map(|name| (base.clone(), folder.join(name))));
    }
}

/// Removes the folders whose locks no process holds, and folders without a lock.
fn sweep(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let lock = path.with_extension(LOCK);
            match FileLock::try_acquire(&lock) {
                Ok(Some(_lock)) => {
                    remove(&path);
                    let _ = fs::remove_file(&lock);
                }
                Ok(None) => {}
                Err(error) => warn!(%error, "cannot check a temporary folder of language servers"),
            }
        } else if path.extension().is_some_and(|extension| extension == LOCK)
            && !path.with_extension("").is_dir()
            && let Ok(Some(_lock)) = FileLock::try_acquire(&path)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(state: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(state.join("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs `work` on a thread that may do with a file only what its mode allows.
    #[cfg(target_os = "linux")]
    fn without_privileges<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
        let run = || {
            let mut sets = capabilities(None).unwrap();
            sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
            set_capabilities(None, sets).unwrap();
            work()
        };
        std::thread::scope(|scope| scope.spawn(run).join().unwrap())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn folders_are_removed_whatever_their_modes_and_however_deep_they_are() {
        let state = tempfile::tempdir().unwrap();
        let outside = state.path().join("outside");
        let dirs = TempDirs::open(state.path()).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o500)).unwrap();
        let own = dirs.create().unwrap();
        for (name, mode) in [("listed", 0o555), ("hidden", 0o333), ("closed", 0)] {
            let folder = own.path().join(name);
            fs::create_dir_all(folder.join("below")).unwrap();
            fs::write(folder.join("below/file"), "x").unwrap();
            std::os::unix::fs::symlink(&outside, folder.join("link")).unwrap();
            fs::set_permissions(folder.join("below"), fs::Permissions::from_mode(mode)).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = own.path().to_owned();
        assert!(without_privileges(|| fs::remove_dir_all(&path)).is_err(), "the modes matter here");
        without_privileges(|| drop(own));
        assert!(!path.exists());
        assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o500, "no link is followed");

        let link = state.path().join("link");
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        make_accessible(&link);
        assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o500, "nor is the folder one");

        let own = dirs.create().unwrap();
        let path = own.path().to_owned();
        let mut folder = rustix::fs::open(&path, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
        for _ in 0..5_000 {
            rustix::fs::mkdirat(&folder, "nested", rustix::fs::Mode::RWXU).unwrap();
            let flags = rustix::fs::OFlags::DIRECTORY;
            folder = rustix::fs::openat(&folder, "nested", flags, rustix::fs::Mode::empty()).unwrap();
        }
        // Behind a path that is longer than the system allows.
        rustix::fs::fchmod(&folder, rustix::fs::Mode::empty()).unwrap();
        without_privileges(|| drop((folder, own)));
        assert!(!path.exists());
    }

    #[test]
    fn folders_are_removed_with_their_owner_and_swept_after_its_death() {
        let state = tempfile::tempdir().unwrap();
        let dead = state.path().join("tmp/7-7-0/3");
        fs::create_dir_all(&dead).unwrap();
        fs::write(dead.join("preamble-x.pch"), "left").unwrap();
        fs::write(state.path().join("tmp/7-7-0.lock"), "").unwrap();
        fs::create_dir_all(state.path().join("tmp/without-a-lock")).unwrap();
        fs::write(state.path().join("tmp/8-8-0.lock"), "").unwrap();

        let first = TempDirs::open(state.path()).unwrap();
        let [one, two] = [first.create().unwrap(), first.create().unwrap()];
        fs::write(one.path().join("file"), "x").unwrap();
        assert_ne!(one.path(), two.path());
        assert_eq!(names(state.path()).len(), 3, "one folder, its lock and that of sweeps: {:?}", names(state.path()));

        let second = TempDirs::open(state.path()).unwrap();
        assert!(one.path().join("file").exists(), "another codeyard is alive");
        let kept = two.path().to_path_buf();
        let removed = one.path().to_path_buf();
        drop(one);
        assert!(!removed.exists() && kept.exists());
        drop((second, two));
        first.close();
        assert_eq!(names(state.path()), [SWEEP_LOCK], "it is still referenced");
        assert!(first.create().is_err());
        drop(first);
        assert_eq!(names(state.path()), [SWEEP_LOCK]);
    }
}
