//! Files of who may do what: JSON, mode 0600, replaced as a whole.
//!
//! What stands in them is for others to say. Invariants: a reader sees the old file or the new one, never half of one;
//! writers take turns by a lock beside it; other users can't read it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What tells one state of the file from another, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    modified_ns: i128,
    changed_ns: i128,
    inode: u64,
    size: u64,
}

/// The right to change the file; ends when dropped.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "held open for its lock")] File);

/// Waits for the right to change the file at `path`.
///
/// # Errors
/// If the lock file beside it can't be opened or locked.
pub fn lock(path: &Path) -> io::Result<FileLock> {
    let file = options().read(true).write(true).create(true).truncate(false).open(beside(path, ".lock"))?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(FileLock(file))
}

/// Reads the file; `None` if it isn't there.
///
/// # Errors
/// If it is a symbolic link, larger than `max_bytes`, not readable, or not of this form. Loose permissions are tightened.
pub fn read<T: DeserializeOwned>(path: &Path, max_bytes: u64) -> io::Result<Option<(T, Stamp)>> {
    let mut file = match options().read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let meta = file.metadata()?;
    if meta.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    let stamp = stamp_of(&file.metadata()?);
    let mut text = Vec::new();
    (&mut file).take(max_bytes + 1).read_to_end(&mut text)?;
    let content = serde_json::from_slice(&text).map_err(|_| malformed())?;
    if text.len() as u64 <= max_bytes { Ok(Some((content, stamp))) } else { Err(malformed()) }
}

/// Replaces the file. The caller holds the lock.
///
/// # Errors
/// If it can't be written whole and put in place.
pub fn write<T: Serialize>(path: &Path, content: &T, _lock: &FileLock) -> io::Result<()> {
    let draft = beside(path, ".new");
    let mut file = options().write(true).create(true).truncate(true).open(&draft)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    serde_json::to_writer_pretty(&mut file, content)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

/// The file's present stamp; `None` if it isn't there.
pub fn stamp(path: &Path) -> Option<Stamp> {
    fs::symlink_metadata(path).ok().map(|meta| stamp_of(&meta))
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits().cast_signed());
    options
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn stamp_of(meta: &fs::Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    let ns = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
    Stamp {
        modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
        changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
        inode: meta.ino(),
        size: meta.len(),
    }
}

/// What stands in a file is not what should.
pub fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file is not of the expected form")
}
