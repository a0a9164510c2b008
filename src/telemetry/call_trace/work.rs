//! Timers of a call's work: waits, requests to language servers, building the answer.
//!
//! Each is a value; dropping it ends the measurement. Invariant: a piece of work is recorded once, however it ends.

use std::sync::Arc;

use super::{CallTrace, ChildSpan, WorkKind};
use crate::Metrics;
use crate::record::{PermissionOutcome, RpcOutcome, RpcRecord};
use codeyard_base::clock::Instant;
use codeyard_base::ids::ServerKind;
use codeyard_model::error::CallPhase;

/// Measures a piece of a call's work until it is dropped.
#[must_use = "dropping it ends the measurement"]
pub struct WorkTimer {
    pub(super) trace: CallTrace,
    pub(super) work: WorkKind,
    pub(super) from: Instant,
}

/// A request to a language server in flight. Dropped, it counts as cancelled.
#[must_use = "dropping it ends the request"]
pub struct LspCall {
    origin: RequestOrigin,
    method: &'static str,
    server: ServerKind,
    outcome: RpcOutcome,
    from: Instant,
}

/// Measures the wait for an execution that another call started, until it is dropped.
#[must_use = "dropping it ends the wait"]
pub struct SharedWait {
    pub(super) trace: CallTrace,
    pub(super) from: Instant,
}

/// Measures the wait for a person's answer. Dropped, it counts as withdrawn.
#[must_use = "dropping it ends the wait"]
pub struct PermissionWait {
    trace: CallTrace,
    outcome: PermissionOutcome,
    from: Instant,
}

/// What causes a request to a language server.
#[derive(Clone)]
pub enum RequestOrigin {
    /// A call of a client.
    Call(CallTrace),
    /// Background work: the request is only counted.
    Background(Arc<dyn Metrics>),
}

impl RequestOrigin {
    /// Starts the measurement of a request to a language server.
    pub fn lsp(&self, method: &'static str, server: &ServerKind) -> LspCall {
        let from = Instant::now();
        if let Self::Call(call) = self {
            let mut state = call.0.state.lock();
            if state.in_flight == 0 {
                state.in_flight_since = from;
            }
            state.in_flight += 1;
        }
        LspCall { origin: self.clone(), method, server: server.clone(), outcome: RpcOutcome::Cancelled, from }
    }

    /// Starts the measurement of building the canonical answer.
    pub fn canonicalise(&self) -> Option<WorkTimer> {
        match self {
            Self::Call(call) => Some(call.timed(WorkKind::Canonicalise)),
            Self::Background(_) => None,
        }
    }

    /// Records how many locations of the answer lie outside the roots and were dropped.
    pub fn record_outside(&self, outside: usize) {
        if let Self::Call(call) = self {
            call.update(|record| record.outside = outside);
        }
    }

    /// Records that a language server takes part in the answer.
    pub fn record_server(&self, server: &ServerKind) {
        if let Self::Call(call) = self {
            call.update(|record| {
                if !record.servers.contains(server) {
                    record.servers.push(server.clone());
                }
            });
        }
    }
}

impl Drop for WorkTimer {
    fn drop(&mut self) {
        let to = Instant::now();
        let mut state = self.trace.0.state.lock();
        if !state.ended {
            match self.work {
                WorkKind::Wait(phase) => {
                    state.record.wait += to - self.from;
                    state.record.waited_for.get_or_insert(phase);
                }
                WorkKind::IndexWait => {
                    state.record.wait += to - self.from;
                    state.record.waited_for.get_or_insert(CallPhase::Indexing);
                }
                WorkKind::Index(_) => state.record.index += to - self.from,
                WorkKind::Canonicalise => state.record.canonicalise += to - self.from,
                WorkKind::Queue | WorkKind::Person | WorkKind::Lsp { .. } => {}
            }
        }
        self.trace.add_child(&mut state, ChildSpan { work: self.work.clone(), from: self.from, to });
    }
}

impl PermissionWait {
    pub(super) fn begin(trace: CallTrace) -> Self {
        let mut state = trace.0.state.lock();
        if !state.ended && !state.is_admitted && !std::mem::replace(&mut state.waits_for_person, true) {
            trace.0.telemetry.0.gauges.leave_queue();
        }
        drop(state);
        Self { trace, outcome: PermissionOutcome::Withdrawn, from: Instant::now() }
    }

    /// Ends the wait.
    pub fn ended(mut self, outcome: PermissionOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for PermissionWait {
    fn drop(&mut self) {
        let to = Instant::now();
        let mut state = self.trace.0.state.lock();
        if !state.ended {
            if std::mem::take(&mut state.waits_for_person) {
                self.trace.0.telemetry.0.gauges.enter_queue();
            }
            state.record.permission = Some(self.outcome);
            state.record.asked += to - self.from;
        }
        self.trace.add_child(&mut state, ChildSpan { work: WorkKind::Person, from: self.from, to });
    }
}

impl LspCall {
    /// Ends the request.
    pub fn end(mut self, outcome: RpcOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for LspCall {
    fn drop(&mut self) {
        let to = Instant::now();
        let method = self.method;
        let server = self.server.clone();
        let outcome = self.outcome;
        let rpc = RpcRecord { method, server: server.clone(), outcome, duration: to - self.from };
        let call = match &self.origin {
            RequestOrigin::Background(metrics) => return metrics.rpc(&rpc),
            RequestOrigin::Call(call) => call,
        };
        call.0.telemetry.metrics().rpc(&rpc);
        let mut state = call.0.state.lock();
        state.in_flight -= 1;
        if state.in_flight == 0 && !state.ended {
            let since = state.in_flight_since;
            state.record.server += to - since;
        }
        let child = ChildSpan { work: WorkKind::Lsp { method, server, outcome }, from: self.from, to };
        call.add_child(&mut state, child);
    }
}

impl Drop for SharedWait {
    fn drop(&mut self) {
        let waited = self.from.elapsed();
        self.trace.update(|record| record.server += waited);
    }
}
