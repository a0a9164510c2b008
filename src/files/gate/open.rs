//! Opening a file by its real path so that no link is followed on the way, whatever others do to the tree meanwhile.
//!
//! Linux: one `openat2` of the whole path that follows no link; a rest that isn't plain names takes two, the root, then the
//! rest beneath it. Elsewhere, and where `openat2` is missing or forbidden: one `openat` with `O_NOFOLLOW` for each
//! segment, each relative to the directory just opened.
//! Both never block: a FIFO, socket or device is recognised before it is opened for reading.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Why a strict opening failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// A link may be in the way.
    Link,
    /// Nothing there, or not a regular file.
    NoFile,
    /// Not ours to see.
    Denied,
    /// The kernel asks to try again.
    Again,
    /// Descriptors or memory ran out.
    Exhausted,
}

/// How the kernel is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// `openat2`, Linux 5.6 and later.
    #[cfg(target_os = "linux")]
    Beneath,
    /// One `openat` a segment.
    Stepwise,
}

impl Method {
    /// The best method that works here.
    pub(super) fn detect() -> Self {
        #[cfg(target_os = "linux")]
        if beneath(Path::new("/"), Path::new(""), DIRECTORY).is_ok() {
            return Self::Beneath;
        }
        Self::Stepwise
    }

    /// Whether [`Self::read_at`] works.
    pub(super) fn holds_folders(self) -> bool {
        self != Self::Stepwise
    }

    /// What `root/rest` is, if it is a regular file and no link leads to it.
    pub(super) fn stat(self, root: &Path, rest: &Path) -> Result<Stat, Refused> {
        let file = self.open(root, rest, LOOK)?;
        regular(&file)
    }

    /// `root/rest` opened for reading, if it is a regular file and no link leads to it.
    pub(super) fn read(self, root: &Path, rest: &Path) -> Result<(File, Stat), Refused> {
        self.stat(root, rest)?;
        let file = self.open(root, rest, READ)?;
        let stat = regular(&file)?;
        Ok((File::from(file), stat))
    }

    /// `rest` beneath an open folder, opened for reading, if it is a regular file and no link leads to it. One call less than
    /// [`Self::read`]: what isn't a regular file is opened before it is recognised, which neither blocks nor takes a terminal.
    #[cfg(target_os = "linux")]
    pub(super) fn read_at(self, folder: &OwnedFd, rest: &Path) -> Result<(File, Stat), Refused> {
        let file = self.strictly(folder, rest, READ)?;
        let stat = regular(&file)?;
        Ok((File::from(file), stat))
    }

    /// The folder `rest` beneath an open folder, if no link leads to it.
    #[cfg(target_os = "linux")]
    pub(super) fn folder_at(self, folder: &OwnedFd, rest: &Path) -> Result<OwnedFd, Refused> {
        self.strictly(folder, rest, DIRECTORY)
    }

    /// `rest` beneath an open folder, opened for reading, if no link leads to it. What it is isn't asked.
    #[cfg(target_os = "linux")]
    pub(super) fn plain_at(self, folder: &OwnedFd, rest: &Path) -> Result<OwnedFd, Refused> {
        self.strictly(folder, rest, READ)
    }

    #[cfg(target_os = "linux")]
    fn strictly(self, folder: &OwnedFd, rest: &Path, flags: OFlags) -> Result<OwnedFd, Refused> {
        use rustix::fs::{ResolveFlags, openat2};
        let strict = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match self {
            Self::Beneath => openat2(folder, rest, flags, Mode::empty(), strict).map_err(refusal),
            Self::Stepwise => Err(Refused::NoFile),
        }
    }

    /// Nowhere else is a folder opened by itself.
    #[cfg(not(target_os = "linux"))]
    pub fn plain_at(self, _: &OwnedFd, _: &Path) -> Result<OwnedFd, Refused> {
        Err(Refused::NoFile)
    }

    /// Nowhere else is a folder opened by itself.
    #[cfg(not(target_os = "linux"))]
    pub fn folder_at(self, _: &OwnedFd, _: &Path) -> Result<OwnedFd, Refused> {
        Err(Refused::NoFile)
    }

    /// Nowhere else is a folder opened by itself.
    #[cfg(not(target_os = "linux"))]
    pub fn read_at(self, _: &OwnedFd, _: &Path) -> Result<(File, Stat), Refused> {
        Err(Refused::NoFile)
    }

    /// The folder `root/rest`, if no link leads to it.
    #[cfg(target_os = "linux")]
    pub(super) fn folder(self, root: &Path, rest: &Path) -> Result<OwnedFd, Refused> {
        self.open(root, rest, DIRECTORY)
    }

    /// Nowhere else can a file be looked at without opening it for reading, and what can't be read isn't let through.
    #[cfg(not(target_os = "linux"))]
    pub fn folder(self, _: &Path, _: &Path) -> Result<OwnedFd, Refused> {
        Err(Refused::NoFile)
    }

    fn open(self, root: &Path, rest: &Path, flags: OFlags) -> Result<OwnedFd, Refused> {
        let opened = match self {
            #[cfg(target_os = "linux")]
            Self::Beneath => beneath(root, rest, flags),
            Self::Stepwise => stepwise(root, rest, flags),
        };
        opened.map_err(refusal)
    }
}

#[cfg(target_os = "linux")]
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = READ;
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn beneath(root: &Path, rest: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // Without links and without `..` there is no way up: one call says the same.
    if !rest.as_os_str().is_empty() && rest.components().all(|part| matches!(part, Component::Normal(_))) {
        return openat2(CWD, root.join(rest), flags, Mode::empty(), no_links);
    }
    let root = openat2(CWD, root, DIRECTORY, Mode::empty(), no_links)?;
    if rest.as_os_str().is_empty() {
        return Ok(root);
    }
    openat2(&root, rest, flags, Mode::empty(), no_links | ResolveFlags::BENEATH)
}

fn stepwise(root: &Path, rest: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut place = rustix::fs::openat(CWD, "/", DIRECTORY, Mode::empty())?;
    let rest_count = rest.iter().count();
    let segments = root.iter().skip(1).chain(rest);
    let last = root.iter().count() - 1 + rest_count;
    for (index, segment) in segments.enumerate() {
        let is_file = rest_count > 0 && index + 1 == last;
        let how = if is_file { flags } else { DIRECTORY };
        place = rustix::fs::openat(&place, segment, how | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(place)
}

/// What `name` in a folder is, if it is a regular file and no link.
pub(super) fn glance(folder: &OwnedFd, name: &OsStr) -> Option<Stat> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then_some(stat)
}

/// `name` in an open folder, opened for reading, if it is no link. What it is isn't asked.
pub(super) fn plain(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Refused> {
    rustix::fs::openat(folder, name, READ | OFlags::NOFOLLOW, Mode::empty()).map_err(refusal)
}

fn regular(file: &OwnedFd) -> Result<Stat, Refused> {
    let stat = rustix::fs::fstat(file).map_err(refusal)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(stat),
        FileType::Symlink => Err(Refused::Link),
        _ => Err(Refused::NoFile),
    }
}

fn refusal(errno: Errno) -> Refused {
    match errno {
        // Step by step, a link where a directory should be is "not a directory".
        Errno::LOOP | Errno::NOTDIR | Errno::XDEV => Refused::Link,
        Errno::AGAIN | Errno::INTR | Errno::STALE => Refused::Again,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => Refused::Exhausted,
        Errno::ACCESS | Errno::PERM => Refused::Denied,
        _ => Refused::NoFile,
    }
}
