//! A call that has ended, as the log and the span builder read it, the memory that it holds until then, and the identity that others refer to.
//!
//! Invariant: a call that has ended doesn't change.

use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;

use super::{Call, CallTrace, ChildSpan, State};
use crate::record::CallRecord;
use crate::trace_context::SpanIdentity;
use codeyard_base::clock::Instant;
use codeyard_base::ids::ServerKind;

/// The content of a call that has ended.
pub(crate) struct FinishedCall<'a> {
    pub(crate) record: &'a CallRecord,
    pub(crate) children: &'a [ChildSpan],
    /// The span of the call whose execution this one shared.
    pub(crate) shared: Option<&'a SpanIdentity>,
}

impl CallTrace {
    /// The record and the children of a call that has ended.
    pub(crate) fn read<T>(&self, read: impl FnOnce(FinishedCall<'_>) -> T) -> T {
        let state = self.0.state.lock();
        read(FinishedCall { record: &state.record, children: &state.children, shared: state.shared.as_ref() })
    }

    /// About how many bytes it holds while it is queued. Takes no lock: late children are queued while the call's is held.
    pub(crate) fn held_bytes(&self) -> usize {
        self.0.held.load(Relaxed)
    }

    pub(super) fn measure_bytes(&self, state: &State) -> usize {
        let record = &state.record;
        let children = state.children.capacity();
        // A call's own span shares its trace state with the parent.
        let identities = [self.0.parent.as_ref(), self.0.link.as_ref(), state.shared.as_ref()];
        size_of::<Call>()
            + record.request_id.capacity()
            + record.session.as_ref().map_or(0, String::capacity)
            + record.servers.capacity() * size_of::<ServerKind>()
            + children * size_of::<ChildSpan>()
            + identities.into_iter().flatten().map(SpanIdentity::held_bytes).sum::<usize>()
    }

    /// The identity of its span, if spans are exported.
    pub(crate) fn span(&self) -> Option<&SpanIdentity> {
        self.0.span.as_ref()
    }

    /// Remembers whether its span is sampled, for work that outlives it.
    pub(crate) fn keep_decision(&self) {
        if let Some(span) = &self.0.span {
            self.0.telemetry.keep_decision(span.bare());
        }
    }

    pub(crate) fn parent(&self) -> Option<&SpanIdentity> {
        self.0.parent.as_ref()
    }

    /// The span of the HTTP request, if it isn't the parent.
    pub(crate) fn link(&self) -> Option<&SpanIdentity> {
        self.0.link.as_ref()
    }

    /// The wall time of an instant of the call.
    pub(crate) fn wall(&self, at: Instant) -> SystemTime {
        self.0.wall + at.saturating_duration_since(self.0.started)
    }

    /// The instant at which it arrived.
    pub(crate) fn started(&self) -> Instant {
        self.0.started
    }
}
