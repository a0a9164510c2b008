//! Size, times and identity of a file: enough to detect that it may have changed, without reading it.
//!
//! Not a content hash. Invariant: a stamp comes from one `stat` call.

use rustix::fs::Stat;

use crate::limits::FRESH_STAMP_MS;

/// Size, times and identity of a file at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Last change of content or attributes, in nanoseconds since 1970. A program can't set it back.
    pub ctime_ns: i128,
    pub inode: u64,
    pub device: u64,
}

impl FileStamp {
    /// Whether the file changed less than `FRESH_STAMP_MS` before `wall_ns`, or after it. Another change may then have the
    /// same stamp, so the caller must compare content hashes too.
    pub fn is_fresh(&self, wall_ns: i128) -> bool {
        self.mtime_ns.max(self.ctime_ns) + i128::from(FRESH_STAMP_MS) * 1_000_000 > wall_ns
    }

    #[expect(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
    pub(crate) fn of(stat: &Stat) -> Self {
        let ns = |seconds: i128, nanos: i128| seconds * 1_000_000_000 + nanos;
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: ns(i128::from(stat.st_mtime), stat.st_mtime_nsec as i128),
            ctime_ns: ns(i128::from(stat.st_ctime), stat.st_ctime_nsec as i128),
            inode: stat.st_ino as u64,
            device: stat.st_dev as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_fresh_for_two_seconds() {
        let stamp = FileStamp { size: 0, mtime_ns: 10_000_000_000, ctime_ns: 0, inode: 0, device: 0 };
        for (now_ns, fresh) in [(9_000_000_000, true), (11_999_999_999, true), (12_000_000_000, false)] {
            assert_eq!(stamp.is_fresh(now_ns), fresh, "{now_ns}");
        }
    }

    #[test]
    fn a_stamp_has_the_times_of_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let modified = std::time::UNIX_EPOCH + std::time::Duration::new(1_234_567_890, 123_456_789);
        file.as_file().set_modified(modified).unwrap();
        let stamp = FileStamp::of(&rustix::fs::fstat(file.as_file()).unwrap());
        assert_eq!(stamp.mtime_ns, 1_234_567_890_123_456_789);
        assert!(stamp.ctime_ns > stamp.mtime_ns && stamp.ctime_ns <= codeyard_base::clock::wall_ns());
    }
}
