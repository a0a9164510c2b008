//! What is remembered of one file, to see that it is another or has another content.
//!
//! Not a digest: a file is never read. Invariant: two equal stamps of a file that isn't fresh mean the same content.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FileType, Stat};

use crate::limits::FRESH_STAMP_MS;
use codeyard_base::clock::wall_ns;

/// A file as it was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    mtime_ns: i128,
    ctime_ns: i128,
    inode: u64,
    link: bool,
}

/// Who hears of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It isn't ignored: all do.
    Listed,
    /// It is ignored, but may bear on answers: it is told of and not listed.
    Told,
    /// The code index alone.
    Aside,
}

/// A followed file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// What it was at the last look.
    pub stamp: Stamp,
    /// Who hears of it.
    pub standing: Standing,
    /// The stamp was taken so shortly after a change that another one may hide behind it.
    young: bool,
}

impl Stamp {
    /// Whether a table has entries of this kind: files, and links as themselves.
    pub(super) fn is_file(metadata: &Metadata) -> bool {
        metadata.is_file() || metadata.is_symlink()
    }

    /// The stamp that `metadata` shows.
    pub(super) fn of(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Self {
            size: metadata.len(),
            mtime_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            link: metadata.is_symlink(),
        }
    }

    /// The same of what an open directory says of an entry; `None` if a table has no entries of its kind.
    pub(super) fn of_stat(stat: &Stat) -> Option<Self> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let [mtime_ns, ctime_ns] = times_ns(stat);
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let of_kind = kind.is_file() || kind.is_symlink();
        of_kind.then(|| Self { size, mtime_ns, ctime_ns, inode: stat.st_ino, link: kind.is_symlink() })
    }

    /// Whether the file changed, or was put there, after this moment by the clock of file stamps.
    pub(super) fn is_later_than(&self, moment_ns: i128) -> bool {
        self.ctime_ns > moment_ns
    }

    /// Whether the file may change again behind this stamp.
    fn is_fresh(&self) -> bool {
        self.ctime_ns + i128::from(FRESH_STAMP_MS) * 1_000_000 > wall_ns()
    }
}

/// When the content and when the entry changed, in nanoseconds since 1970.
pub(super) fn times_ns(stat: &Stat) -> [i128; 2] {
    let ns = |seconds: i128, nanos: i128| seconds * 1_000_000_000 + nanos;
    [(stat.st_mtime as i128, stat.st_mtime_nsec as i128), (stat.st_ctime as i128, stat.st_ctime_nsec as i128)]
        .map(|(seconds, nanos)| ns(seconds, nanos))
}

impl Known {
    /// What `metadata` shows of a file now.
    pub(super) fn of(metadata: &Metadata, standing: Standing) -> Self {
        Self::new(Stamp::of(metadata), standing)
    }

    /// A file whose stamp was taken just now.
    pub(super) fn new(stamp: Stamp, standing: Standing) -> Self {
        Self { stamp, standing, young: stamp.is_fresh() }
    }

    /// Whether a write that was heard of may have left the same stamp, however long ago it was.
    pub(super) fn may_hide(&self, written: bool) -> bool {
        written && self.young
    }

    /// Whether it belongs into the list, if it is a source.
    pub(super) fn is_listed(&self) -> bool {
        self.standing == Standing::Listed && !self.stamp.link
    }

    /// Whether language servers hear of it.
    pub(super) fn is_told(&self) -> bool {
        self.standing != Standing::Aside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_behind_a_young_stamp_is_believed_also_when_the_stamp_has_aged() {
        let old = Stamp { size: 1, mtime_ns: 0, ctime_ns: 0, inode: 1, link: false };
        assert!(!old.is_fresh(), "by now it is old");
        let known = |young| Known { stamp: old, standing: Standing::Listed, young };
        assert!(known(true).may_hide(true), "but it was taken while it was young");
        assert!(!known(true).may_hide(false), "nothing was written");
        assert!(!known(false).may_hide(true), "an old stamp shows every change");
    }
}
