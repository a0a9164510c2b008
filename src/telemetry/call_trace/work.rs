//! The work below a call that is measured: waits, requests to language servers, the making of the answer.
//!
//! Each piece is a value whose drop ends it. Invariant: a piece is told once, however it ends.

use std::sync::Arc;

use super::{CallTrace, ChildSpan, Work};
use crate::Metrics;
use crate::record::{PermissionOutcome, RpcOutcome, RpcRecord};
use codeyard_base::clock::Instant;
use codeyard_base::ids::ServerKind;
use codeyard_model::error::CallPhase;

/// Measures a piece of a call's work until it is dropped.
#[must_use = "dropping it ends the measurement"]
pub struct Timed {
    pub(super) trace: CallTrace,
    pub(super) work: Work,
    pub(super) from: Instant,
}

/// A request to a language server that is under way. Dropped, it counts as cancelled.
#[must_use = "dropping it ends the request"]
pub struct LspCall {
    asker: Asker,
    method: &'static str,
    server: ServerKind,
    outcome: RpcOutcome,
    from: Instant,
}

/// Waiting for an execution that another call has started, until it is dropped.
#[must_use = "dropping it ends the wait"]
pub struct SharedWait {
    pub(super) trace: CallTrace,
    pub(super) from: Instant,
}

/// Waiting for a person's answer. Dropped, it counts as withdrawn.
#[must_use = "dropping it ends the wait"]
pub struct PersonWait {
    trace: CallTrace,
    outcome: PermissionOutcome,
    from: Instant,
}

/// For whom a language server is asked.
#[derive(Clone)]
pub enum Asker {
    /// For a call.
    Call(CallTrace),
    /// For nobody in particular: only counted.
    Nobody(Arc<dyn Metrics>),
}

impl Asker {
    /// A request to a language server goes out.
    pub fn lsp(&self, method: &'static str, server: &ServerKind) -> LspCall {
        let from = Instant::now();
        if let Self::Call(call) = self {
            let mut state = call.0.state.lock();
            if state.asking == 0 {
                state.asking_since = from;
            }
            state.asking += 1;
        }
        LspCall { asker: self.clone(), method, server: server.clone(), outcome: RpcOutcome::Cancelled, from }
    }

    /// Begins to make the canonical answer.
    pub fn canonicalise(&self) -> Option<Timed> {
        match self {
            Self::Call(call) => Some(call.timed(Work::Canonicalise)),
            Self::Nobody(_) => None,
        }
    }

    /// So many places of the answer lie outside the roots and are left out.
    pub fn left_out(&self, outside: usize) {
        if let Self::Call(call) = self {
            call.note(|record| record.outside = outside);
        }
    }

    /// A language server takes part in the answer.
    pub fn takes_part(&self, server: &ServerKind) {
        if let Self::Call(call) = self {
            call.note(|record| {
                if !record.servers.contains(server) {
                    record.servers.push(server.clone());
                }
            });
        }
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        let to = Instant::now();
        let mut state = self.trace.0.state.lock();
        if !state.ended {
            match self.work {
                Work::Wait(phase) => {
                    state.record.wait += to - self.from;
                    state.record.waited_for.get_or_insert(phase);
                }
                Work::IndexWait => {
                    state.record.wait += to - self.from;
                    state.record.waited_for.get_or_insert(CallPhase::Indexing);
                }
                Work::Index => state.record.index += to - self.from,
                Work::Canonicalise => state.record.canonicalise += to - self.from,
                Work::Queue | Work::Person | Work::Lsp { .. } => {}
            }
        }
        self.trace.keep(&mut state, ChildSpan { work: self.work.clone(), from: self.from, to });
    }
}

impl PersonWait {
    pub(super) fn begin(trace: CallTrace) -> Self {
        let mut state = trace.0.state.lock();
        if !state.ended && !state.taken_up && !std::mem::replace(&mut state.with_person, true) {
            trace.0.telemetry.0.flow.taken_up();
        }
        drop(state);
        Self { trace, outcome: PermissionOutcome::Withdrawn, from: Instant::now() }
    }

    /// Ends it.
    pub fn ended(mut self, outcome: PermissionOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for PersonWait {
    fn drop(&mut self) {
        let to = Instant::now();
        let mut state = self.trace.0.state.lock();
        if !state.ended {
            if std::mem::take(&mut state.with_person) {
                self.trace.0.telemetry.0.flow.waits_again();
            }
            state.record.permission = Some(self.outcome);
            state.record.asked += to - self.from;
        }
        self.trace.keep(&mut state, ChildSpan { work: Work::Person, from: self.from, to });
    }
}

impl LspCall {
    /// Ends it.
    pub fn end(mut self, outcome: RpcOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for LspCall {
    fn drop(&mut self) {
        let to = Instant::now();
        let (method, server, outcome) = (self.method, self.server.clone(), self.outcome);
        let rpc = RpcRecord { method, server: server.clone(), outcome, duration: to - self.from };
        let call = match &self.asker {
            Asker::Nobody(metrics) => return metrics.rpc(&rpc),
            Asker::Call(call) => call,
        };
        call.0.telemetry.metrics().rpc(&rpc);
        let mut state = call.0.state.lock();
        state.asking -= 1;
        if state.asking == 0 && !state.ended {
            let since = state.asking_since;
            state.record.server += to - since;
        }
        let child = ChildSpan { work: Work::Lsp { method, server, outcome }, from: self.from, to };
        call.keep(&mut state, child);
    }
}

impl Drop for SharedWait {
    fn drop(&mut self) {
        let waited = self.from.elapsed();
        self.trace.note(|record| record.server += waited);
    }
}
