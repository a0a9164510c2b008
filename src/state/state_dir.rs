//! The state directory and the paths in it.
//!
//! Invariant: it is created with mode 0700, and one that other users can write into is refused.

use std::ffi::OsString;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::serve_lock::{RUN_FOLDER, SERVE_LOCK_FILE, ServeLock, ServeLockError};
use crate::sqlite::SqliteStore;
use crate::state_store::{StateError, StoreHandle};
use codeyard_base::ids::TenantId;

/// The folder of the code indexes of the tenant `default`, and that of another tenant in its own folder.
pub const INDEX_FOLDER: &str = "index";

/// The folders of the other tenants.
const TENANTS_FOLDER: &str = "tenants";

/// A disk with less free space than this is full, in bytes: the log's index of the database alone needs 32 KiB.
const MIN_DISK_BYTES: u64 = 64 * 1024;

/// A state directory that exists and that only this user can write into.
///
/// Clones share the handle of the [`StateDir::store`].
#[derive(Debug, Clone)]
pub struct StateDir {
    path: PathBuf,
    store: Arc<Mutex<Option<StoreHandle>>>,
}

/// The folder of the code indexes of a tenant in the state directory at `state`. Tenants share no index, also not of the same root.
pub fn index_folder(state: &Path, tenant: &TenantId) -> PathBuf {
    let own = if tenant.is_default() { state.to_owned() } else { state.join(TENANTS_FOLDER).join(tenant.as_str()) };
    own.join(INDEX_FOLDER)
}

/// Why a state directory can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// `--state-dir`, `CODEYARD_STATE_DIR` and a home directory are all missing.
    #[error("no state directory: set --state-dir, CODEYARD_STATE_DIR or HOME")]
    Nowhere,
    /// It can't be created, read or written.
    #[error("state directory {} can't be used; make it writable, or choose another one with --state-dir", path.display())]
    Unusable { path: PathBuf, source: io::Error },
    /// Other users may write into it.
    #[error(
        "state directory {} belongs to or can be written by another user; take the permission away (chmod go-w), or choose another one \
         with --state-dir",
        path.display()
    )]
    NotPrivate { path: PathBuf },
}

impl StateDir {
    /// The directory to use: `flag`, else `CODEYARD_STATE_DIR`, else `XDG_STATE_HOME/codeyard`, else
    /// `~/.local/state/codeyard`. `env` reads an environment variable. Empty and relative XDG values are ignored, as the XDG
    /// specification demands.
    pub fn locate(flag: Option<&Path>, env: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StateDirError> {
        let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |name: &str| set(name).filter(|path| path.is_absolute());
        flag.map(Path::to_owned)
            .or_else(|| set("CODEYARD_STATE_DIR"))
            .or_else(|| absolute("XDG_STATE_HOME").map(|dir| dir.join("codeyard")))
            .or_else(|| absolute("HOME").map(|dir| dir.join(".local/state/codeyard")))
            .ok_or(StateDirError::Nowhere)
    }

    /// Opens the directory and creates it (mode 0700) if it doesn't exist. The path is made absolute, so that a later change of the
    /// working directory doesn't move it.
    pub fn open(path: &Path) -> Result<Self, StateDirError> {
        let failed = |source| StateDirError::Unusable { path: path.to_owned(), source };
        make_private(path).map_err(failed)?;
        let real = path.canonicalize().map_err(failed)?;
        let found = real.metadata().map_err(failed)?;
        let own = found.uid() == rustix::process::geteuid().as_raw();
        if !own || found.mode() & 0o022 != 0 {
            return Err(StateDirError::NotPrivate { path: path.to_owned() });
        }
        if found.mode() & 0o077 != 0 {
            std::fs::set_permissions(&real, Permissions::from_mode(0o700)).map_err(failed)?;
        }
        Ok(Self { path: real, store: Arc::default() })
    }

    /// Whether its disk is full. Blocks.
    pub fn is_disk_full(&self) -> bool {
        is_disk_full(&self.path)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the directory for serving, until the lock is dropped or the process ends.
    ///
    /// # Errors
    /// If another process holds the lock, or its file can't be used.
    pub fn lock(&self) -> Result<ServeLock, ServeLockError> {
        ServeLock::take(&self.path.join(SERVE_LOCK_FILE))
    }

    /// The store of tokens, permissions, epochs and the warm set. The first call opens it, and creates it if it
    /// doesn't exist; later calls return the same handle. Blocks.
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn store(&self) -> Result<StoreHandle, StateError> {
        let mut store = self.store.lock();
        match &*store {
            Some(opened) => Ok(opened.clone()),
            None => Ok(store.insert(Arc::new(SqliteStore::open(&self.path)?)).clone()),
        }
    }

    /// The folder of the code indexes of a tenant, with one folder for each repository.
    pub fn index(&self, tenant: &TenantId) -> PathBuf {
        index_folder(&self.path, tenant)
    }

    /// The folder of sockets and other files of a running process.
    pub fn run(&self) -> PathBuf {
        self.path.join(RUN_FOLDER)
    }

    /// The socket through which `codeyard stdio` attaches to a running server.
    pub fn attach_socket(&self) -> PathBuf {
        self.run().join("attach.sock")
    }

    /// The socket through which operators reach a running server.
    pub fn admin_socket(&self) -> PathBuf {
        self.run().join("admin.sock")
    }

    /// Creates one of the folders above, for the owner only.
    ///
    /// # Errors
    /// If it can't be created.
    pub fn make(&self, folder: &Path) -> Result<(), StateDirError> {
        make_private(folder).map_err(|source| StateDirError::Unusable { path: folder.to_owned(), source })
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether the disk of this folder is full.
pub(crate) fn is_disk_full(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < MIN_DISK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_before_the_environment_and_the_home_directory() {
        let all = [("CODEYARD_STATE_DIR", "/c"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        let locate = |flag: Option<&str>, from: usize, xdg: Option<&str>| {
            StateDir::locate(flag.map(Path::new), |name| {
                let value = all[from..].iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
                if name == "XDG_STATE_HOME" { xdg.or(value).map(Into::into) } else { value.map(Into::into) }
            })
        };
        assert_eq!(locate(Some("/f"), 0, None).unwrap(), Path::new("/f"));
        assert_eq!(locate(None, 0, None).unwrap(), Path::new("/c"));
        assert_eq!(locate(None, 1, None).unwrap(), Path::new("/x/codeyard"));
        for unusable in ["", "relative"] {
            assert_eq!(locate(None, 1, Some(unusable)).unwrap(), Path::new("/h/.local/state/codeyard"));
        }
        assert!(matches!(locate(None, 3, None), Err(StateDirError::Nowhere)));
    }

    #[test]
    fn it_is_created_for_the_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        let state = StateDir::open(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(StateDir::open(&path).unwrap().path(), state.path());
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(StateDir::open(&path), Err(StateDirError::NotPrivate { .. })));
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(matches!(StateDir::open(&dir.path().join("file")), Err(StateDirError::Unusable { .. })));
    }

    #[test]
    fn a_disk_without_free_space_is_full() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!StateDir::open(&dir.path().join("state")).unwrap().is_disk_full());
        // A file system that has no space.
        assert!(is_disk_full(Path::new("/proc")));
    }
}
