//! A call that has ended, as those who tell of it see it, and what it weighs while it waits to be told.
//!
//! Invariant: what is read here no longer changes.

use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;

use super::{Call, CallTrace, ChildSpan, State};
use crate::base::clock::Instant;
use crate::base::ids::ServerKind;
use crate::telemetry::record::CallRecord;
use crate::telemetry::trace_context::SpanIdentity;

/// A finished call, as its consumers see it.
pub(in crate::telemetry) struct Finished<'a> {
    pub(in crate::telemetry) record: &'a CallRecord,
    pub(in crate::telemetry) children: &'a [ChildSpan],
    /// The span of the call whose execution this one has shared.
    pub(in crate::telemetry) shared: Option<&'a SpanIdentity>,
}

impl CallTrace {
    /// The record and the children of a call that has ended.
    pub(in crate::telemetry) fn read<T>(&self, read: impl FnOnce(Finished<'_>) -> T) -> T {
        let state = self.0.state.lock();
        read(Finished { record: &state.record, children: &state.children, shared: state.shared.as_ref() })
    }

    /// About how many bytes it holds while it waits to be told. Takes no lock: late children are told under the call's.
    pub(in crate::telemetry) fn held_bytes(&self) -> usize {
        self.0.held.load(Relaxed)
    }

    pub(super) fn weighed(&self, state: &State) -> usize {
        let (record, children) = (&state.record, state.children.capacity());
        // A call's own span has its trace state from the parent.
        let identities = [self.0.parent.as_ref(), self.0.link.as_ref(), state.shared.as_ref()];
        size_of::<Call>()
            + record.request_id.capacity()
            + record.session.as_ref().map_or(0, String::capacity)
            + record.servers.capacity() * size_of::<ServerKind>()
            + children * size_of::<ChildSpan>()
            + identities.into_iter().flatten().map(SpanIdentity::held_bytes).sum::<usize>()
    }

    /// The identity of its span, if spans are made.
    pub(in crate::telemetry) fn span(&self) -> Option<&SpanIdentity> {
        self.0.span.as_ref()
    }

    /// The parent of its span.
    pub(in crate::telemetry) fn parent(&self) -> Option<&SpanIdentity> {
        self.0.parent.as_ref()
    }

    /// The span of the HTTP request, if it isn't the parent.
    pub(in crate::telemetry) fn link(&self) -> Option<&SpanIdentity> {
        self.0.link.as_ref()
    }

    /// The wall time of an instant of the call.
    pub(in crate::telemetry) fn wall(&self, at: Instant) -> SystemTime {
        self.0.wall + at.saturating_duration_since(self.0.started)
    }

    /// When it began.
    pub(in crate::telemetry) fn started(&self) -> Instant {
        self.0.started
    }
}
