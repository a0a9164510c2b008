//! What all workspaces share for their runs: the store of runs, the turns, and the telemetry.

use std::sync::Arc;
use std::time::Duration;

use codeyard_base::clock::{self, Instant};
use codeyard_runs::run_host::RunHost;
use codeyard_telemetry::Telemetry;
use parking_lot::Mutex;

use super::queue::RunQueue;
use crate::limits::OLD_WORK_PASS_MS;

/// The limits of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Runs that work at once.
    pub active: usize,
    /// Runs of one workspace that work at once.
    pub active_per_workspace: usize,
    pub waiting_per_workspace: usize,
    /// How long the working copies of a run are kept after its end.
    pub keep_work: Duration,
}

/// The runs of a process.
pub struct RunService {
    host: RunHost,
    queue: Arc<RunQueue>,
    telemetry: Telemetry,
    keep_work: Duration,
    /// When old working copies were looked for.
    looked: Mutex<Option<Instant>>,
}

impl RunService {
    /// The runs of `host`, with these limits.
    pub fn new(host: RunHost, limits: RunLimits, telemetry: Telemetry) -> Self {
        let queue = RunQueue::new(limits.active, limits.active_per_workspace, limits.waiting_per_workspace);
        Self { host, queue: Arc::new(queue), telemetry, keep_work: limits.keep_work, looked: Mutex::new(None) }
    }

    /// Removes the working copies of runs that ended long ago, at most once in [`OLD_WORK_PASS_MS`]. Blocks.
    pub(crate) fn remove_old_work(&self) {
        let now = Instant::now();
        let mut looked = self.looked.lock();
        if looked.is_some_and(|looked| now.saturating_duration_since(looked) < Duration::from_millis(OLD_WORK_PASS_MS))
        {
            return;
        }
        *looked = Some(now);
        drop(looked);
        match self.host.remove_old_work(self.keep_work.as_secs(), clock::wall_s()) {
            Ok(0) => {}
            Ok(runs) => tracing::info!(runs, "the working copies of runs that ended long ago were removed"),
            Err(error) => tracing::warn!(%error, "the working copies of old runs can't be removed"),
        }
    }

    /// The store of runs. Its methods block.
    pub fn host(&self) -> &RunHost {
        &self.host
    }

    /// The turns.
    pub fn queue(&self) -> &Arc<RunQueue> {
        &self.queue
    }

    /// A new trace, for work that no call has asked for.
    pub fn new_trace(&self) -> String {
        self.telemetry.new_trace()
    }

    pub(super) fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }
}
