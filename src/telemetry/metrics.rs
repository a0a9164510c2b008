//! Counters behind a facade, and the simple implementation that the doctor and tests read.
//!
//! Invariant: labels are names of ours (tools, outcomes, reasons), so their number is bounded by the program, not by
//! its callers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::record::{CallRecord, Outcome, RpcRecord};

/// What is counted.
pub trait Metrics: Send + Sync {
    /// A call ended.
    fn call(&self, record: &CallRecord);
    /// A request to a language server ended; a request that several calls share is told once.
    fn rpc(&self, _: &RpcRecord) {}
    /// A language server was started anew.
    fn restart(&self, reason: &'static str);
    /// A retained result answered.
    fn retained_hit(&self);
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

/// Counts in memory.
#[derive(Debug, Default)]
pub struct Counts {
    calls: Mutex<BTreeMap<(Arc<str>, Outcome), u64>>,
    restarts: Mutex<BTreeMap<&'static str, u64>>,
    retained_hits: AtomicU64,
    cancels: AtomicU64,
}

impl Metrics for NoMetrics {
    fn call(&self, _: &CallRecord) {}
    fn restart(&self, _: &'static str) {}
    fn retained_hit(&self) {}
}

impl Metrics for Counts {
    fn call(&self, record: &CallRecord) {
        *self.calls.lock().entry((record.tool.clone(), record.outcome)).or_default() += 1;
        if record.outcome == Outcome::Cancelled {
            self.cancels.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn restart(&self, reason: &'static str) {
        *self.restarts.lock().entry(reason).or_default() += 1;
    }

    fn retained_hit(&self) {
        self.retained_hits.fetch_add(1, Ordering::Relaxed);
    }
}

impl Counts {
    /// Calls so far by tool and outcome.
    pub fn calls(&self) -> BTreeMap<(Arc<str>, Outcome), u64> {
        self.calls.lock().clone()
    }

    /// Restarts so far by reason.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        self.restarts.lock().clone()
    }

    /// Answers from retained results so far.
    pub fn retained_hits(&self) -> u64 {
        self.retained_hits.load(Ordering::Relaxed)
    }

    /// Cancelled calls so far.
    pub fn cancels(&self) -> u64 {
        self.cancels.load(Ordering::Relaxed)
    }
}
