//! A host's configuration file: reading it, and replacing it with a copy of the old one beside it.
//!
//! Invariants: no link is followed but that of the file itself; nothing that exists is overwritten by the copy; a file that changed since
//! it was read is left; a file that holds a token never has a mode with which another user can read it, if it is new or replaced.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::Failure;
use codeyard_base::atomic_file::{self, Durability};

/// Mode of a file that holds a token.
const SECRET_MODE: u32 = 0o600;
/// Mode of another new file, of which the umask takes bits away.
const NEW_MODE: u32 = 0o666;
/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o7777;

/// A configuration file as it was read.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// Its path, behind links.
    pub(super) path: PathBuf,
    /// Its text; `None` if there is no file.
    pub(super) old: Option<String>,
}

impl ConfigFile {
    /// Reads `path`. There may be no file.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let path = resolved(path)?;
        let old = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                return Err(Failure::new(format!("cannot read {}: {error}; nothing was written", path.display())));
            }
        };
        Ok(Self { path, old })
    }

    /// Refuses a file that isn't to be written.
    pub(super) fn check_writable(&self) -> Result<(), Failure> {
        if self.old.is_none() {
            return Ok(());
        }
        let is_read_only = fs::metadata(&self.path).is_ok_and(|known| known.permissions().readonly());
        if is_read_only || rustix::fs::access(&self.path, rustix::fs::Access::WRITE_OK).is_err() {
            let path = self.path.display();
            return Err(Failure::new(format!(
                "{path} is not writable; nothing was written. Name another file with --file"
            )));
        }
        Ok(())
    }

    /// Writes `text` and keeps the old file, whose new path it returns.
    pub(super) fn write(&self, text: &str, holds_token: bool) -> Result<Option<PathBuf>, Failure> {
        match &self.old {
            None => self.create(text, holds_token).map(|()| None),
            Some(old) if old == text => {
                if holds_token {
                    let secret = fs::set_permissions(&self.path, Permissions::from_mode(SECRET_MODE));
                    secret.map_err(|error| self.failed("set the mode of", &error))?;
                }
                Ok(None)
            }
            Some(old) => self.replace(old, text, holds_token).map(Some),
        }
    }

    fn create(&self, text: &str, holds_token: bool) -> Result<(), Failure> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(|error| self.failed("create the folder of", &error))?;
        }
        let mode = if holds_token { SECRET_MODE } else { NEW_MODE };
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&self.path) {
            Ok(file) => fill(file, text, &self.path).map_err(|error| self.failed("write", &error)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(self.changed()),
            Err(error) => Err(self.failed("create", &error)),
        }
    }

    fn replace(&self, old: &str, text: &str, holds_token: bool) -> Result<PathBuf, Failure> {
        let known = fs::metadata(&self.path).map_err(|error| self.failed("read", &error))?;
        let mode = known.permissions().mode() & PERMISSIONS;
        let kept = keep(&self.path, old, mode).map_err(|error| self.failed("copy", &error))?;
        let mode = if holds_token { SECRET_MODE } else { mode };
        let mut is_changed = false;
        let replaced = atomic_file::replace(&self.path, Durability::Power, |draft| {
            draft.write_all(text.as_bytes())?;
            draft.set_permissions(Permissions::from_mode(mode))?;
            is_changed = fs::read(&self.path)? != old.as_bytes();
            if is_changed { Err(io::Error::other("it changed")) } else { Ok(()) }
        });
        match replaced {
            Ok(()) => Ok(kept),
            Err(error) => {
                fs::remove_file(&kept).ok();
                Err(if is_changed { self.changed() } else { self.failed("write", &error) })
            }
        }
    }

    fn changed(&self) -> Failure {
        let path = self.path.display();
        Failure::new(format!("{path} changed meanwhile, so nothing was written; run the command again"))
    }

    fn failed(&self, what: &str, error: &io::Error) -> Failure {
        Failure::new(format!("cannot {what} {}: {error}", self.path.display()))
    }
}

/// The path behind links, so that a linked file is replaced and not its link.
fn resolved(file: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("cannot use {}: {error}", file.display()));
    match file.canonicalize() {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(file).is_ok() {
                return Err(failed(&"it is a link to a file that does not exist"));
            }
            std::path::absolute(file).map_err(|error| failed(&error))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Writes a new file; one that can't be written as a whole is removed.
fn fill(mut file: File, text: &str, path: &Path) -> io::Result<()> {
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        fs::remove_file(path).ok();
    }
    written
}

/// Writes `old`, the text of `file`, into a new file beside it, under a name that is free.
fn keep(file: &Path, old: &str, mode: u32) -> io::Result<PathBuf> {
    for number in 0..u32::MAX {
        let mut name = file.as_os_str().to_owned();
        name.push(".codeyard-backup");
        if number > 0 {
            name.push(format!("-{number}"));
        }
        let path = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).mode(mode & SECRET_MODE).open(&path) {
            Ok(copy) => {
                copy.set_permissions(Permissions::from_mode(mode))?;
                fill(copy, old, &path)?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_since_it_was_read_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.json");
        let file = ConfigFile::open(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        let failure = file.write("new", false).unwrap_err();
        assert!(failure.message.contains("changed meanwhile"), "{failure:?}");
        let file = ConfigFile::open(&path).unwrap();
        fs::write(&path, "mine too").unwrap();
        let failure = file.write("new", false).unwrap_err();
        assert!(failure.message.contains("changed meanwhile"), "{failure:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine too");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no copy and no draft is left");
    }

    #[test]
    fn the_copy_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.json");
        fs::write(&path, "old").unwrap();
        let outside = dir.path().join("outside");
        std::os::unix::fs::symlink(&outside, dir.path().join("f.json.codeyard-backup")).unwrap();
        let kept = ConfigFile::open(&path).unwrap().write("new", false).unwrap().unwrap();
        assert!(!outside.exists() && kept.ends_with("f.json.codeyard-backup-1"), "{kept:?}");
        assert_eq!(fs::read_to_string(kept).unwrap(), "old");
    }
}
