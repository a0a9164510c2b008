//! The byte budget of large frames in flight and of queued events, shared by all connections in fair shares.
//!
//! A part of the budget of frames is divided equally among the connections; the rest is given out in the order of the
//! requests. Invariants: a frame is admitted as a whole before its body is read, so that admitted frames never wait for
//! each other; a connection whose frames fit into its share isn't delayed by those of others; all admitted frames
//! together are at most the budget; a connection that waits for room is never at fault.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::counters::{LiveCounters, increment};
use super::frame::FrameError;
use crate::limits;

/// All frames that are being read from all language servers together, in bytes.
const MAX_FRAMES_IN_FLIGHT_BYTES: usize = 48 * 1024 * 1024;
/// The part of the frames in flight that one language server may always use, in bytes. With many servers it is less: a
/// sixth of the budget is divided equally among them.
const FRAME_SHARE_BYTES: usize = 1024 * 1024;

/// One part in this many of the budget is divided equally among the connections.
const RESERVED_PART: usize = 6;

/// The reasons for rejecting a frame, as [`FrameBudget::rejected`] names them.
const REJECTIONS: [&str; 11] = [
    "garbage", "header_too_long", "length_missing", "length_repeated", "length_invalid", "too_large", "truncated",
    "no_room", "stalled", "io", "malformed",
];

/// The byte budget of large frames in flight, shared by all connections, and the counts of rejected frames.
#[derive(Debug, Clone)]
pub struct FrameBudget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    total: usize,
    table: Mutex<BudgetTable>,
    /// Room was given back, or a request for room ended.
    changed: Notify,
    queued_events: AtomicUsize,
    rejected: [AtomicU64; REJECTIONS.len()],
}

#[derive(Debug, Default)]
struct BudgetTable {
    connections: usize,
    /// The admitted bytes of each connection that has some.
    admitted: BTreeMap<u64, usize>,
    /// Bytes allocated for admitted frames.
    allocated: usize,
    /// The requests that wait, in their order.
    waiting: BTreeSet<u64>,
    last_id: u64,
}

/// One connection's access to the budget.
#[derive(Debug)]
pub(super) struct BudgetMember {
    budget: FrameBudget,
    id: u64,
}

/// The admission of one frame; released on drop.
#[derive(Debug)]
pub(super) struct FramePermit {
    budget: FrameBudget,
    connection: u64,
    admitted: usize,
    allocated: usize,
}

/// A request that waits for room; leaves the queue on drop.
struct WaitingRequest<'a> {
    budget: &'a FrameBudget,
    counters: &'a LiveCounters,
    id: u64,
}

impl Default for FrameBudget {
    fn default() -> Self {
        Self::new(MAX_FRAMES_IN_FLIGHT_BYTES)
    }
}

impl FrameBudget {
    /// A budget of `bytes`, at most `MAX_FRAMES_IN_FLIGHT_BYTES`.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(BudgetState {
            total: bytes.min(MAX_FRAMES_IN_FLIGHT_BYTES),
            table: Mutex::default(),
            changed: Notify::new(),
            queued_events: AtomicUsize::new(0),
            rejected: Default::default(),
        }))
    }

    /// How many frames were rejected so far, by reason: a [`FrameError`], or `malformed` for a body that is not a
    /// message.
    pub fn rejected(&self) -> Vec<(&'static str, u64)> {
        REJECTIONS.iter().zip(&self.0.rejected).map(|(reason, count)| (*reason, count.load(Relaxed))).collect()
    }

    /// Bytes allocated for large frames now.
    pub fn in_flight(&self) -> usize {
        self.0.table.lock().allocated
    }

    /// Bytes of events of all connections that wait for their consumers.
    pub fn queued_events(&self) -> usize {
        self.0.queued_events.load(Relaxed)
    }

    /// Counts a frame that was rejected, or with `None` one that is not a message.
    pub(super) fn count_rejected(&self, error: Option<FrameError>) {
        increment(&self.0.rejected[error.map_or(REJECTIONS.len() - 1, index)]);
    }

    /// Whether an event of `size` bytes has room beside the `own` bytes that its connection has queued.
    pub(super) fn has_event_room(&self, own: usize, size: usize) -> bool {
        own + size <= limits::EVENT_QUEUE_SHARE_BYTES || self.queued_events() + size <= limits::MAX_QUEUED_EVENTS_BYTES
    }

    pub(super) fn event_queued(&self, size: usize) {
        self.0.queued_events.fetch_add(size, Relaxed);
    }

    /// Counts an event that is no longer queued.
    pub(super) fn event_taken(&self, size: usize) {
        self.0.queued_events.fetch_sub(size, Relaxed);
    }

    /// Adds a connection.
    pub(super) fn join(&self) -> BudgetMember {
        let mut table = self.0.table.lock();
        table.connections += 1;
        table.last_id += 1;
        BudgetMember { budget: self.clone(), id: table.last_id }
    }
}

impl BudgetTable {
    /// Admits `bytes` for `connection`, if there is room for it and no earlier request (one before `request`) waits for
    /// the same room.
    fn admit(&mut self, total: usize, connection: u64, bytes: usize, request: u64) -> bool {
        let reserved = total / RESERVED_PART;
        let share = (reserved / self.connections.max(1)).min(FRAME_SHARE_BYTES);
        let own = self.admitted.get(&connection).copied().unwrap_or_default();
        let all: usize = self.admitted.values().sum();
        if all + bytes > total {
            return false;
        }
        if own + bytes > share {
            let is_next = self.waiting.first().is_none_or(|first| *first >= request);
            let over = |held: usize| held.saturating_sub(share);
            let common: usize = self.admitted.values().map(|held| over(*held)).sum();
            if !is_next || common - over(own) + over(own + bytes) > total - reserved {
                return false;
            }
        }
        *self.admitted.entry(connection).or_default() += bytes;
        true
    }
}

impl BudgetMember {
    /// Whether another connection waits for room.
    pub(super) fn is_awaited(&self) -> bool {
        !self.budget.0.table.lock().waiting.is_empty()
    }

    /// Admits a frame of `bytes`. Waits `FRAME_BUDGET_WAIT_MS` at most; `None`: there was no room until then.
    pub(super) async fn admit(&self, bytes: usize, counters: &LiveCounters) -> Option<FramePermit> {
        let state = &self.budget.0;
        if bytes > state.total {
            return None;
        }
        let permit = || FramePermit { budget: self.budget.clone(), connection: self.id, admitted: bytes, allocated: 0 };
        let request = {
            let mut table = state.table.lock();
            if table.admit(state.total, self.id, bytes, u64::MAX) {
                return Some(permit());
            }
            table.last_id += 1;
            let id = table.last_id;
            table.waiting.insert(id);
            counters.set_waiting(true);
            WaitingRequest { budget: &self.budget, counters, id }
        };
        let wait = tokio::time::sleep(Duration::from_millis(limits::FRAME_BUDGET_WAIT_MS));
        let mut wait = pin!(wait);
        loop {
            let mut changed = pin!(state.changed.notified());
            changed.as_mut().enable();
            if state.table.lock().admit(state.total, self.id, bytes, request.id) {
                return Some(permit());
            }
            tokio::select! {
                biased;
                () = changed => {}
                () = &mut wait => return None,
            }
        }
    }
}

impl FramePermit {
    /// The frame has allocated `bytes` so far.
    pub(super) fn set_allocated(&mut self, bytes: usize) {
        let mut table = self.budget.0.table.lock();
        table.allocated = table.allocated - self.allocated + bytes;
        self.allocated = bytes;
    }
}

impl Drop for FramePermit {
    fn drop(&mut self) {
        let mut table = self.budget.0.table.lock();
        table.allocated -= self.allocated;
        if let Some(held) = table.admitted.get_mut(&self.connection) {
            *held -= self.admitted;
            if *held == 0 {
                table.admitted.remove(&self.connection);
            }
        }
        drop(table);
        self.budget.0.changed.notify_waiters();
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.budget.0.table.lock().waiting.remove(&self.id);
        self.counters.set_waiting(false);
        self.budget.0.changed.notify_waiters();
    }
}

impl Drop for BudgetMember {
    fn drop(&mut self) {
        self.budget.0.table.lock().connections -= 1;
        // The share of each other connection has grown.
        self.budget.0.changed.notify_waiters();
    }
}

/// The index of an error in [`REJECTIONS`].
fn index(error: FrameError) -> usize {
    match error {
        FrameError::Garbage => 0,
        FrameError::HeaderTooLong => 1,
        FrameError::LengthMissing => 2,
        FrameError::LengthRepeated => 3,
        FrameError::LengthInvalid => 4,
        FrameError::TooLarge => 5,
        FrameError::Truncated => 6,
        FrameError::NoRoom => 7,
        FrameError::Stalled => 8,
        FrameError::Io(_) => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn shares_are_kept_free_and_the_rest_is_given_in_order() {
        let mut table = BudgetTable { connections: 4, ..BudgetTable::default() };
        let total = MAX_FRAMES_IN_FLIGHT_BYTES;
        let now = u64::MAX;
        assert!(table.admit(total, 1, 30 * MIB, now));
        assert!(!table.admit(total, 2, 30 * MIB, now), "the common part is full");
        assert!(table.admit(total, 2, 12 * MIB, now), "11 MiB of it are common");
        assert!(!table.admit(total, 3, 2 * MIB, now));
        for connection in [3, 4] {
            assert!(table.admit(total, connection, MIB, now), "each has its share");
        }
        table.admitted.remove(&1);
        table.waiting.insert(7);
        assert!(!table.admit(total, 1, 2 * MIB, 8), "request 7 is first");
        assert!(table.admit(total, 2, 20 * MIB, 7));
        assert!(table.admitted.values().sum::<usize>() <= total);
    }

    #[test]
    fn the_largest_frame_always_fits_alone() {
        let mut table = BudgetTable { connections: 1_000, ..BudgetTable::default() };
        assert!(table.admit(MAX_FRAMES_IN_FLIGHT_BYTES, 1, limits::MAX_FRAME_BYTES, u64::MAX));
    }
}
