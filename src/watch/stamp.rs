//! What is remembered of one file, to see that it is another or has another content.
//!
//! Not a digest: a file is never read. Invariant: two equal stamps of a file that isn't fresh mean the same content.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use crate::base::clock::wall_ns;
use crate::base::limits::FRESH_STAMP_MS;

/// A file as it was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    mtime_ns: i128,
    ctime_ns: i128,
    inode: u64,
    link: bool,
}

/// A followed file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// What it was at the last look.
    pub stamp: Stamp,
    /// It is told of, but not listed.
    pub ignored: bool,
}

impl Stamp {
    /// Whether a table has entries of this kind: files, and links as themselves.
    pub fn is_file(metadata: &Metadata) -> bool {
        metadata.is_file() || metadata.is_symlink()
    }

    /// The stamp that `metadata` shows.
    pub fn of(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Self {
            size: metadata.len(),
            mtime_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            link: metadata.is_symlink(),
        }
    }

    /// Whether the file may change again behind this stamp.
    pub fn is_fresh(&self) -> bool {
        self.ctime_ns + i128::from(FRESH_STAMP_MS) * 1_000_000 > wall_ns()
    }
}

impl Known {
    /// Whether it belongs into the list, if it is a source.
    pub fn is_listed(&self) -> bool {
        !self.ignored && !self.stamp.link
    }
}
