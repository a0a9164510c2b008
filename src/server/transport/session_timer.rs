//! Records the duration of a session in the metrics. Invariant: it is recorded once, however the session ends.

use std::sync::Arc;

use codeyard_base::clock::Instant;
use codeyard_gateway::service::TransportKind;
use codeyard_telemetry::Metrics;

/// Records the duration of the session that owns it, on drop.
pub(super) struct SessionTimer {
    metrics: Arc<dyn Metrics>,
    transport: TransportKind,
    started: Instant,
}

impl SessionTimer {
    /// Starts with the session.
    pub(super) fn start(metrics: Arc<dyn Metrics>, transport: TransportKind) -> Self {
        Self { metrics, transport, started: Instant::now() }
    }
}

impl Drop for SessionTimer {
    fn drop(&mut self) {
        self.metrics.session(self.transport, self.started.elapsed());
    }
}

impl std::fmt::Debug for SessionTimer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionTimer").field("transport", &self.transport).finish_non_exhaustive()
    }
}
