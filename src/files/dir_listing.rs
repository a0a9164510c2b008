//! The entries of a directory and the time of its last change, read from one open descriptor.
//!
//! It doesn't decide which entries are followed. Invariant: the time of change is read before the entries.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Stat};

use crate::gate::{DirOpenError, FileStamp, open_listing};
use crate::stamp::Stamp;

/// Entries of one directory that a walk reads.
const MAX_DIR_ENTRIES: usize = 1_000_000;

/// The entries of a directory at one moment.
pub(crate) struct DirListing {
    dir: Dir,
    /// The later of its `mtime` and `ctime`, in nanoseconds since 1970.
    pub changed_ns: i128,
    /// In the kernel's order, at most [`MAX_DIR_ENTRIES`].
    pub entries: Vec<DirListingEntry>,
    /// There are more entries.
    pub is_cut: bool,
}

pub(crate) struct DirListingEntry {
    /// File name.
    pub name: OsString,
    /// Whether it is a directory; `false` for a link to one.
    pub is_dir: bool,
    /// Whether it is a regular file.
    pub is_file: bool,
}

impl DirListing {
    /// Reads the directory `path`, a real path. A link in its place, or in the place of a directory above it, isn't followed.
    pub(crate) fn read(path: &Path) -> Result<Self, DirOpenError> {
        Self::of(open_listing(path, Path::new(""))?).map_err(|_| DirOpenError::Busy)
    }

    /// Reads the entries of an open directory.
    pub(crate) fn of(dir: OwnedFd) -> rustix::io::Result<Self> {
        let mut dir = Dir::new(dir)?;
        let changed_ns = changed_ns(&dir.stat()?);
        let mut entries = Vec::new();
        let mut is_cut = false;
        while let Some(entry) = dir.read() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if entries.len() == MAX_DIR_ENTRIES {
                is_cut = true;
                break;
            }
            let kind = match entry.file_type() {
                // Not every file system reports the type here.
                FileType::Unknown => rustix::fs::statat(dir.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            let name = OsStr::from_bytes(name.to_bytes()).to_owned();
            entries.push(DirListingEntry { name, is_dir: kind.is_dir(), is_file: kind.is_file() });
        }
        Ok(Self { dir, changed_ns, entries, is_cut })
    }

    /// Whether an entry of this name exists.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// The current stamp of an entry. `None` if it is gone, or neither a file nor a link.
    pub(crate) fn stamp(&self, entry: &DirListingEntry) -> Option<Stamp> {
        let stat = rustix::fs::statat(self.dir.fd().ok()?, entry.name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Stamp::of_stat(&stat)
    }

    /// Size, times and identity of an entry. `None` if it is gone, or no regular file.
    pub(crate) fn file_stamp(&self, entry: &DirListingEntry) -> Option<FileStamp> {
        let stat = rustix::fs::statat(self.dir.fd().ok()?, entry.name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        FileType::from_raw_mode(stat.st_mode).is_file().then(|| FileStamp::of(&stat))
    }
}

fn changed_ns(stat: &Stat) -> i128 {
    crate::stamp::times_ns(stat).iter().copied().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_kinds_and_stamps() {
        let folder = tempfile::tempdir().unwrap();
        let root = &folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("a.py"), "x").unwrap();
        std::os::unix::fs::symlink("sub", root.join("link")).unwrap();
        let dir_listing = DirListing::read(root).unwrap();
        assert!(dir_listing.changed_ns > 0 && dir_listing.changed_ns <= codeyard_base::clock::wall_ns());
        let mut seen: Vec<_> =
            dir_listing.entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.is_dir)).collect();
        seen.sort();
        assert_eq!(seen, [("a.py", false), ("link", false), ("sub", true)]);
        assert!(dir_listing.holds("a.py") && !dir_listing.holds("b.py"));
        for entry in &dir_listing.entries {
            let there = root.join(&entry.name).symlink_metadata().unwrap();
            let expected = (!there.is_dir()).then(|| Stamp::of(&there));
            assert_eq!(dir_listing.stamp(entry), expected, "{:?}", entry.name);
        }
        std::fs::remove_file(root.join("a.py")).unwrap();
        let gone = dir_listing.entries.iter().find(|entry| entry.name == "a.py").unwrap();
        assert_eq!(dir_listing.stamp(gone), None);
        assert!(DirListing::read(&root.join("sub")).is_ok());
        for other in ["link", "a.py", "none"] {
            assert_eq!(DirListing::read(&root.join(other)).err(), Some(DirOpenError::Missing), "{other}");
        }
    }
}
