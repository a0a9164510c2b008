//! W3C trace context: the client's own trace, to which the span of a call belongs.
//!
//! The SDK's propagator reads it. This module refuses what the propagator would accept against the recommendation: white space, short
//! fields, and more text than the version allows. Invariants: a malformed or all-zero parent counts as absent; a trace state without a
//! valid parent is ignored. A trace state stays text until spans are built, because the parsed form is many times larger.

use std::str::FromStr;
use std::sync::Arc;

use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::propagation::TraceContextPropagator;

/// Members of a trace state. One with more counts as malformed.
const MAX_TRACESTATE_MEMBERS: usize = 32;

const TRACEPARENT: &str = "traceparent";
/// Length of a parent of the first version.
const PARENT_BYTES: usize = 55;

/// Trace parents and states as the client sent them. Only their length is checked (128 bytes for a parent, 512 for a state).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// `_meta.traceparent` of the call.
    pub traceparent: Option<String>,
    /// `_meta.tracestate` of the call.
    pub tracestate: Option<String>,
    /// The `traceparent` header of the HTTP request.
    pub header_traceparent: Option<String>,
    /// The `tracestate` header of the HTTP request.
    pub header_tracestate: Option<String>,
}

/// A span's identity, as a call carries it.
#[derive(Debug, Clone)]
pub(super) struct SpanIdentity {
    /// Everything but the trace state.
    bare: SpanContext,
    state: Option<Arc<str>>,
}

impl SpanIdentity {
    /// A new span of this process in a trace. It inherits its parent's trace state.
    pub(super) fn own(trace: TraceId, span: SpanId, flags: TraceFlags, parent: Option<&Self>) -> Self {
        let bare = SpanContext::new(trace, span, flags, false, TraceState::default());
        Self { bare, state: parent.and_then(|parent| parent.state.clone()) }
    }

    /// Everything but the trace state.
    pub(super) fn bare(&self) -> &SpanContext {
        &self.bare
    }

    /// With the trace state. A malformed one is left out.
    pub(super) fn full(&self) -> SpanContext {
        let state = self.state.as_deref().map(state).unwrap_or_default();
        let bare = &self.bare;
        SpanContext::new(bare.trace_id(), bare.span_id(), bare.trace_flags(), bare.is_remote(), state)
    }

    /// Bytes of the trace state.
    pub(super) fn held_bytes(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.len())
    }
}

fn state(text: &str) -> TraceState {
    if text.split(',').count() > MAX_TRACESTATE_MEMBERS {
        return TraceState::default();
    }
    TraceState::from_str(text).unwrap_or_default()
}

impl TraceContext {
    /// The parent of the call's span, and a span to link. The message's context is the parent and the HTTP request's is linked;
    /// without the first the second is the parent.
    pub(super) fn parent_and_link(&self) -> (Option<SpanIdentity>, Option<SpanIdentity>) {
        let message = parse(self.traceparent.as_deref(), self.tracestate.as_deref());
        let header = parse(self.header_traceparent.as_deref(), self.header_tracestate.as_deref());
        match (message, header) {
            (Some(parent), Some(link)) if link.bare.span_id() == parent.bare.span_id() => (Some(parent), None),
            (Some(parent), link) => (Some(parent), link),
            (None, parent) => (parent, None),
        }
    }
}

fn parse(parent: Option<&str>, state: Option<&str>) -> Option<SpanIdentity> {
    let parent = parent.filter(|text| is_well_formed(text))?;
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &ParentHeader(parent));
    let bare = context.span().span_context().clone();
    bare.is_valid().then(|| SpanIdentity { bare, state: state.map(Arc::from) })
}

/// The parent alone, as the propagator reads headers.
struct ParentHeader<'a>(&'a str);

impl Extractor for ParentHeader<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        (key == TRACEPARENT).then_some(self.0)
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT]
    }
}

/// Whether the text is `version-traceid-parentid-flags`, each of its full length in lower-case hexadecimal. Later versions may append
/// fields, the first one may not.
fn is_well_formed(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_field_byte = |(at, byte): (usize, &u8)| if matches!(at, 2 | 35 | 52) { *byte == b'-' } else { is_hex(byte) };
    let has_fields = bytes.len() >= PARENT_BYTES && bytes[..PARENT_BYTES].iter().enumerate().all(is_field_byte);
    has_fields && (bytes.len() == PARENT_BYTES || (!text.starts_with("00") && bytes[PARENT_BYTES] == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn read(text: &str) -> Option<SpanContext> {
        parse(Some(text), None).map(|identity| identity.full())
    }

    #[test]
    fn a_parent_is_read_as_the_recommendation_demands() {
        let sampled = read(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
        assert_eq!((sampled.trace_id().to_string(), sampled.span_id().to_string()), (TRACE.into(), SPAN.into()));
        assert!(sampled.is_sampled() && sampled.is_remote() && sampled.is_valid());
        assert!(!read(&format!("00-{TRACE}-{SPAN}-00")).unwrap().is_sampled());
        // Bits that no version has named yet change nothing.
        assert!(read(&format!("00-{TRACE}-{SPAN}-ff")).unwrap().is_sampled());
        // A later version may say more.
        assert!(read(&format!("cc-{TRACE}-{SPAN}-01-what-the-future-brings")).is_some());
        assert!(read(&format!("cc-{TRACE}-{SPAN}-01")).is_some());
    }

    #[test]
    fn a_malformed_parent_counts_as_absent() {
        let zeros = "0".repeat(32);
        for bad in [
            String::new(),
            "00".into(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{TRACE}-{SPAN}-01 "),
            format!(" 00-{TRACE}-{SPAN}-01"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("cc-{TRACE}-{SPAN}-01more"),
            format!("0x-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00_{TRACE}_{SPAN}_01"),
            format!("00-{TRACE}{SPAN}--01-"),
            format!("00-{}é-{SPAN}-01", &TRACE[..30]),
            format!("00-{TRACE}-{SPAN}-0g"),
        ] {
            assert!(read(&bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn the_context_of_the_message_is_the_parent_and_the_header_is_linked() {
        let one = format!("00-{TRACE}-{SPAN}-01");
        let two = format!("00-{TRACE}-{}-01", "1".repeat(16));
        let of = |meta: Option<&str>, header: Option<&str>| {
            let context = TraceContext {
                traceparent: meta.map(str::to_owned),
                header_traceparent: header.map(str::to_owned),
                ..TraceContext::default()
            };
            let (parent, link) = context.parent_and_link();
            let id = |found: Option<SpanIdentity>| found.map(|found| found.bare.span_id().to_string());
            (id(parent), id(link))
        };
        let meta = Some(SPAN.to_owned());
        let header = Some("1".repeat(16));
        assert_eq!(of(Some(&one), Some(&two)), (meta.clone(), header.clone()));
        assert_eq!(of(Some(&one), None), (meta.clone(), None));
        assert_eq!(of(None, Some(&two)), (header.clone(), None));
        assert_eq!(of(Some("00-x"), Some(&two)), (header, None));
        assert_eq!(of(Some(&one), Some("00-x")), (meta.clone(), None));
        assert_eq!(of(Some(&one), Some(&one)), (meta, None), "nothing is linked to itself");
        assert_eq!(of(None, None), (None, None));
    }

    #[test]
    fn a_state_needs_a_parent_and_a_malformed_one_is_left_out() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let state = |text: &str| parse(Some(&parent), Some(text)).unwrap().full().trace_state().header();
        assert_eq!(state("a=1,b=2"), "a=1,b=2");
        assert_eq!(state("no state"), "");
        let members = |count: usize| (0..count).map(|at| format!("k{at}=v")).collect::<Vec<_>>().join(",");
        let most = members(MAX_TRACESTATE_MEMBERS);
        assert_eq!(state(&most), most);
        assert_eq!(state(&members(MAX_TRACESTATE_MEMBERS + 1)), "");
        assert!(parse(None, Some("a=1")).is_none());
    }
}
