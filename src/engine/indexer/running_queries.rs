//! The queries of the index of one workspace that run on threads, and whether they hang.
//!
//! A thread in a call of the system can't be interrupted: it returns when the file system does. Invariants: a workspace whose queries hang
//! gets no further threads until one of them has returned; queries of one workspace never use all slots of the process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{HUNG_CODE_QUERIES, HUNG_CODE_QUERY_MS, MAX_WORKSPACE_CODE_QUERIES};
use codeyard_base::clock::Instant;

/// The running queries of one workspace.
#[derive(Debug)]
pub struct RunningQueries {
    turns: Arc<Semaphore>,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    count: u64,
    /// When each began, by its number.
    began: BTreeMap<u64, Instant>,
}

/// A query that runs. Dropping it means that its thread has returned.
#[derive(Debug)]
pub struct RunningQuery {
    queries: Arc<RunningQueries>,
    number: u64,
}

impl Default for RunningQueries {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(MAX_WORKSPACE_CODE_QUERIES)), running: Mutex::default() }
    }
}

impl RunningQueries {
    /// Waits until the workspace may use one more slot of the process. `None` if its queries hang.
    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        if self.hang() {
            return None;
        }
        self.turns.clone().acquire_owned().await.ok()
    }

    /// A query begins on this thread. `None` if others of the workspace hang.
    pub fn begin(self: &Arc<Self>) -> Option<RunningQuery> {
        if self.hang() {
            return None;
        }
        let mut running = self.running.lock();
        running.count += 1;
        let number = running.count;
        running.began.insert(number, Instant::now());
        Some(RunningQuery { queries: self.clone(), number })
    }

    /// Whether several have run for much longer than a call may.
    fn hang(&self) -> bool {
        let limit = Duration::from_millis(HUNG_CODE_QUERY_MS);
        let running = self.running.lock();
        // The oldest come first.
        running.began.values().take(HUNG_CODE_QUERIES).filter(|began| began.elapsed() > limit).count()
            >= HUNG_CODE_QUERIES
    }
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        self.queries.running.lock().began.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_workspace_whose_queries_hang_gets_no_more_threads_until_one_returns() {
        let queries = Arc::new(RunningQueries::default());
        let mut hung: Vec<_> = (0..HUNG_CODE_QUERIES).map(|_| queries.begin().unwrap()).collect();
        tokio::time::advance(Duration::from_millis(HUNG_CODE_QUERY_MS)).await;
        drop(queries.begin().unwrap());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(queries.begin().is_none() && queries.turn().await.is_none());
        hung.pop();
        let _other = queries.begin().unwrap();
        assert!(queries.turn().await.is_some(), "fewer hang than count as a file system that hangs");
    }

    #[tokio::test(start_paused = true)]
    async fn one_workspace_leaves_slots_to_the_others() {
        let queries = RunningQueries::default();
        let mut turns = Vec::new();
        for _ in 0..MAX_WORKSPACE_CODE_QUERIES {
            turns.push(queries.turn().await.unwrap());
        }
        assert!(turns.len() < crate::limits::MAX_CODE_QUERIES);
        let patience = Duration::from_secs(60);
        assert!(tokio::time::timeout(patience, queries.turn()).await.is_err());
        turns.pop();
        assert!(tokio::time::timeout(patience, queries.turn()).await.unwrap().is_some());
    }
}
