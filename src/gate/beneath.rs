//! Reading many files of one root: the root is opened once, each file strictly beneath it.
//!
//! Not a cache: it is made for one search or one walk and dropped after it. Invariant: as for the whole gate, no link is followed and
//! nothing blocks on what isn't a regular file.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::FileStamp;
use super::open::{Method, Refused};

/// An open root.
#[derive(Debug)]
pub struct Beneath {
    root: PathBuf,
    folder: Option<OwnedFd>,
    method: Method,
}

/// Why a file beneath a root wasn't read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It isn't there, isn't a regular file, a link leads to it, or it isn't ours to read.
    Missing,
    /// It is longer than was allowed.
    TooLarge(FileStamp),
    /// Reading failed midway, or the system had no descriptor left.
    Failed,
}

impl Beneath {
    /// Opens `root`, a real path. A root that isn't there gives files that aren't there.
    pub fn open(root: &Path) -> Self {
        let method = Method::detect();
        // Without the kernel's help each file is reached from the top, step by step.
        let folder = method.holds_folders().then(|| method.folder(root, Path::new("")).ok()).flatten();
        Self { root: root.to_owned(), folder, method }
    }

    /// Reads the file at `rest` into `into`, which is emptied first. A file over `max_bytes` isn't read.
    pub fn read(&self, rest: &Path, max_bytes: u64, into: &mut Vec<u8>) -> Result<FileStamp, Unread> {
        into.clear();
        let (file, stat) = match &self.folder {
            Some(folder) => self.method.read_at(folder, rest),
            None => self.method.read(&self.root, rest),
        }
        .map_err(|refused| match refused {
            Refused::Exhausted | Refused::Again => Unread::Failed,
            Refused::Link | Refused::NoFile => Unread::Missing,
        })?;
        let stamp = FileStamp::of(&stat);
        if stamp.size > max_bytes {
            return Err(Unread::TooLarge(stamp));
        }
        fill(file, stamp, max_bytes, into)
    }

    /// What the file at `rest` looks like, by a name that a walk has just found: folders on the way aren't looked at again.
    pub fn glance(&self, rest: &Path) -> Option<FileStamp> {
        match &self.folder {
            Some(folder) => super::open::glance(folder, rest.as_os_str()).map(|stat| FileStamp::of(&stat)),
            None => self.stat(rest),
        }
    }

    /// What the file at `rest` looks like.
    pub fn stat(&self, rest: &Path) -> Option<FileStamp> {
        self.method.stat(&self.root, rest).ok().map(|stat| FileStamp::of(&stat))
    }
}

fn fill(file: File, stamp: FileStamp, max_bytes: u64, into: &mut Vec<u8>) -> Result<FileStamp, Unread> {
    // A byte more than it has tells that it has ended, without another call.
    into.reserve(usize::try_from(stamp.size).unwrap_or(0).saturating_add(1));
    let read = file.take(max_bytes.saturating_add(1)).read_to_end(into).map_err(|_| Unread::Failed)?;
    if read as u64 > max_bytes { Err(Unread::TooLarge(stamp)) } else { Ok(stamp) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn reads_what_lies_beneath_and_nothing_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c.txt"), "inside").unwrap();
        fs::write(root.join("../secret"), "outside").unwrap();
        symlink(root.join("../secret"), root.join("link")).unwrap();
        symlink(root.join("a"), root.join("folder")).unwrap();
        let (beneath, mut text) = (Beneath::open(&root), Vec::new());
        let stamp = beneath.read(Path::new("a/b/c.txt"), 6, &mut text).unwrap();
        assert_eq!((text.as_slice(), stamp.size), (&b"inside"[..], 6));
        assert_eq!(beneath.stat(Path::new("a/b/c.txt")), Some(stamp));
        assert_eq!(beneath.read(Path::new("a/b/c.txt"), 5, &mut text), Err(Unread::TooLarge(stamp)));
        for missing in ["link", "folder/b/c.txt", "../secret", "a", "none", ""] {
            assert_eq!(beneath.read(Path::new(missing), 9, &mut text), Err(Unread::Missing), "{missing}");
            assert!(text.is_empty());
        }
        let gone = Beneath::open(&root.join("gone"));
        assert_eq!(gone.read(Path::new("x"), 9, &mut text), Err(Unread::Missing));
    }
}
