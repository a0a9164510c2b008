//! The queries of the code indexes that run on threads: how many, and whether they hang or are slow.
//!
//! A thread in a call of the system can't be interrupted: it returns when the file system does. Invariants: a workspace whose queries hang
//! gets no further threads until one of them has returned; queries of one workspace never use all slots of the process; workspaces whose
//! queries don't end with their calls share a few slots, so that together they don't use all of them either; the threads of all of them
//! together are bounded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{
    HUNG_CODE_QUERIES, HUNG_CODE_QUERY_MS, LATE_CODE_QUERY_MS, MAX_LATE_CODE_QUERIES, MAX_SLOW_CODE_QUERIES,
    MAX_WORKSPACE_CODE_QUERIES, SLOW_WORKSPACE_MS,
};
use codeyard_base::clock::Instant;

/// When queries began that still run, by their numbers: the oldest come first.
type Running = BTreeMap<u64, Instant>;

/// The running queries of the process.
#[derive(Debug)]
pub struct AllQueries {
    /// What slow workspaces share.
    slow: Arc<Semaphore>,
    running: Mutex<(u64, Running)>,
}

/// The running queries of one workspace.
#[derive(Debug)]
pub struct RunningQueries {
    turns: Arc<Semaphore>,
    all: Arc<AllQueries>,
    running: Mutex<Running>,
    /// The time at which the last late query returned.
    late_at: Mutex<Option<Instant>>,
}

/// A query that runs. Dropping it means that its thread has returned.
#[derive(Debug)]
pub struct RunningQuery {
    queries: Arc<RunningQueries>,
    number: u64,
}

/// The share of a workspace or a group in the slots of the process, for one query.
#[derive(Debug)]
pub struct QueryTurn {
    own: OwnedSemaphorePermit,
    _slow: Option<OwnedSemaphorePermit>,
}

impl From<OwnedSemaphorePermit> for QueryTurn {
    fn from(own: OwnedSemaphorePermit) -> Self {
        Self { own, _slow: None }
    }
}

impl QueryTurn {
    /// The number of threads that it allows.
    pub fn threads(&self) -> usize {
        self.own.num_permits()
    }
}

impl Default for AllQueries {
    fn default() -> Self {
        Self { slow: Arc::new(Semaphore::new(MAX_SLOW_CODE_QUERIES)), running: Mutex::default() }
    }
}

impl Default for RunningQueries {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

/// Whether at least `count` have run for longer than this, in milliseconds.
fn are_older(running: &Running, count: usize, limit_ms: u64) -> bool {
    let limit = Duration::from_millis(limit_ms);
    running.values().nth(count - 1).is_some_and(|began| began.elapsed() > limit)
}

impl RunningQueries {
    /// Those of a workspace.
    pub fn new(all: Arc<AllQueries>) -> Self {
        let turns = Arc::new(Semaphore::new(MAX_WORKSPACE_CODE_QUERIES));
        Self { turns, all, running: Mutex::default(), late_at: Mutex::default() }
    }

    /// Waits until the workspace may use one more slot of the process. `None` if its queries hang.
    pub async fn turn(&self) -> Option<QueryTurn> {
        if self.hang() {
            return None;
        }
        let own = self.turns.clone().acquire_owned().await.ok()?;
        let slow = if self.is_slow() { Some(self.all.slow.clone().acquire_owned().await.ok()?) } else { None };
        Some(QueryTurn { own, _slow: slow })
    }

    /// A query begins on this thread. `None` if others of the workspace hang.
    pub fn begin(self: &Arc<Self>) -> Option<RunningQuery> {
        if self.hang() {
            return None;
        }
        let mut all = self.all.running.lock();
        let now = Instant::now();
        let (count, running) = &mut *all;
        *count += 1;
        running.insert(*count, now);
        self.running.lock().insert(*count, now);
        Some(RunningQuery { queries: self.clone(), number: *count })
    }

    /// Whether several have run for much longer than a call may, or fewer while those of all workspaces take many threads.
    pub fn hang(&self) -> bool {
        let running = self.running.lock();
        if are_older(&running, HUNG_CODE_QUERIES, HUNG_CODE_QUERY_MS) {
            return true;
        }
        let has_late = are_older(&running, 1, LATE_CODE_QUERY_MS);
        drop(running);
        has_late && are_older(&self.all.running.lock().1, MAX_LATE_CODE_QUERIES, LATE_CODE_QUERY_MS)
    }

    /// Whether a query of the workspace runs on after its call.
    pub(super) fn has_late(&self) -> bool {
        are_older(&self.running.lock(), 1, LATE_CODE_QUERY_MS)
    }

    /// Whether queries of the workspace have lately run on after their calls.
    pub(super) fn is_slow(&self) -> bool {
        let slow_for = Duration::from_millis(SLOW_WORKSPACE_MS);
        self.has_late() || self.late_at.lock().is_some_and(|late_at| late_at.elapsed() < slow_for)
    }
}

impl Drop for RunningQuery {
    fn drop(&mut self) {
        self.queries.all.running.lock().1.remove(&self.number);
        let began = self.queries.running.lock().remove(&self.number);
        if began.is_some_and(|began| began.elapsed() > Duration::from_millis(LATE_CODE_QUERY_MS)) {
            *self.queries.late_at.lock() = Some(Instant::now());
        }
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
        let patience = Duration::from_secs(1);
        assert!(tokio::time::timeout(patience, queries.turn()).await.is_err());
        turns.pop();
        assert!(tokio::time::timeout(patience, queries.turn()).await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn workspaces_whose_queries_are_late_share_a_few_slots() {
        let all = Arc::new(AllQueries::default());
        let slow: Vec<_> = (0..8).map(|_| Arc::new(RunningQueries::new(all.clone()))).collect();
        let late: Vec<_> = slow.iter().map(|queries| queries.begin().unwrap()).collect();
        tokio::time::advance(Duration::from_millis(LATE_CODE_QUERY_MS + 1)).await;
        let patience = Duration::from_secs(1);
        let free_turns = async || {
            let mut turns = Vec::new();
            for queries in &slow {
                turns.extend(tokio::time::timeout(patience, queries.turn()).await.ok().flatten());
            }
            turns.len()
        };
        assert_eq!(free_turns().await, MAX_SLOW_CODE_QUERIES);
        drop(late);
        assert_eq!(free_turns().await, MAX_SLOW_CODE_QUERIES, "they may soon be late again");
        tokio::time::advance(Duration::from_millis(SLOW_WORKSPACE_MS)).await;
        assert_eq!(free_turns().await, slow.len());
        const { assert!(MAX_SLOW_CODE_QUERIES + MAX_WORKSPACE_CODE_QUERIES < crate::limits::MAX_CODE_QUERIES) };
    }

    #[tokio::test(start_paused = true)]
    async fn late_queries_of_all_workspaces_take_a_bounded_number_of_threads() {
        let all = Arc::new(AllQueries::default());
        let hung: Vec<_> = (0..MAX_LATE_CODE_QUERIES / 2).map(|_| Arc::new(RunningQueries::new(all.clone()))).collect();
        let mut late = Vec::new();
        // Too few of each workspace to count as hung by themselves.
        for queries in hung.iter().chain(&hung) {
            late.push(queries.begin().unwrap());
        }
        tokio::time::advance(Duration::from_millis(LATE_CODE_QUERY_MS + 1)).await;
        assert!(hung.iter().all(|queries| queries.begin().is_none()));
        assert!(Arc::new(RunningQueries::new(all)).begin().is_some(), "a workspace without late queries has its own");
        late.pop();
        assert!(hung[0].begin().is_some());
    }
}
