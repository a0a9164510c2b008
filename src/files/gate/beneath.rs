//! Reading many files of one root: the root is opened once, each file strictly beneath it.
//!
//! Not a cache: it is made for one search or one walk and dropped after it. Invariant: as for the whole gate, no link is followed and
//! nothing blocks on what isn't a regular file.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

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
            Refused::Exhausted | Refused::Again | Refused::Denied => Unread::Failed,
            Refused::Link | Refused::NoFile => Unread::Missing,
        })?;
        let stamp = FileStamp::of(&stat);
        if stamp.size > max_bytes {
            return Err(Unread::TooLarge(stamp));
        }
        match fill(&file, stamp.size, max_bytes, into) {
            Err(_) if into.len() as u64 > max_bytes => Err(Unread::TooLarge(stamp)),
            other => other.map(|()| stamp),
        }
    }

    /// As [`Self::read`] of a file that had so many bytes, in as few calls as can be: a folder stays open for its next file, and what the
    /// file looks like isn't asked. Of what isn't a regular file nothing or a bounded part is read.
    pub fn read_near(
        &self,
        nearby: &mut Nearby,
        rest: &Path,
        size: u64,
        max_bytes: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), Unread> {
        into.clear();
        if self.folder.is_none() {
            return self.read(rest, max_bytes, into).map(drop);
        }
        fill(&self.open_near(nearby, rest)?, size, max_bytes, into)
    }

    /// Whether files are reached from their folders, which [`Self::read_piece_near`] needs.
    pub fn holds_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Reads so many bytes of the file at `rest` from there on, or as many as there are, into `into`, whose own are forgotten, as long
    /// as the file looks like `stamp`: false, if it has changed since. Otherwise as [`Self::read_near`].
    pub fn read_piece_near(
        &self,
        nearby: &mut Nearby,
        (rest, stamp): (&Path, FileStamp),
        from: u64,
        length: usize,
        into: &mut Vec<u8>,
    ) -> Result<bool, Unread> {
        let file = self.open_near(nearby, rest)?;
        let stat = rustix::fs::fstat(&file).map_err(|_| Unread::Failed)?;
        if FileStamp::of(&stat) != stamp {
            return Ok(false);
        }
        // What stands there is written over.
        into.resize(length, 0);
        loop {
            match rustix::io::pread(&file, into.as_mut_slice(), from) {
                Err(Errno::INTR) => {}
                Err(_) => return Err(Unread::Failed),
                // A regular file gives less than was asked for only at its end.
                Ok(read) => {
                    into.truncate(read);
                    return Ok(true);
                }
            }
        }
    }

    /// The file at `rest`, opened.
    fn open_near(&self, nearby: &mut Nearby, rest: &Path) -> Result<OwnedFd, Unread> {
        let (Some(parent), Some(name)) = (rest.parent(), rest.file_name()) else { return Err(Unread::Missing) };
        let root = self.folder.as_ref().ok_or(Unread::Failed)?;
        let refused = |refused| match refused {
            Refused::Exhausted | Refused::Again | Refused::Denied => Unread::Failed,
            Refused::Link | Refused::NoFile => Unread::Missing,
        };
        if nearby.path.as_os_str() != parent.as_os_str() {
            // Most folders have one file that is wanted: only for a second one it pays to open its folder.
            nearby.path.clear();
            nearby.path.push(parent);
            nearby.folder = None;
            return self.method.plain_at(root, rest).map_err(refused);
        }
        if nearby.folder.is_none() {
            let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            nearby.folder = Some(self.method.folder_at(root, folder).map_err(refused)?);
        }
        let folder = nearby.folder.as_ref().ok_or(Unread::Missing)?;
        super::open::plain(folder, name).map_err(refused)
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

/// The folder that a reader of many files was in last.
#[derive(Debug, Default)]
pub struct Nearby {
    path: PathBuf,
    /// Open as soon as a second file of it was wanted.
    folder: Option<OwnedFd>,
}

/// Reads all of a file that had so many bytes a moment ago: mostly with one call.
fn fill(file: &impl AsFd, size: u64, max_bytes: u64, into: &mut Vec<u8>) -> Result<(), Unread> {
    // A byte more than it has shows that it has ended: a regular file gives less than was asked for only at its end.
    into.reserve(usize::try_from(size.min(max_bytes)).unwrap_or(0).saturating_add(1));
    loop {
        let room = into.capacity() - into.len();
        let read = match rustix::io::read(file, spare_capacity(into)) {
            Ok(read) => read,
            Err(Errno::INTR) => continue,
            Err(_) => return Err(Unread::Failed),
        };
        if into.len() as u64 > max_bytes {
            return Err(Unread::Failed);
        }
        if read < room {
            return Ok(());
        }
        into.reserve(into.len().max(64));
    }
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
            let near = beneath.read_near(&mut Nearby::default(), Path::new(missing), 0, 9, &mut text);
            assert!(near.is_err() && text.is_empty(), "{missing}");
        }
        let mut nearby = Nearby::default();
        for (size, most, expected) in [(6, 6, true), (0, 9, true), (99, 9, true), (6, 5, false)] {
            let read = beneath.read_near(&mut nearby, Path::new("a/b/c.txt"), size, most, &mut text);
            assert_eq!(read.is_ok() && text == b"inside", expected, "{size} {most}");
        }
        // Whether its folder is open already or not, and whatever was read before.
        for (path, from, length, expected) in [
            ("a/b/c.txt", 0, 99, "inside"),
            ("a/b/c.txt", 2, 3, "sid"),
            ("a/b/c.txt", 6, 5, ""),
            ("a/b/c.txt", 9, 5, ""),
        ] {
            for mut nearby in [Nearby::default(), std::mem::take(&mut nearby)] {
                for _ in 0..3 {
                    let place = (Path::new(path), stamp);
                    assert_eq!(beneath.read_piece_near(&mut nearby, place, from, length, &mut text), Ok(true));
                    assert_eq!(text, expected.as_bytes());
                    let other = FileStamp { size: 7, ..stamp };
                    let place = (Path::new(path), other);
                    assert_eq!(beneath.read_piece_near(&mut nearby, place, from, length, &mut text), Ok(false));
                }
            }
        }
        for missing in
            ["link", "folder/b/c.txt", "a/../../secret", "../secret", "a", "a/b", "none", "a/b/none", "", ".."]
        {
            let mut nearby = Nearby::default();
            for _ in 0..3 {
                let read = beneath.read_piece_near(&mut nearby, (Path::new(missing), stamp), 0, 9, &mut text);
                assert!(!matches!(read, Ok(true)), "{missing}");
            }
        }
        let gone = Beneath::open(&root.join("gone"));
        assert_eq!(gone.read(Path::new("x"), 9, &mut text), Err(Unread::Missing));
    }
}
