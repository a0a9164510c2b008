//! Workspaces that are draining, and the reports of their drains.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, Shared};
use tokio::sync::Semaphore;

use crate::limits;
use crate::workspace::messages::StoppedServer;
use codeyard_base::clock::Instant;
use codeyard_base::ids::WorkspaceName;

/// The report of a drain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainReport {
    pub name: WorkspaceName,
    /// Number of calls in flight when the drain began.
    pub calls: usize,
    /// Number of those calls that didn't end in time and were cut off.
    pub calls_cut: usize,
    /// Its language servers, with how each ended.
    pub servers: Vec<StoppedServer>,
    /// What had not ended in time and was left to itself.
    pub stuck: Vec<String>,
    pub took: Duration,
}

/// Resolves to the report; may be cloned.
pub type PendingDrain = Shared<BoxFuture<'static, Arc<DrainReport>>>;

/// A draining workspace.
#[derive(Clone)]
pub struct Draining {
    pub name: WorkspaceName,
    /// When the drain began.
    pub since: Instant,
    /// Resolves to the report.
    pub report: PendingDrain,
    /// Whether it was removed; otherwise it was replaced.
    pub removed: bool,
    pub(super) generation: u64,
    pub(super) places: CallSlots,
}

/// The call slots of a draining workspace.
#[derive(Clone)]
pub(super) struct CallSlots {
    pub(super) all: Arc<Semaphore>,
    /// Number of slots that the drain holds.
    pub(super) taken: Arc<AtomicUsize>,
}

impl CallSlots {
    pub(super) fn in_flight(&self) -> usize {
        let free = self.all.available_permits() + self.taken.load(Ordering::Relaxed);
        limits::MAX_CALLS_PER_WORKSPACE.saturating_sub(free)
    }

    /// Takes all slots: the free ones at once, so that no call gets one, and each other as soon as its call has ended.
    pub(super) async fn take(&self) {
        let free = self.all.forget_permits(limits::MAX_CALLS_PER_WORKSPACE);
        self.taken.fetch_add(free, Ordering::Relaxed);
        for _ in free..limits::MAX_CALLS_PER_WORKSPACE {
            let Ok(place) = self.all.acquire().await else { return };
            self.taken.fetch_add(1, Ordering::Relaxed);
            place.forget();
        }
    }
}

impl Draining {
    /// Whether the drain is still in progress.
    pub fn is_pending(&self) -> bool {
        self.report.peek().is_none()
    }

    /// Number of calls still in flight.
    pub fn calls(&self) -> usize {
        self.places.in_flight()
    }
}
