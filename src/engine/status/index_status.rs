//! The published health of the code indexes of a workspace.
//!
//! The indexer publishes what it reads from the disk when a job ends; jobs and unindexed changes are read from memory when an operator
//! asks. Invariant: a reader waits neither for the disk nor for an actor. What is older than `INDEX_STATUS_AGE_MS` is read again in the
//! background, because another process may have written the index.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;

use crate::limits::INDEX_STATUS_AGE_MS;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;

/// The index of one root, as operators see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexHealth {
    pub root: String,
    /// `not_indexed`, `indexing`, `ready` or `failed`.
    pub status: &'static str,
    /// `fresh`, `stale` or `syncing`.
    pub freshness: &'static str,
    pub files: u64,
    pub symbols: u64,
    /// When the last job was published: UTC, RFC 3339.
    pub last_indexed_at: Option<String>,
    /// Mode and phase of the running job.
    pub job: Option<String>,
    /// Why the last job failed.
    pub problem: Option<String>,
}

/// Where the health of indexes comes from.
pub trait IndexStatusSource: Send + Sync {
    /// The health of each index, in the order of the roots. Blocks.
    fn read(&self) -> Vec<IndexHealth>;

    /// Brings `published` up to date with what is in memory: running jobs and unindexed changes. Doesn't block.
    fn update(&self, published: &mut [IndexHealth]);
}

/// The published health of the indexes of one workspace; empty while they aren't open.
#[derive(Default)]
pub struct IndexStatusBoard(Arc<Mutex<Option<Published>>>);

struct Published {
    source: Arc<dyn IndexStatusSource>,
    indexes: Vec<IndexHealth>,
    read_at: Instant,
    is_being_read: bool,
}

impl std::fmt::Debug for IndexStatusBoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexStatusBoard").finish_non_exhaustive()
    }
}

impl IndexStatusBoard {
    /// The indexes were opened, in this health.
    pub fn open(&self, source: Arc<dyn IndexStatusSource>, indexes: Vec<IndexHealth>) {
        *self.0.lock() = Some(Published { source, indexes, read_at: Instant::now(), is_being_read: false });
    }

    /// Replaces the health of the index at this position.
    pub fn publish(&self, at: usize, health: IndexHealth) {
        if let Some(published) = &mut *self.0.lock()
            && let Some(index) = published.indexes.get_mut(at)
        {
            *index = health;
        }
    }

    /// The indexes were closed.
    pub fn close(&self) {
        *self.0.lock() = None;
    }

    /// The health of each index. Must be called inside a tokio runtime.
    pub fn read(&self) -> Vec<IndexHealth> {
        let (source, mut indexes, is_due) = {
            let mut board = self.0.lock();
            let Some(published) = &mut *board else { return Vec::new() };
            let is_old = published.read_at.elapsed() >= Duration::from_millis(INDEX_STATUS_AGE_MS);
            let is_due = is_old && !published.is_being_read;
            published.is_being_read |= is_due;
            (published.source.clone(), published.indexes.clone(), is_due)
        };
        source.update(&mut indexes);
        if is_due {
            let board = self.0.clone();
            drop(blocking::spawn(move || {
                let indexes = source.read();
                if let Some(published) = board.lock().as_mut().filter(|now| Arc::ptr_eq(&now.source, &source)) {
                    (published.indexes, published.read_at, published.is_being_read) = (indexes, Instant::now(), false);
                }
            }));
        }
        indexes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    fn health(files: u64) -> IndexHealth {
        let root = "/r".into();
        let status = "ready";
        let freshness = "fresh";
        IndexHealth { root, status, freshness, files, symbols: 0, last_indexed_at: None, job: None, problem: None }
    }

    /// The index has as many files as it was read.
    struct Counting(AtomicU64);

    impl IndexStatusSource for Counting {
        fn read(&self) -> Vec<IndexHealth> {
            vec![health(self.0.fetch_add(1, SeqCst) + 100)]
        }

        fn update(&self, published: &mut [IndexHealth]) {
            published[0].job = Some("full parsing".into());
        }
    }

    #[test]
    fn an_old_status_is_read_again_in_the_background() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap().block_on(async {
            let board = IndexStatusBoard::default();
            assert_eq!(board.read(), []);
            let source = Arc::new(Counting(AtomicU64::new(0)));
            board.open(source.clone(), vec![health(1)]);
            let read = board.read();
            assert_eq!(
                (read[0].files, read[0].job.as_deref()),
                (1, Some("full parsing")),
                "live parts are read at once"
            );
            board.publish(0, health(2));
            tokio::time::sleep(Duration::from_millis(INDEX_STATUS_AGE_MS)).await;
            assert_eq!((board.read()[0].files, board.read()[0].files), (2, 2), "no reader waits");
            while board.read()[0].files == 2 {
                tokio::task::yield_now().await;
            }
            assert_eq!((board.read()[0].files, source.0.load(SeqCst)), (100, 1), "it was read once");
            board.close();
            assert_eq!(board.read(), []);
        });
    }
}
