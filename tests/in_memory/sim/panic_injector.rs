//! Metrics that count as the service does and panic in the workspace's actor on demand, the only code there that a test can replace.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use codeyard_telemetry::{CallRecord, Counts, Metrics};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Metrics that panic on demand.
#[derive(Default)]
pub(crate) struct PanicInjector {
    pub counts: Counts,
    pub armed: AtomicBool,
    /// Times at which workspaces panicked.
    pub panics: Mutex<Vec<Instant>>,
    /// Kinds whose servers were replaced because the configuration changed, with the times.
    pub replaced: Mutex<Vec<(String, Instant)>>,
}

impl Metrics for PanicInjector {
    fn call(&self, record: &CallRecord) {
        self.counts.call(record);
    }

    fn restart(&self, kind: &str, reason: &'static str) {
        self.counts.restart(kind, reason);
        if reason == "configuration_changed" {
            self.replaced.lock().push((kind.to_owned(), Instant::now()));
        }
    }

    fn retained_hit(&self) {
        if self.armed.swap(false, SeqCst) {
            self.panics.lock().push(Instant::now());
            panic!("meant to panic");
        }
        self.counts.retained_hit();
    }
}

impl PanicInjector {
    /// Number of calls counted as ended.
    pub(crate) fn ended(&self) -> u64 {
        self.counts.calls().values().sum()
    }
}
