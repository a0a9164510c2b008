//! The entries of a directory and the time of its last change, read from one open descriptor.
//!
//! It doesn't decide which entries are followed. Invariant: the time of change is read before the entries.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Result;

use super::stamp::Stamp;

/// The entries of a directory at one moment.
pub(super) struct DirListing {
    dir: Dir,
    /// The later of its `mtime` and `ctime`, in nanoseconds since 1970.
    pub changed_ns: i128,
    /// In the kernel's order.
    pub entries: Vec<DirListingEntry>,
}

/// One entry of a directory.
pub(super) struct DirListingEntry {
    /// File name.
    pub name: OsString,
    /// Whether it is a directory; `false` for a link to one.
    pub is_dir: bool,
}

impl DirListing {
    /// Reads the directory `path`.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut dir = Dir::new(rustix::fs::open(path, flags, Mode::empty())?)?;
        let changed_ns = changed_ns(&dir.stat()?);
        let mut entries = Vec::new();
        while let Some(entry) = dir.read() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let is_dir = match entry.file_type() {
                // Not every file system reports the type here.
                FileType::Unknown => rustix::fs::statat(dir.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()),
                kind => kind.is_dir(),
            };
            entries.push(DirListingEntry { name: OsStr::from_bytes(name.to_bytes()).to_owned(), is_dir });
        }
        Ok(Self { dir, changed_ns, entries })
    }

    /// Whether an entry of this name exists.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// The current stamp of an entry. `None` if it is gone, or neither a file nor a link.
    pub(super) fn stamp(&self, entry: &DirListingEntry) -> Option<Stamp> {
        let stat = rustix::fs::statat(self.dir.fd().ok()?, entry.name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Stamp::of_stat(&stat)
    }
}

fn changed_ns(stat: &Stat) -> i128 {
    super::stamp::times_ns(stat).iter().copied().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_kinds_and_stamps() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
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
        assert!(DirListing::read(&root.join("link")).is_ok() && DirListing::read(&root.join("a.py")).is_err());
    }
}
