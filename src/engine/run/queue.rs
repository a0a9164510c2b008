//! The turns of runs: which of the runs that want to work may.
//!
//! It wraps [`FairQueue`] for actors. Invariants: a turn that is dropped is passed on; a workspace with too many waiting runs gets no new ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use codeyard_base::ids::WorkspaceName;
use codeyard_runs::fair_queue::{FairQueue, QueueFull, QueueLimits};
use codeyard_runs::run_id::RunId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The turns of all runs of a process.
#[derive(Debug)]
pub struct RunQueue {
    state: Mutex<QueueState>,
    waiting_per_workspace: usize,
}

#[derive(Debug)]
struct QueueState {
    queue: FairQueue<WorkspaceName, RunId>,
    waiting: BTreeMap<RunId, oneshot::Sender<()>>,
}

/// The place of a run in the queue, and its turn once [`RunTurn::granted`] has returned. Dropping it gives both up.
pub(super) struct RunTurn {
    queue: Arc<RunQueue>,
    run: RunId,
    granted: Option<oneshot::Receiver<()>>,
}

impl RunQueue {
    /// A queue in which `total` runs work at once, and `per_workspace` of one workspace. `waiting_per_workspace` bounds new runs.
    pub fn new(total: usize, per_workspace: usize, waiting_per_workspace: usize) -> Self {
        // Runs that continue after a restart always get a place, so the limit of waiting runs is checked for new ones only.
        let limits = QueueLimits { working: total, working_per_owner: per_workspace, waiting_per_owner: usize::MAX };
        let state = QueueState { queue: FairQueue::new(limits), waiting: BTreeMap::new() };
        Self { state: Mutex::new(state), waiting_per_workspace }
    }

    /// Whether a new run of the workspace may wait.
    ///
    /// # Errors
    /// If too many wait.
    pub fn admit(&self, workspace: &WorkspaceName) -> Result<(), QueueFull> {
        let waiting = self.state.lock().queue.waiting_of(workspace);
        if waiting < self.waiting_per_workspace { Ok(()) } else { Err(QueueFull { waiting }) }
    }

    /// How many runs wait before this one, if it waits.
    pub fn position(&self, run: &RunId) -> Option<usize> {
        self.state.lock().queue.position(run)
    }

    /// How many runs work, and how many wait.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.queue.working(), state.waiting.len())
    }

    /// Enters a run, which must not have a turn.
    pub(super) fn enter(self: &Arc<Self>, workspace: &WorkspaceName, run: &RunId) -> RunTurn {
        let (grant, granted) = oneshot::channel();
        let mut state = self.state.lock();
        state.waiting.insert(run.clone(), grant);
        // The queue itself has no limit.
        let _ = state.queue.push(workspace, run.clone());
        state.grant();
        RunTurn { queue: self.clone(), run: run.clone(), granted: Some(granted) }
    }
}

impl QueueState {
    fn grant(&mut self) {
        while let Some(run) = self.queue.pop() {
            match self.waiting.remove(&run) {
                // A turn whose receiver is gone is removed when it is dropped.
                Some(grant) => drop(grant.send(())),
                None => self.queue.remove(&run),
            }
        }
    }
}

impl RunTurn {
    /// Waits for the turn.
    pub(super) async fn granted(&mut self) {
        if let Some(granted) = self.granted.take() {
            // The sender lives as long as this place in the queue.
            granted.await.ok();
        }
    }
}

impl Drop for RunTurn {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.waiting.remove(&self.run);
        state.queue.remove(&self.run);
        state.grant();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn turns_are_passed_on_and_new_runs_refused() {
        let queue = Arc::new(RunQueue::new(1, 1, 1));
        let name = WorkspaceName::new("w").unwrap();
        let run = |number| RunId::new(0, number);
        let mut first = queue.enter(&name, &run(1));
        first.granted().await;
        queue.admit(&name).unwrap();
        let mut second = queue.enter(&name, &run(2));
        assert_eq!(queue.admit(&name), Err(QueueFull { waiting: 1 }));
        let third = queue.enter(&name, &run(3));
        assert_eq!((queue.position(&run(3)), queue.counts()), (Some(1), (1, 2)));
        drop(third);
        drop(first);
        second.granted().await;
        drop(second);
        assert_eq!(queue.counts(), (0, 0));
    }
}
