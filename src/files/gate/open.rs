//! Opens a file by its real path without following a link, even if other processes change the tree at the same time.
//!
//! Linux: one `openat2` of the whole path that follows no link. If the rest of the path has anything but plain names, two
//! calls: the root, then the rest beneath it. On other systems, and where `openat2` is missing or forbidden: one `openat`
//! with `O_NOFOLLOW` for each segment, relative to the directory opened before.
//! Neither waits for a FIFO, socket or device: it is recognised before it is opened for reading, or opened with `O_NONBLOCK`. A file system
//! that hangs does hold up the caller; in debug builds, every function here panics on a thread that must not block.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use codeyard_base::blocking::assert_may_block;
use codeyard_base::seeded_faults;

/// Why a strict open failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenError {
    /// The path may contain a link.
    Link,
    /// The file doesn't exist or is not a regular file.
    NoFile,
    /// This process lacks the permission.
    Denied,
    /// The kernel asks the caller to try again.
    Again,
    /// Descriptors or memory ran out.
    Exhausted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMethod {
    /// `openat2`, Linux 5.6 and later.
    #[cfg(target_os = "linux")]
    Openat2,
    /// One `openat` for each segment.
    PerSegment,
    /// None: as if the process had no free descriptor.
    #[cfg(test)]
    NoDescriptor,
}

impl OpenMethod {
    /// The best method that works here. Tried once.
    pub(super) fn detect() -> Self {
        static DETECTED: OnceLock<OpenMethod> = OnceLock::new();
        *DETECTED.get_or_init(Self::try_methods)
    }

    fn try_methods() -> Self {
        #[cfg(target_os = "linux")]
        if open_inside(Path::new("/"), Path::new(""), DIRECTORY).is_ok() {
            return Self::Openat2;
        }
        Self::PerSegment
    }

    /// Whether [`Self::read_at`] and [`Self::open_dir_at`] work.
    pub(super) fn supports_dir_handles(self) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Self::Openat2 => true,
            _ => false,
        }
    }

    /// The `stat` of `root/rest`, if it is a regular file and the path contains no link.
    pub(super) fn stat(self, root: &Path, rest: &Path) -> Result<Stat, OpenError> {
        let file = self.open(root, rest, PATH_ONLY)?;
        require_regular(&file)
    }

    /// Opens `root/rest` for reading, if it is a regular file and the path contains no link.
    pub(super) fn read(self, root: &Path, rest: &Path) -> Result<(File, Stat), OpenError> {
        self.stat(root, rest)?;
        let file = self.open(root, rest, READ)?;
        let stat = require_regular(&file)?;
        Ok((File::from(file), stat))
    }

    /// Opens `rest` beneath an open directory for reading, if it is a regular file and the path contains no link. Needs one
    /// system call less than [`Self::read`]: a file of another kind is opened before it is recognised, with flags that
    /// prevent blocking and a controlling terminal.
    #[cfg(target_os = "linux")]
    pub(super) fn read_at(self, dir: &OwnedFd, rest: &Path) -> Result<(File, Stat), OpenError> {
        let file = self.open_strict(dir, rest, READ)?;
        let stat = require_regular(&file)?;
        Ok((File::from(file), stat))
    }

    /// Opens the directory `rest` beneath an open directory, if the path contains no link.
    #[cfg(target_os = "linux")]
    pub(super) fn open_dir_at(self, dir: &OwnedFd, rest: &Path) -> Result<OwnedFd, OpenError> {
        self.open_strict(dir, rest, DIRECTORY)
    }

    /// Opens `rest` beneath an open directory for reading, if the path contains no link. The file's kind isn't checked.
    #[cfg(target_os = "linux")]
    pub(super) fn open_file_at(self, dir: &OwnedFd, rest: &Path) -> Result<OwnedFd, OpenError> {
        self.open_strict(dir, rest, READ)
    }

    #[cfg(target_os = "linux")]
    fn open_strict(self, dir: &OwnedFd, rest: &Path, flags: OFlags) -> Result<OwnedFd, OpenError> {
        use rustix::fs::{ResolveFlags, openat2};
        assert_may_block();
        let strict = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match self {
            Self::Openat2 => openat2(dir, rest, flags, Mode::empty(), strict).map_err(open_error),
            _ => Err(OpenError::NoFile),
        }
    }

    /// Not supported on this system.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_file_at(self, _: &OwnedFd, _: &Path) -> Result<OwnedFd, OpenError> {
        Err(OpenError::NoFile)
    }

    /// Not supported on this system.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_dir_at(self, _: &OwnedFd, _: &Path) -> Result<OwnedFd, OpenError> {
        Err(OpenError::NoFile)
    }

    /// Not supported on this system.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn read_at(self, _: &OwnedFd, _: &Path) -> Result<(File, Stat), OpenError> {
        Err(OpenError::NoFile)
    }

    /// Opens the directory `root/rest`, if the path contains no link.
    #[cfg(target_os = "linux")]
    pub(super) fn open_dir(self, root: &Path, rest: &Path) -> Result<OwnedFd, OpenError> {
        self.open(root, rest, DIRECTORY)
    }

    /// Not supported on this system: without `O_PATH` an unreadable file can't be checked, so it isn't admitted.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_dir(self, _: &Path, _: &Path) -> Result<OwnedFd, OpenError> {
        Err(OpenError::NoFile)
    }

    /// Opens the directory `root/rest` for listing its entries, if the path contains no link.
    pub(super) fn open_listing(self, root: &Path, rest: &Path) -> Result<OwnedFd, OpenError> {
        let dir = self.open(root, rest, DIRECTORY)?;
        rustix::fs::openat(&dir, ".", READ | OFlags::DIRECTORY, Mode::empty()).map_err(open_error)
    }

    fn open(self, root: &Path, rest: &Path, flags: OFlags) -> Result<OwnedFd, OpenError> {
        assert_may_block();
        let opened = match self {
            #[cfg(target_os = "linux")]
            Self::Openat2 => open_inside(root, rest, flags),
            Self::PerSegment => open_per_segment(root, rest, flags),
            #[cfg(test)]
            Self::NoDescriptor => Err(Errno::MFILE),
        };
        opened.map_err(open_error)
    }
}

#[cfg(target_os = "linux")]
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(target_os = "linux")]
const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PATH_ONLY: OFlags = READ;
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn open_inside(root: &Path, rest: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let no_links = match seeded_faults::is_on("links_followed") {
        true => ResolveFlags::empty(),
        false => ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    };
    // Without links and without `..` the path can't leave the root, so one call is enough.
    if !rest.as_os_str().is_empty() && rest.components().all(|part| matches!(part, Component::Normal(_))) {
        return openat2(CWD, root.join(rest), flags, Mode::empty(), no_links);
    }
    let root = openat2(CWD, root, DIRECTORY, Mode::empty(), no_links)?;
    if rest.as_os_str().is_empty() {
        return Ok(root);
    }
    openat2(&root, rest, flags, Mode::empty(), no_links | ResolveFlags::BENEATH)
}

fn open_per_segment(root: &Path, rest: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut current = rustix::fs::openat(CWD, "/", DIRECTORY, Mode::empty())?;
    let rest_count = rest.iter().count();
    let segments = root.iter().skip(1).chain(rest);
    let last = root.iter().count() - 1 + rest_count;
    for (index, segment) in segments.enumerate() {
        let is_file = rest_count > 0 && index + 1 == last;
        let segment_flags = if is_file { flags } else { DIRECTORY };
        current = rustix::fs::openat(&current, segment, segment_flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(current)
}

/// The `stat` of `name` in an open directory, if it is a regular file and not a link.
pub(super) fn stat_regular(dir: &OwnedFd, name: &OsStr) -> Option<Stat> {
    assert_may_block();
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then_some(stat)
}

/// Opens `name` in an open directory for reading, if it is not a link. The file's kind isn't checked.
pub(super) fn open_entry(dir: &OwnedFd, name: &OsStr) -> Result<OwnedFd, OpenError> {
    assert_may_block();
    rustix::fs::openat(dir, name, READ | OFlags::NOFOLLOW, Mode::empty()).map_err(open_error)
}

fn require_regular(file: &OwnedFd) -> Result<Stat, OpenError> {
    let stat = rustix::fs::fstat(file).map_err(open_error)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(stat),
        FileType::Symlink => Err(OpenError::Link),
        _ if seeded_faults::is_on("special_file_opened") => Ok(stat),
        _ => Err(OpenError::NoFile),
    }
}

fn open_error(errno: Errno) -> OpenError {
    match errno {
        // With one `openat` per segment, a link in place of a directory is `ENOTDIR`.
        Errno::LOOP | Errno::NOTDIR | Errno::XDEV => OpenError::Link,
        Errno::AGAIN | Errno::INTR | Errno::STALE => OpenError::Again,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => OpenError::Exhausted,
        Errno::ACCESS | Errno::PERM => OpenError::Denied,
        _ => OpenError::NoFile,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_call_for_a_path_supports_handles_of_directories() {
        assert!(!OpenMethod::PerSegment.supports_dir_handles());
        #[cfg(target_os = "linux")]
        assert!(OpenMethod::Openat2.supports_dir_handles());
    }

    #[test]
    fn errors_of_the_kernel_have_their_meaning() {
        for (errnos, expected) in [
            ([Errno::LOOP, Errno::NOTDIR, Errno::XDEV], OpenError::Link),
            ([Errno::AGAIN, Errno::INTR, Errno::STALE], OpenError::Again),
            ([Errno::MFILE, Errno::NFILE, Errno::NOMEM], OpenError::Exhausted),
            ([Errno::ACCESS, Errno::PERM, Errno::PERM], OpenError::Denied),
            ([Errno::NOENT, Errno::NAMETOOLONG, Errno::NXIO], OpenError::NoFile),
        ] {
            for errno in errnos {
                assert_eq!(open_error(errno), expected, "{errno}");
            }
        }
    }

    #[test]
    fn every_descriptor_is_closed_in_a_started_program() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        std::fs::write(root.join("a/file"), "").unwrap();
        let folder = Path::new("a");
        let name = Path::new("a/file");
        for method in [OpenMethod::detect(), OpenMethod::PerSegment] {
            let listing = method.open_listing(&root, folder).unwrap();
            let entry = open_entry(&listing, OsStr::new("file")).unwrap();
            let opened = [method.open(&root, name, PATH_ONLY).unwrap(), method.open(&root, folder, DIRECTORY).unwrap()];
            let file = OwnedFd::from(method.read(&root, name).unwrap().0);
            for descriptor in opened.iter().chain([&listing, &entry, &file]) {
                let flags = rustix::io::fcntl_getfd(descriptor).unwrap();
                assert!(flags.contains(rustix::io::FdFlags::CLOEXEC), "{method:?}");
            }
        }
    }
}
