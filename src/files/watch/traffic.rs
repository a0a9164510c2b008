//! What came out of the kernel's queue, in numbers. Invariant: they never decrease.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one watcher; readable after it has ended.
#[derive(Debug, Default)]
pub struct Traffic {
    events: AtomicU64,
    overflows: AtomicU64,
}

impl Traffic {
    /// Events read so far.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    /// Times events were lost so far.
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
