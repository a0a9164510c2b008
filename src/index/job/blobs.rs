//! Reads the blobs of a job.
//!
//! Invariant: a blob at which every reader ends neither prevents the others from being indexed nor takes more than a few readers.

use std::sync::atomic::Ordering;

use super::{JobError, JobRun};
use codeyard_git::{BlobRead, BlobReader, GitError, GitRepository};

/// Readers of a repository that try to read one blob, one after the other, before it counts as one that can't be read.
const BLOB_ATTEMPTS: u32 = 3;
/// Such blobs of one job. At a further one the job fails.
const MAX_READER_ENDS: u32 = 8;

impl JobRun<'_> {
    /// Replaces `bytes` with a blob. One at which several readers end, although readers work otherwise, counts as one that can't be read, so
    /// that it doesn't prevent the rest from being indexed.
    pub(super) fn read_blob(
        &self,
        blobs: &BlobReader,
        oid: &[u8; 20],
        most: u64,
        bytes: &mut Vec<u8>,
    ) -> Result<BlobRead, JobError> {
        let read = repeated(|| blobs.read(oid, most, bytes));
        let BlobRead::ReaderEnded(how) = read else { return Ok(read) };
        let works = |git: &GitRepository| !matches!(git.resolve("HEAD"), Err(GitError::ReaderEnded(_)));
        let is_the_blob = self.git.as_ref().is_ok_and(works);
        if is_the_blob && self.reader_ends.fetch_add(1, Ordering::Relaxed) < MAX_READER_ENDS {
            return Ok(BlobRead::Failed);
        }
        Err(self.reader_ended(how))
    }
}

/// Reads a blob with further readers while they end.
fn repeated(mut read: impl FnMut() -> BlobRead) -> BlobRead {
    let mut done = read();
    for _ in 1..BLOB_ATTEMPTS {
        if !matches!(done, BlobRead::ReaderEnded(_)) {
            break;
        }
        done = read();
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_is_read_again_while_readers_end_and_not_for_ever() {
        let ended = BlobRead::ReaderEnded("it ended");
        for (reads, expected, count) in [
            (vec![BlobRead::Done], BlobRead::Done, 1),
            (vec![BlobRead::Failed], BlobRead::Failed, 1),
            (vec![ended, BlobRead::Done], BlobRead::Done, 2),
            (vec![ended; 9], ended, 3),
        ] {
            let mut asked = 0;
            let read = repeated(|| {
                asked += 1;
                reads[asked - 1]
            });
            assert_eq!((read, asked), (expected, count));
        }
    }
}
