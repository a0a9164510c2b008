//! Work on the code indexes that blocks a thread: it waits for its slots, and has an end.
//!
//! It isn't the queries themselves. Invariant: whatever the thread does, its slots are free again a little after its call has ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use super::wait_status::{WaitStatus, Waiting};
use codeyard_base::blocking;
use codeyard_base::clock::Deadline;
use codeyard_engine::indexer::indexes::{self, Indexes};
use codeyard_engine::indexer::running_queries::QueryTurn;
use codeyard_engine::limits::CODE_QUERY_END_MS;
use codeyard_model::error::ToolError;
use codeyard_telemetry::CallTrace;

/// The slots of work on another thread, until it has ended or its slots are taken from it.
type HeldSlots = Arc<Mutex<Option<(OwnedSemaphorePermit, QueryTurn)>>>;

/// Tells the work on another thread to stop when the waiting future is dropped, and takes its slots from it if it doesn't.
struct StopOnDrop {
    ends: Arc<AtomicBool>,
    slots: HeldSlots,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        if self.slots.lock().is_some() {
            let slots = self.slots.clone();
            actix_rt::spawn(async move {
                sleep(Duration::from_millis(CODE_QUERY_END_MS)).await;
                slots.lock().take();
            });
        }
    }
}

/// Work on the indexes that blocks a thread.
pub(super) struct BlockingWork<'a> {
    pub(super) indexes: &'a Indexes,
    /// Its share of the slots: the most threads that it uses at once.
    pub(super) turn: QueryTurn,
    pub(super) deadline: Deadline,
    pub(super) status: &'a WaitStatus,
    pub(super) call: &'a CallTrace,
}

impl BlockingWork<'_> {
    /// Runs `work` on a blocking thread, once there is a slot for it. `work` gets the number of its threads, and a flag that becomes true
    /// shortly before the deadline, and when this future is dropped; work that goes on loses its slots a little later.
    pub(super) async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce(&Arc<AtomicBool>, usize) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let waits = self.indexes.start_waiting();
        let slots =
            indexes::some_of(&self.indexes.places, self.turn.threads()).await.ok_or_else(ToolError::internal)?;
        let threads = slots.num_permits();
        let slots = Arc::new(Mutex::new(Some((slots, self.turn))));
        drop(waits);
        self.status.write(Waiting::Answer);
        // If the wait for the slots took the whole time, `work` stops at once.
        let ends = Arc::new(AtomicBool::new(self.deadline.left() <= PARTIAL_ANSWER_MARGIN));
        let end = StopOnDrop { ends: ends.clone(), slots: slots.clone() };
        let _working = self.call.time_index_query();
        let mut working = blocking::spawn(move || {
            let done = work(&ends, threads);
            slots.lock().take();
            done
        });
        let early = self.deadline.earlier(PARTIAL_ANSWER_MARGIN).instant();
        let done = tokio::select! {
            biased;
            done = &mut working => done,
            () = tokio::time::sleep_until(early) => {
                end.ends.store(true, Relaxed);
                working.await
            }
        };
        done.map_err(|_| ToolError::internal())
    }
}

/// Time before the deadline at which a query returns its partial answer.
pub(super) const PARTIAL_ANSWER_MARGIN: Duration = Duration::from_millis(codeyard_engine::limits::LATE_SERVER_MS);
