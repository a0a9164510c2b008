//! Counters of the events read from the kernel's queue. Invariant: they never decrease.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one watcher. They stay readable after the watcher has ended.
#[derive(Debug, Default)]
pub struct WatchCounters {
    events: AtomicU64,
    overflows: AtomicU64,
}

impl WatchCounters {
    /// Events read so far.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    /// Queue overflows so far; each lost events.
    pub fn overflows(&self) -> u64 {
        self.overflows.load(Relaxed)
    }

    pub(super) fn event(&self) {
        self.events.fetch_add(1, Relaxed);
    }

    pub(super) fn overflow(&self) {
        self.overflows.fetch_add(1, Relaxed);
    }
}
