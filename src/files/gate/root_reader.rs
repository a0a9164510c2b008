//! Reads many files of one root. The root is opened once, each file strictly reader it.
//!
//! Not a cache: a reader is made for one search or one walk and dropped after it. Invariant: as everywhere in the gate, no
//! link is followed and no call blocks on a file that isn't regular.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use super::FileStamp;
use super::open::{OpenError, OpenMethod};

/// An open root directory.
#[derive(Debug)]
pub struct RootReader {
    root: PathBuf,
    dir: Option<OwnedFd>,
    method: OpenMethod,
}

/// Why a file below a root wasn't read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFailure {
    /// It doesn't exist, isn't a regular file, or its path contains a link.
    Missing,
    /// It is larger than the caller allows.
    TooLarge(FileStamp),
    /// Descriptors or memory ran out, or the kernel asks to try again. It says nothing about the file.
    Busy,
    /// Reading failed, or the permission is missing.
    Failed,
}

impl RootReader {
    /// Opens `root`, a real path. If the root doesn't exist, every file in it is `Missing`.
    pub fn open(root: &Path) -> Self {
        let method = OpenMethod::detect();
        // Without `openat2` each file is opened from `/`, segment by segment.
        let dir = method.supports_dir_handles().then(|| method.open_dir(root, Path::new("")).ok()).flatten();
        Self { root: root.to_owned(), dir, method }
    }

    /// Reads the file at `rest` into `into`, which is cleared first. A file of more than `max_bytes` isn't read.
    pub fn read(&self, rest: &Path, max_bytes: u64, into: &mut Vec<u8>) -> Result<FileStamp, ReadFailure> {
        into.clear();
        let (file, stat) = match &self.dir {
            Some(dir) => self.method.read_at(dir, rest),
            None => self.method.read(&self.root, rest),
        }
        .map_err(read_failure)?;
        let stamp = FileStamp::of(&stat);
        if stamp.size > max_bytes {
            return Err(ReadFailure::TooLarge(stamp));
        }
        match fill(&file, stamp.size, max_bytes, into) {
            Err(_) if into.len() as u64 > max_bytes => Err(ReadFailure::TooLarge(stamp)),
            other => other.map(|()| stamp),
        }
    }

    /// As [`Self::read`], with the fewest system calls, for a file that had `size` bytes a moment ago: the directory stays
    /// open for the next file, and the file isn't stat'ed. Of a file that isn't regular, nothing or at most `max_bytes` is
    /// read.
    pub fn read_cached(
        &self,
        cache: &mut DirHandleCache,
        rest: &Path,
        size: u64,
        max_bytes: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), ReadFailure> {
        into.clear();
        if self.dir.is_none() {
            return self.read(rest, max_bytes, into).map(drop);
        }
        fill(&self.open_cached(cache, rest)?, size, max_bytes, into)
    }

    /// Whether [`Self::read_range_cached`] works: it needs directory handles.
    pub fn has_dir_handle(&self) -> bool {
        self.dir.is_some()
    }

    /// Reads up to `length` bytes of the file at `rest` from offset `from` into `into`, replacing its content. Returns `false`
    /// and reads nothing if the file's stamp differs from `stamp`. Otherwise as [`Self::read_cached`].
    pub fn read_range_cached(
        &self,
        cache: &mut DirHandleCache,
        rest: &Path,
        stamp: FileStamp,
        from: u64,
        length: usize,
        into: &mut Vec<u8>,
    ) -> Result<bool, ReadFailure> {
        let file = self.open_cached(cache, rest)?;
        let stat = rustix::fs::fstat(&file).map_err(|_| ReadFailure::Failed)?;
        if FileStamp::of(&stat) != stamp {
            return Ok(false);
        }
        // The old content is overwritten.
        into.resize(length, 0);
        loop {
            match rustix::io::pread(&file, into.as_mut_slice(), from) {
                Err(Errno::INTR) => {}
                Err(_) => return Err(ReadFailure::Failed),
                // A regular file returns less than requested only at its end.
                Ok(read) => {
                    into.truncate(read);
                    return Ok(true);
                }
            }
        }
    }

    /// Opens the file at `rest`, through the cached directory if it is the same as last time.
    fn open_cached(&self, cache: &mut DirHandleCache, rest: &Path) -> Result<OwnedFd, ReadFailure> {
        let (Some(parent), Some(name)) = (rest.parent(), rest.file_name()) else { return Err(ReadFailure::Missing) };
        let root = self.dir.as_ref().ok_or(ReadFailure::Failed)?;
        if cache.path.as_os_str() != parent.as_os_str() {
            // In most directories only one file is read. Opening the directory pays off from the second file on.
            cache.path.clear();
            cache.path.push(parent);
            cache.dir = None;
            return self.method.open_file_at(root, rest).map_err(read_failure);
        }
        if cache.dir.is_none() {
            let dir = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            cache.dir = Some(self.method.open_dir_at(root, dir).map_err(read_failure)?);
        }
        let dir = cache.dir.as_ref().ok_or(ReadFailure::Missing)?;
        super::open::open_entry(dir, name).map_err(read_failure)
    }

    /// The stamp of the file at `rest`.
    pub fn stat(&self, rest: &Path) -> Option<FileStamp> {
        self.method.stat(&self.root, rest).ok().map(|stat| FileStamp::of(&stat))
    }
}

/// Opens the directory `root/rest` for listing; the root if `rest` is empty. A link in the path isn't followed.
pub(crate) fn open_listing(root: &Path, rest: &Path) -> Result<OwnedFd, DirOpenError> {
    OpenMethod::detect().open_listing(root, rest).map_err(|error| match error {
        OpenError::Link | OpenError::NoFile => DirOpenError::Missing,
        OpenError::Denied => DirOpenError::Denied,
        OpenError::Again | OpenError::Exhausted => DirOpenError::Busy,
    })
}

/// Why a directory can't be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirOpenError {
    /// It doesn't exist, or its path contains a link.
    Missing,
    /// The permission is missing.
    Denied,
    /// Descriptors or memory ran out, or the kernel asks to try again.
    Busy,
}

/// The directory of the file that was read last.
#[derive(Debug, Default)]
pub struct DirHandleCache {
    path: PathBuf,
    /// Open from the second file of the directory on.
    dir: Option<OwnedFd>,
}

fn read_failure(error: OpenError) -> ReadFailure {
    match error {
        OpenError::Exhausted => ReadFailure::Busy,
        // It says something about this file alone: a lease that isn't given back, or a server of files that has lost it.
        OpenError::Denied | OpenError::Again => ReadFailure::Failed,
        OpenError::Link | OpenError::NoFile => ReadFailure::Missing,
    }
}

/// Reads a whole file that had `size` bytes a moment ago, mostly with one system call.
fn fill(file: &impl AsFd, size: u64, max_bytes: u64, into: &mut Vec<u8>) -> Result<(), ReadFailure> {
    // One byte more than the size shows the end: a regular file returns less than requested only at its end.
    into.reserve(usize::try_from(size.min(max_bytes)).unwrap_or(0).saturating_add(1));
    loop {
        let room = into.capacity() - into.len();
        let read = match rustix::io::read(file, spare_capacity(into)) {
            Ok(read) => read,
            Err(Errno::INTR) => continue,
            Err(_) => return Err(ReadFailure::Failed),
        };
        if into.len() as u64 > max_bytes {
            return Err(ReadFailure::Failed);
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
    fn files_below_the_root_are_read_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c.txt"), "inside").unwrap();
        fs::write(root.join("../secret"), "outside").unwrap();
        symlink(root.join("../secret"), root.join("link")).unwrap();
        symlink(root.join("a"), root.join("folder")).unwrap();
        symlink("a/b/c.txt", root.join("inner")).unwrap();
        let reader = RootReader::open(&root);
        let mut text = Vec::new();
        let stamp = reader.read(Path::new("a/b/c.txt"), 6, &mut text).unwrap();
        assert_eq!((text.as_slice(), stamp.size), (&b"inside"[..], 6));
        assert_eq!(reader.stat(Path::new("a/b/c.txt")), Some(stamp));
        assert_eq!(reader.has_dir_handle(), OpenMethod::detect().supports_dir_handles());
        assert_eq!(reader.read(Path::new("a/b/c.txt"), 7, &mut text), Ok(stamp));
        assert_eq!(reader.read(Path::new("a/b/c.txt"), 5, &mut text), Err(ReadFailure::TooLarge(stamp)));
        for missing in ["link", "inner", "folder/b/c.txt", "../secret", "a", "none", ""] {
            assert_eq!(reader.read(Path::new(missing), 9, &mut text), Err(ReadFailure::Missing), "{missing}");
            assert!(text.is_empty());
            let cached = reader.read_cached(&mut DirHandleCache::default(), Path::new(missing), 0, 9, &mut text);
            assert!(cached.is_err() && text.is_empty(), "{missing}");
            assert_eq!(reader.stat(Path::new(missing)), None, "{missing}");
        }
        let mut cache = DirHandleCache::default();
        for (size, most, expected) in [(6, 6, true), (0, 9, true), (99, 9, true), (6, 5, false)] {
            let read = reader.read_cached(&mut cache, Path::new("a/b/c.txt"), size, most, &mut text);
            assert_eq!(read.is_ok() && text == b"inside", expected, "{size} {most}");
        }
        // The cache's state and earlier reads don't matter.
        for (path, from, length, expected) in [
            ("a/b/c.txt", 0, 99, "inside"),
            ("a/b/c.txt", 2, 3, "sid"),
            ("a/b/c.txt", 6, 5, ""),
            ("a/b/c.txt", 9, 5, ""),
        ] {
            for mut cache in [DirHandleCache::default(), std::mem::take(&mut cache)] {
                for _ in 0..3 {
                    let path = Path::new(path);
                    assert_eq!(reader.read_range_cached(&mut cache, path, stamp, from, length, &mut text), Ok(true));
                    assert_eq!(text, expected.as_bytes());
                    let other = FileStamp { size: 7, ..stamp };
                    assert_eq!(reader.read_range_cached(&mut cache, path, other, from, length, &mut text), Ok(false));
                }
            }
        }
        for missing in
            ["link", "inner", "folder/b/c.txt", "a/../../secret", "../secret", "a", "a/b", "none", "a/b/none", "", ".."]
        {
            let mut cache = DirHandleCache::default();
            for _ in 0..3 {
                let read = reader.read_range_cached(&mut cache, Path::new(missing), stamp, 0, 9, &mut text);
                assert!(!matches!(read, Ok(true)), "{missing}");
            }
        }
        let gone = RootReader::open(&root.join("gone"));
        assert!(!gone.has_dir_handle());
        assert_eq!(gone.read(Path::new("x"), 9, &mut text), Err(ReadFailure::Missing));
    }

    #[test]
    fn a_cached_directory_serves_its_own_files_only_and_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["a", "b"] {
            fs::create_dir(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("file"), folder.repeat(300)).unwrap();
        }
        symlink("file", root.join("a/link")).unwrap();
        let reader = RootReader::open(&root);
        let mut cache = DirHandleCache::default();
        // A size that was right once bounds nothing.
        for (path, size) in [("a/file", 300), ("a/file", 0), ("b/file", 1), ("b/file", 300), ("a/file", 64)] {
            let mut text = Vec::new();
            reader.read_cached(&mut cache, Path::new(path), size, 1_000, &mut text).unwrap();
            assert_eq!(text, path[..1].repeat(300).as_bytes(), "{path} {size}");
        }
        for _ in 0..3 {
            let read = reader.read_cached(&mut cache, Path::new("a/link"), 300, 1_000, &mut Vec::new());
            assert_eq!(read, Err(ReadFailure::Missing));
        }
    }

    #[test]
    fn a_lack_of_descriptors_says_nothing_about_a_file() {
        for (error, expected) in [
            (OpenError::Exhausted, ReadFailure::Busy),
            (OpenError::Again, ReadFailure::Failed),
            (OpenError::Denied, ReadFailure::Failed),
            (OpenError::Link, ReadFailure::Missing),
            (OpenError::NoFile, ReadFailure::Missing),
        ] {
            assert_eq!(read_failure(error), expected);
        }
    }

    /// Files of the kernel say that they are empty, as one that grows at the moment.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_failed_read_and_a_file_that_grew_differ() {
        let own = RootReader::open(&Path::new("/proc").join(std::process::id().to_string()));
        let mut text = Vec::new();
        assert_eq!(own.read(Path::new("status"), 1 << 20, &mut text).unwrap().size, 0);
        assert!(text.starts_with(b"Name:"));
        assert!(matches!(own.read(Path::new("status"), 10, &mut text), Err(ReadFailure::TooLarge(_))));
        // Nothing is mapped at the beginning of this process' memory.
        for most in [0, 10] {
            assert_eq!(own.read(Path::new("mem"), most, &mut text), Err(ReadFailure::Failed), "{most}");
        }
    }
}
