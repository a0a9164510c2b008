//! One reading of a directory: what it holds, and when that changed last.
//!
//! Opened once, and everything else is asked of the open directory: a walk over thousands of them waits for nothing but
//! the kernel. Not a judgement of what matters. Invariant: when the directory changed was read before its entries were.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Result;

use super::stamp::Stamp;

/// What a directory held when it was read.
pub(super) struct Contents {
    dir: Dir,
    /// The later of its two times of change.
    pub changed_ns: i128,
    /// In the order the kernel gave.
    pub entries: Vec<Entry>,
}

/// One entry.
pub(super) struct Entry {
    /// Its name.
    pub name: OsString,
    /// Whether it is a directory itself, not a link to one.
    pub is_dir: bool,
}

impl Contents {
    /// Reads `path`, which must be a directory.
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
                // Not every file system says it here.
                FileType::Unknown => rustix::fs::statat(dir.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()),
                kind => kind.is_dir(),
            };
            entries.push(Entry { name: OsStr::from_bytes(name.to_bytes()).to_owned(), is_dir });
        }
        Ok(Self { dir, changed_ns, entries })
    }

    /// Whether it holds something of this name.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// The stamp of an entry as it is now; `None` if it is gone, or nothing that a table has entries of.
    pub(super) fn stamp(&self, entry: &Entry) -> Option<Stamp> {
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
    fn entries_are_told_apart_and_stamped() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::write(root.join("a.py"), "x").unwrap();
        std::os::unix::fs::symlink("sub", root.join("link")).unwrap();
        let contents = Contents::read(root).unwrap();
        assert!(contents.changed_ns > 0 && contents.changed_ns <= codeyard_base::clock::wall_ns());
        let mut seen: Vec<_> =
            contents.entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.is_dir)).collect();
        seen.sort();
        assert_eq!(seen, [("a.py", false), ("link", false), ("sub", true)]);
        assert!(contents.holds("a.py") && !contents.holds("b.py"));
        for entry in &contents.entries {
            let there = root.join(&entry.name).symlink_metadata().unwrap();
            let expected = (!there.is_dir()).then(|| Stamp::of(&there));
            assert_eq!(contents.stamp(entry), expected, "{:?}", entry.name);
        }
        std::fs::remove_file(root.join("a.py")).unwrap();
        let gone = contents.entries.iter().find(|entry| entry.name == "a.py").unwrap();
        assert_eq!(contents.stamp(gone), None);
        assert!(Contents::read(&root.join("link")).is_ok() && Contents::read(&root.join("a.py")).is_err());
    }
}
