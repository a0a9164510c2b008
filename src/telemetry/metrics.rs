//! Counters behind a facade, and the simple implementation that the doctor and tests read.
//!
//! Invariant: labels are names of ours (tools, outcomes, reasons), so their number is bounded by the program, not by
//! its callers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::call_span::Outcome;

/// What is counted.
pub trait Metrics: Send + Sync {
    /// A call of `tool` ended.
    fn call(&self, tool: &'static str, outcome: Outcome);
    /// A language server was started anew.
    fn restart(&self, reason: &'static str);
    /// A retained result answered.
    fn retained_hit(&self);
    /// A client took a call back.
    fn cancel(&self);
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

/// Counts in memory.
#[derive(Debug, Default)]
pub struct Counts {
    calls: Mutex<BTreeMap<(&'static str, Outcome), u64>>,
    restarts: Mutex<BTreeMap<&'static str, u64>>,
    retained_hits: AtomicU64,
    cancels: AtomicU64,
}

impl Metrics for NoMetrics {
    fn call(&self, _: &'static str, _: Outcome) {}
    fn restart(&self, _: &'static str) {}
    fn retained_hit(&self) {}
    fn cancel(&self) {}
}

impl Metrics for Counts {
    fn call(&self, tool: &'static str, outcome: Outcome) {
        *self.calls.lock().entry((tool, outcome)).or_default() += 1;
    }

    fn restart(&self, reason: &'static str) {
        *self.restarts.lock().entry(reason).or_default() += 1;
    }

    fn retained_hit(&self) {
        self.retained_hits.fetch_add(1, Ordering::Relaxed);
    }

    fn cancel(&self) {
        self.cancels.fetch_add(1, Ordering::Relaxed);
    }
}

impl Counts {
    /// Calls so far by tool and outcome.
    pub fn calls(&self) -> BTreeMap<(&'static str, Outcome), u64> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::error::ErrorCode;

    #[test]
    fn counts_by_label() {
        let counts = Counts::default();
        let failed = Outcome::Failed(ErrorCode::NotFound);
        counts.call("a", Outcome::Ok);
        counts.call("a", Outcome::Ok);
        counts.call("a", failed);
        counts.restart("crash");
        counts.retained_hit();
        counts.cancel();
        assert_eq!(counts.calls(), BTreeMap::from([(("a", Outcome::Ok), 2), (("a", failed), 1)]));
        assert_eq!(counts.restarts(), BTreeMap::from([("crash", 1)]));
        assert_eq!((counts.retained_hits(), counts.cancels()), (1, 1));
    }
}
