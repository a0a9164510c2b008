//! Spans of work that outlives its call: they belong to the call's trace, and are exported if and only if the call is.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use codeyard_access::Principal;
use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{
    CallReply, CallStart, NoMetrics, OpenCall, Pipeline, SpanPart, Telemetry, TraceContext, TransportKind, WorkSpan,
    WorkSpanStart,
};
use opentelemetry_sdk::trace::SpanData;

use crate::telemetry::captured::Caught;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT: &str = "1111111111111111";

struct Exported {
    telemetry: Telemetry,
    pipeline: Pipeline,
    captured: Caught,
}

impl Exported {
    fn with(sampler: &str) -> Self {
        let captured = Caught::default();
        let find = |name: &str| (name == "OTEL_TRACES_SAMPLER").then(|| sampler.to_owned());
        let (settings, _) = Settings::from_variables(find);
        let (pipeline, warnings) = Pipeline::start_with(&settings, captured.clone(), |builder| builder);
        assert_eq!(warnings, Vec::<String>::new());
        let telemetry = Telemetry::new(Arc::new(NoMetrics)).with_spans(&pipeline);
        Self { telemetry, pipeline, captured }
    }

    /// A call whose client has sent these flags, or no trace.
    fn call(&self, flags: Option<&str>) -> OpenCall {
        let traceparent = flags.map(|flags| format!("00-{TRACE}-{CLIENT}-{flags}"));
        let start = CallStart {
            tool: Some("launch_validate".into()),
            asked_tool: "hover",
            catalog: "launch",
            workspace: None,
            principal: &Principal::local(),
            peer: None,
            arguments: None,
            transport: TransportKind::Pipe,
            request_id: "1",
            session: None,
            protocol_version: "",
            context: &TraceContext { traceparent, ..TraceContext::default() },
        };
        OpenCall::begin(&self.telemetry, start)
    }

    fn begin(&self, part: SpanPart<'_>, [trace_id, parent_span_id]: [&str; 2]) -> WorkSpan {
        self.telemetry.begin_work(&WorkSpanStart { part, run: "r", trace_id, parent_span_id })
    }

    /// An item with a gate and a process in the gate, below `parent`. Their spans, the uppermost first.
    fn work(&self, parent: [&str; 2]) -> [String; 2] {
        let item = self.begin(SpanPart::Item("Validator"), parent);
        assert_eq!(item.trace_id(), parent[0]);
        let gate = self.begin(SpanPart::Gate("SiteBuild"), [&item.trace_id(), &item.span_id()]);
        let trace = gate.trace_id();
        let spans = [item.span_id(), gate.span_id()];
        let hugo =
            WorkSpanStart { part: SpanPart::Process("hugo"), run: "r", trace_id: &trace, parent_span_id: &spans[1] };
        self.telemetry.passed_work(&hugo, SystemTime::now(), Duration::from_millis(3), None);
        self.telemetry.end_work(gate, None);
        self.telemetry.end_work(item, Some("CANCELLED"));
        spans
    }

    /// All spans but that of the wait for the workspace, which no call here has.
    fn spans(self) -> Vec<SpanData> {
        self.pipeline.shutdown();
        assert_eq!(self.pipeline.losses().spans_dropped(), 0);
        self.captured.spans().into_iter().filter(|span| span.name != "queue").collect()
    }
}

#[test]
fn work_is_exported_with_its_call_and_not_without_it() {
    for (sampler, flags, is_sampled) in [
        ("parentbased_always_on", Some("01"), true),
        ("parentbased_always_on", Some("00"), false),
        ("parentbased_always_on", None, true),
        ("parentbased_always_off", Some("01"), true),
        ("parentbased_always_off", Some("00"), false),
        ("parentbased_always_off", None, false),
        ("parentbased_traceidratio", Some("00"), false),
        ("always_on", Some("00"), true),
        ("always_off", Some("01"), false),
    ] {
        let exported = Exported::with(sampler);
        let call = exported.call(flags);
        let (trace, span) = call.trace().identity();
        assert!(flags.is_none() || trace == TRACE);
        let first = exported.work([&trace, &span]);
        // The run goes on when the call has ended.
        assert!(call.end(Ok(()), CallReply::default()));
        let second = exported.work([&trace, &span]);
        let spans = exported.spans();
        let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
        assert_eq!(spans.len(), if is_sampled { 7 } else { 0 }, "{sampler} {flags:?}: {spans:?}");
        if !is_sampled {
            continue;
        }
        assert!(spans.iter().all(|span| span.span_context.trace_id().to_string() == trace));
        assert!(spans.iter().all(|span| span.span_context.is_sampled()));
        let parents = |name: &str| named(name).iter().map(|span| span.parent_span_id.to_string()).collect::<Vec<_>>();
        assert_eq!(named("tools/call launch_validate")[0].span_context.span_id().to_string(), span);
        assert_eq!(parents("work item Validator"), [span.clone(), span]);
        assert_eq!(parents("gate SiteBuild"), [first[0].clone(), second[0].clone()]);
        assert_eq!(parents("process hugo"), [first[1].clone(), second[1].clone()]);
    }
}

#[test]
fn calls_of_one_trace_decide_for_their_own_work() {
    let exported = Exported::with("parentbased_always_on");
    let sampled = exported.call(Some("01"));
    let unsampled = exported.call(Some("00"));
    let [(trace, of_sampled), (_, of_unsampled)] = [&sampled, &unsampled].map(|call| call.trace().identity());
    // Many other calls look at the run while it works.
    for _ in 0..20 {
        (0..5_000).for_each(|_| drop(exported.call(Some("00")).trace().identity()));
        exported.work([&trace, &of_unsampled]);
    }
    let kept = exported.work([&trace, &of_sampled]);
    drop(unsampled);
    drop(sampled);
    let spans = exported.spans();
    let work: Vec<String> = spans
        .iter()
        .filter(|span| span.name != "tools/call launch_validate")
        .map(|span| span.span_context.span_id().to_string())
        .collect();
    assert_eq!((work.len(), kept.iter().all(|span| work.contains(span))), (3, true));
}

#[test]
fn the_sampler_decides_about_work_of_a_call_that_is_not_known_any_more() {
    for (sampler, exported_spans) in [("parentbased_always_on", 3), ("parentbased_always_off", 0), ("always_on", 3)] {
        let exported = Exported::with(sampler);
        let [item, _] = exported.work([TRACE, CLIENT]);
        let spans = exported.spans();
        assert_eq!(spans.len(), exported_spans, "{sampler}");
        let items = spans.iter().filter(|span| span.span_context.span_id().to_string() == item);
        assert!(items.into_iter().all(|span| span.parent_span_id.to_string() == CLIENT));
    }
}
