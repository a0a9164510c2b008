//! What the export lost, and what it delivered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{CallLog, Observers, names};

/// Counts of exported and lost telemetry.
#[derive(Debug, Default)]
pub struct Losses {
    pub(super) spans: AtomicU64,
    pub(super) exported: AtomicU64,
    pub(super) metric_exports_failed: AtomicU64,
}

impl Losses {
    /// Spans that were dropped: their queue was full, their call had too many, or their export failed.
    pub fn spans_dropped(&self) -> u64 {
        self.spans.load(Relaxed)
    }

    /// Spans that a receiver accepted.
    pub fn spans_exported(&self) -> u64 {
        self.exported.load(Relaxed)
    }

    /// Exports of metrics that failed.
    pub fn metric_exports_failed(&self) -> u64 {
        self.metric_exports_failed.load(Relaxed)
    }

    /// Registers the losses, with the lines that `log` dropped.
    pub fn register_with(self: &Arc<Self>, observers: &Observers<'_>, log: Option<Arc<dyn CallLog>>) {
        let losses = self.clone();
        observers.observe(&names::instruments::TELEMETRY_DROPPED, move |sink| {
            sink.record(losses.spans_dropped(), &["traces"]);
            sink.record(losses.metric_exports_failed(), &["metrics"]);
            sink.record(log.as_ref().map_or(0, |log| log.dropped()), &["logs"]);
        });
    }
}
