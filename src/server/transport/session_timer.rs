//! How long a session lasts, told when it is over. Invariant: told once, however the session ends.

use std::sync::Arc;

use codeyard_base::clock::Instant;
use codeyard_gateway::service::TransportKind;
use codeyard_telemetry::Metrics;

/// Tells the length of a session when it is dropped with it.
pub(super) struct SessionTimer {
    metrics: Arc<dyn Metrics>,
    transport: TransportKind,
    started: Instant,
}

impl SessionTimer {
    /// A session begins.
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
