//! What all workspaces share for their runs: the store of runs, the turns, and the telemetry.

use std::sync::Arc;

use codeyard_runs::run_host::RunHost;
use codeyard_telemetry::Telemetry;

use super::queue::RunQueue;

/// The limits of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Runs that work at once.
    pub active: usize,
    /// Runs of one workspace that work at once.
    pub active_per_workspace: usize,
    /// Runs of one workspace that wait.
    pub waiting_per_workspace: usize,
}

/// The runs of a process.
pub struct RunService {
    host: RunHost,
    queue: Arc<RunQueue>,
    telemetry: Telemetry,
}

impl RunService {
    /// The runs of `host`, with these limits.
    pub fn new(host: RunHost, limits: RunLimits, telemetry: Telemetry) -> Self {
        let queue = RunQueue::new(limits.active, limits.active_per_workspace, limits.waiting_per_workspace);
        Self { host, queue: Arc::new(queue), telemetry }
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

    /// The telemetry.
    pub(super) fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }
}
