//! Work on the code indexes that blocks a thread: it waits for its slots, and has an end.
//!
//! It isn't the queries themselves. Invariant: whatever its threads do, its slots are free again a little after its call has ended.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::sleep;

use super::wait_status::{WaitStatus, Waiting};
use crate::indexer::indexes::{self, Indexes};
use crate::indexer::query_end::{QueryEnd, QuerySlots};
use crate::indexer::running_queries::QueryTurn;
use crate::limits::CODE_QUERY_END_MS;
use codeyard_base::blocking;
use codeyard_base::clock::Deadline;
use codeyard_model::error::ToolError;
use codeyard_telemetry::CallTrace;

/// Tells the work on another thread to stop when the waiting future is dropped, and takes its slots from it if it doesn't.
struct StopOnDrop {
    ends: Arc<AtomicBool>,
    slots: Weak<QuerySlots>,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        if self.slots.strong_count() > 0 {
            let slots = self.slots.clone();
            actix_rt::spawn(async move {
                sleep(Duration::from_millis(CODE_QUERY_END_MS)).await;
                if let Some(slots) = slots.upgrade() {
                    slots.take_back();
                }
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
    /// Runs `work` on a blocking thread, once there is a slot for it. `work` gets the number of its threads and its end, which is reached
    /// shortly before the deadline, and when this future is dropped; work that goes on loses its slots a little later.
    pub(super) async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce(&QueryEnd, usize) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let waits = self.indexes.start_waiting();
        let slots =
            indexes::some_of(&self.indexes.places, self.turn.threads()).await.ok_or_else(ToolError::internal)?;
        let threads = slots.num_permits();
        let slots = Arc::new(QuerySlots::new(slots, self.turn));
        drop(waits);
        self.status.write(Waiting::Answer);
        // If the wait for the slots took the whole time, `work` stops at once.
        let ends = Arc::new(AtomicBool::new(self.deadline.left() <= PARTIAL_ANSWER_MARGIN));
        let on_drop = StopOnDrop { ends: ends.clone(), slots: Arc::downgrade(&slots) };
        let early = self.deadline.earlier(PARTIAL_ANSWER_MARGIN).instant();
        let end = QueryEnd::new(ends, early, slots);
        let _working = self.call.time_index_query();
        let mut working = blocking::spawn(move || work(&end, threads));
        let done = tokio::select! {
            biased;
            done = &mut working => done,
            () = tokio::time::sleep_until(early) => {
                on_drop.ends.store(true, Relaxed);
                working.await
            }
        };
        done.map_err(|_| ToolError::internal())
    }
}

/// Time before the deadline at which a query returns its partial answer.
pub(super) const PARTIAL_ANSWER_MARGIN: Duration = Duration::from_millis(crate::limits::LATE_SERVER_MS);

const _: () = assert!(crate::limits::LATE_UNIT_MS < crate::limits::LATE_SERVER_MS);
