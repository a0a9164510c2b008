//! The stored stamp of a followed file: size, times and inode.
//!
//! Not a digest: the file isn't read. Invariant: if a stamp isn't fresh, an equal stamp means equal content.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FileType, Stat};

use crate::limits::FRESH_STAMP_MS;
use codeyard_base::clock::wall_ns;

/// Size, times and inode of a file at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    mtime_ns: i128,
    ctime_ns: i128,
    inode: u64,
    link: bool,
}

/// Which consumers a file's changes are reported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileAudience {
    /// All consumers: the file isn't ignored and is in `source_files` if it is a source.
    Listed,
    /// All consumers, though the file is ignored: it may change answers. It isn't in `source_files`.
    Reported,
    /// The code index only.
    IndexOnly,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownFile {
    /// The stamp at the last comparison.
    pub stamp: Stamp,
    /// Whom its changes are reported to.
    pub audience: FileAudience,
    /// What its content makes it: the answer of `WatchSpec::look`.
    pub content: Option<u32>,
    /// The stamp was taken so soon after a change that another change may have the same stamp.
    is_recent: bool,
}

impl Stamp {
    /// Whether a table stores entries of this kind: files and symbolic links.
    pub(crate) fn is_file(metadata: &Metadata) -> bool {
        metadata.is_file() || metadata.is_symlink()
    }

    /// The stamp from `metadata`.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Self {
            size: metadata.len(),
            mtime_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            link: metadata.is_symlink(),
        }
    }

    /// The stamp from `stat`. `None` if a table stores no entries of this kind.
    pub(crate) fn of_stat(stat: &Stat) -> Option<Self> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let [mtime_ns, ctime_ns] = times_ns(stat);
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let of_kind = kind.is_file() || kind.is_symlink();
        of_kind.then(|| Self { size, mtime_ns, ctime_ns, inode: stat.st_ino, link: kind.is_symlink() })
    }

    /// Whether the file changed or was moved there after `moment_ns`.
    pub(crate) fn is_later_than(&self, moment_ns: i128) -> bool {
        self.ctime_ns > moment_ns
    }

    /// Whether the file may change again without a new stamp.
    fn is_fresh(&self) -> bool {
        self.ctime_ns + i128::from(FRESH_STAMP_MS) * 1_000_000 > wall_ns()
    }
}

/// `mtime` and `ctime` in nanoseconds since 1970.
pub(crate) fn times_ns(stat: &Stat) -> [i128; 2] {
    let ns = |seconds: i128, nanos: i128| seconds * 1_000_000_000 + nanos;
    [(stat.st_mtime as i128, stat.st_mtime_nsec as i128), (stat.st_ctime as i128, stat.st_ctime_nsec as i128)]
        .map(|(seconds, nanos)| ns(seconds, nanos))
}

impl KnownFile {
    /// A file with the stamp from `metadata`.
    pub(crate) fn of(metadata: &Metadata, audience: FileAudience) -> Self {
        Self::new(Stamp::of(metadata), audience)
    }

    /// A file whose stamp was taken now.
    pub(crate) fn new(stamp: Stamp, audience: FileAudience) -> Self {
        Self { stamp, audience, content: None, is_recent: stamp.is_fresh() }
    }

    /// The same file with what its content makes it: as `before`, if the file is surely the same, or else what a `look` at it says. Only
    /// files that may be sources are looked at.
    pub(crate) fn looked_at(self, before: Option<&Self>, look: impl FnOnce() -> Option<u32>) -> Self {
        let is_same = |before: &&Self| before.is_listed() && !before.is_recent && before.stamp == self.stamp;
        let content = match before.filter(is_same) {
            _ if !self.is_listed() => None,
            Some(before) => before.content,
            None => look(),
        };
        Self { content, ..self }
    }

    /// Whether it is as it was at another comparison.
    pub(crate) fn equals(&self, before: &Self) -> bool {
        self.stamp == before.stamp && self.content == before.content
    }

    /// Whether a reported write may have left the same stamp.
    pub(crate) fn may_hide(&self, written: bool) -> bool {
        written && self.is_recent
    }

    /// Whether it is in `source_files` if it is a source.
    pub(crate) fn is_listed(&self) -> bool {
        self.audience == FileAudience::Listed && !self.stamp.link
    }

    /// Whether it may be in `source_files` at only one of two comparisons.
    pub(crate) fn lists_otherwise(&self, now: &Self) -> bool {
        self.is_listed() != now.is_listed() || self.content != now.content
    }

    /// Whether it is a symbolic link.
    pub(crate) fn is_link(&self) -> bool {
        self.stamp.link
    }

    /// Whether its changes are reported to language servers.
    pub(crate) fn is_reported(&self) -> bool {
        self.audience != FileAudience::IndexOnly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_counts_if_the_stamp_was_fresh_when_it_was_taken() {
        let old = Stamp { size: 1, mtime_ns: 0, ctime_ns: 0, inode: 1, link: false };
        assert!(!old.is_fresh(), "the stamp is old now");
        let known = |is_recent| KnownFile { stamp: old, audience: FileAudience::Listed, content: None, is_recent };
        assert!(known(true).may_hide(true), "but it was fresh when it was taken");
        assert!(!known(true).may_hide(false), "nothing was written");
        assert!(!known(false).may_hide(true), "an old stamp shows every change");
    }
}
