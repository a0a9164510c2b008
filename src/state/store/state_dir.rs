//! The state directory and the places in it.
//!
//! Invariant: it is made with mode 0700, and one that others may write into is refused.

use std::ffi::OsString;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::epochs::RootsEpochs;
use super::lock::{LockError, ServeLock};
use codeyard_base::ids::WorkspaceName;

/// The folder of the code indexes.
pub const INDEX: &str = "index";

/// A state directory that exists and is ours alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(PathBuf);

/// Why a state directory can't be used. For the operator, so it names the path.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Neither `--state-dir`, nor `CODEYARD_STATE_DIR`, nor a home directory.
    #[error("no state directory: set --state-dir, CODEYARD_STATE_DIR or HOME")]
    Nowhere,
    /// It can't be made, read or written.
    #[error("state directory {} can't be used", path.display())]
    Unusable {
        /// Which path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Other users may write into it.
    #[error("state directory {} belongs to or can be written by another user", path.display())]
    NotPrivate {
        /// Which path.
        path: PathBuf,
    },
}

impl StateDir {
    /// The directory to use: `flag`, else `CODEYARD_STATE_DIR`, else `XDG_STATE_HOME/codeyard`, else
    /// `~/.local/state/codeyard`. `env` is asked by name, so that a test can answer. Empty and relative XDG values don't
    /// count, as the XDG specification says.
    pub fn locate(flag: Option<&Path>, env: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, StoreError> {
        let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |name: &str| set(name).filter(|path| path.is_absolute());
        flag.map(Path::to_owned)
            .or_else(|| set("CODEYARD_STATE_DIR"))
            .or_else(|| absolute("XDG_STATE_HOME").map(|dir| dir.join("codeyard")))
            .or_else(|| absolute("HOME").map(|dir| dir.join(".local/state/codeyard")))
            .ok_or(StoreError::Nowhere)
    }

    /// Opens it, making it (0700) if it isn't there. The path is kept absolute, so that a later change of the working
    /// directory doesn't move it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Unusable { path: path.to_owned(), source };
        make_private(path).map_err(failed)?;
        let real = path.canonicalize().map_err(failed)?;
        let found = real.metadata().map_err(failed)?;
        let own = found.uid() == rustix::process::geteuid().as_raw();
        if !own || found.mode() & 0o022 != 0 {
            return Err(StoreError::NotPrivate { path: path.to_owned() });
        }
        if found.mode() & 0o077 != 0 {
            std::fs::set_permissions(&real, Permissions::from_mode(0o700)).map_err(failed)?;
        }
        Ok(Self(real))
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Claims it for serving, until the lock is dropped or the process ends. Errors: held by another process.
    pub fn lock(&self) -> Result<ServeLock, LockError> {
        ServeLock::take(&self.0.join("serve.lock"))
    }

    /// The persisted floors of `rootsEpoch`. Only the holder of the lock may raise them.
    pub fn roots_epochs(&self) -> RootsEpochs {
        RootsEpochs::in_dir(self.0.join("epochs"))
    }

    /// Where language servers are installed.
    pub fn servers(&self) -> PathBuf {
        self.0.join("servers")
    }

    /// What language servers cache for one workspace.
    pub fn cache(&self, workspace: &WorkspaceName) -> PathBuf {
        self.0.join("cache").join(workspace.as_str())
    }

    /// The code indexes, one folder a repository.
    pub fn index(&self) -> PathBuf {
        self.0.join(INDEX)
    }

    /// Log files.
    pub fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// Sockets and what else belongs to a running process.
    pub fn run(&self) -> PathBuf {
        self.0.join("run")
    }

    /// The socket at which `codeyard stdio` attaches to a running server.
    pub fn attach_socket(&self) -> PathBuf {
        self.run().join("attach.sock")
    }

    /// The socket at which operators reach a running server.
    pub fn admin_socket(&self) -> PathBuf {
        self.run().join("admin.sock")
    }

    /// The hashes of bearer tokens.
    pub fn tokens(&self) -> PathBuf {
        self.0.join("tokens")
    }

    /// The hashes of operators' bearer tokens.
    pub fn admin_tokens(&self) -> PathBuf {
        self.0.join("admin-tokens")
    }

    /// What persons have allowed for always.
    pub fn permissions(&self) -> PathBuf {
        self.0.join("permissions")
    }

    /// Makes one of the folders above, for the owner only.
    pub fn make(&self, folder: &Path) -> Result<(), StoreError> {
        make_private(folder).map_err(|source| StoreError::Unusable { path: folder.to_owned(), source })
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is() {
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
        assert!(matches!(locate(None, 3, None), Err(StoreError::Nowhere)));
    }

    #[test]
    fn made_for_the_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        let state = StateDir::open(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(StateDir::open(&path).unwrap(), state);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(StateDir::open(&path), Err(StoreError::NotPrivate { .. })));
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(matches!(StateDir::open(&dir.path().join("file")), Err(StoreError::Unusable { .. })));
    }
}
