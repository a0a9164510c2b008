//! W3C trace context: what a client says of its own trace.
//!
//! Invariants: what is malformed, or all zero, is as if it hadn't been given; a trace state without a valid parent is
//! nothing. A trace state stays text until spans are made, as it is many times larger once it is taken apart.

use std::str::FromStr;
use std::sync::Arc;

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

use crate::limits;

/// Trace parents and states as the client gave them, unchecked but for their length.
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
    /// All of it but the trace state.
    bare: SpanContext,
    state: Option<Arc<str>>,
}

impl SpanIdentity {
    /// A span of ours in this trace; it takes its parent's trace state on.
    pub(super) fn own(trace: TraceId, span: SpanId, flags: TraceFlags, parent: Option<&Self>) -> Self {
        let bare = SpanContext::new(trace, span, flags, false, TraceState::default());
        Self { bare, state: parent.and_then(|parent| parent.state.clone()) }
    }

    /// All of it but the trace state.
    pub(super) fn bare(&self) -> &SpanContext {
        &self.bare
    }

    /// All of it. A trace state that is malformed is left out.
    pub(super) fn whole(&self) -> SpanContext {
        let state = self.state.as_deref().map(state).unwrap_or_default();
        let bare = &self.bare;
        SpanContext::new(bare.trace_id(), bare.span_id(), bare.trace_flags(), bare.is_remote(), state)
    }

    /// Bytes that it holds outside of itself.
    pub(super) fn held_bytes(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.len())
    }
}

fn state(text: &str) -> TraceState {
    if text.split(',').count() > limits::MAX_TRACESTATE_MEMBERS {
        return TraceState::default();
    }
    TraceState::from_str(text).unwrap_or_default()
}

impl TraceContext {
    /// The parent of the call's span, and a span to link: the message's context is the parent and the HTTP request's is
    /// linked; without the first the second is the parent.
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
    let (trace, span, flags) = fields(parent?)?;
    let bare = SpanContext::new(trace, span, flags, true, TraceState::default());
    Some(SpanIdentity { bare, state: state.map(Arc::from) })
}

/// `version-traceid-parentid-flags`. Later versions may append fields, the first one may not.
fn fields(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let bytes = text.as_bytes();
    let dashes = [2, 35, 52];
    if bytes.len() < 55 || !dashes.iter().all(|at| bytes[*at] == b'-') {
        return None;
    }
    let version = hex(&bytes[..2])?;
    match version {
        0xff => return None,
        0 if bytes.len() != 55 => return None,
        _ if bytes.len() > 55 && bytes[55] != b'-' => return None,
        _ => {}
    }
    let trace = (u128::from(hex(&bytes[3..19])?) << 64) | u128::from(hex(&bytes[19..35])?);
    let span = hex(&bytes[36..52])?;
    let flags = u8::try_from(hex(&bytes[53..55])?).ok()?;
    let sampled = TraceFlags::new(flags) & TraceFlags::SAMPLED;
    (trace != 0 && span != 0).then(|| (TraceId::from(trace), SpanId::from(span), sampled))
}

/// The number behind at most 16 lower-case hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn read(text: &str) -> Option<SpanContext> {
        parse(Some(text), None).map(|identity| identity.whole())
    }

    #[test]
    fn a_parent_is_read_as_the_recommendation_says() {
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
    fn what_is_malformed_counts_as_none() {
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
    fn the_message_comes_before_the_header_which_is_linked() {
        let (one, two) = (format!("00-{TRACE}-{SPAN}-01"), format!("00-{TRACE}-{}-01", "1".repeat(16)));
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
        let (meta, header) = (Some(SPAN.to_owned()), Some("1".repeat(16)));
        assert_eq!(of(Some(&one), Some(&two)), (meta.clone(), header.clone()));
        assert_eq!(of(Some(&one), None), (meta.clone(), None));
        assert_eq!(of(None, Some(&two)), (header.clone(), None));
        assert_eq!(of(Some("00-x"), Some(&two)), (header, None));
        assert_eq!(of(Some(&one), Some("00-x")), (meta.clone(), None));
        assert_eq!(of(Some(&one), Some(&one)), (meta, None), "nothing is linked to itself");
        assert_eq!(of(None, None), (None, None));
    }

    #[test]
    fn a_state_needs_a_parent_and_a_bad_one_is_left_out() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let state = |text: &str| parse(Some(&parent), Some(text)).unwrap().whole().trace_state().header();
        assert_eq!(state("a=1,b=2"), "a=1,b=2");
        assert_eq!(state("no state"), "");
        let members = |count: usize| (0..count).map(|at| format!("k{at}=v")).collect::<Vec<_>>().join(",");
        let most = members(limits::MAX_TRACESTATE_MEMBERS);
        assert_eq!(state(&most), most);
        assert_eq!(state(&members(limits::MAX_TRACESTATE_MEMBERS + 1)), "");
        assert!(parse(None, Some("a=1")).is_none());
    }
}
