//! A client's trace: which span is the parent, which is linked, and which side decides about sampling.

use codeyard_gateway::service::TraceContext;
use codeyard_telemetry::settings::Settings;
use opentelemetry::trace::SpanId;
use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;
use crate::telemetry::captured::{Watched, servers};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER: &str = "0af7651916cd43dd8448eb211c80319c";

fn parent(trace: &str, span: char, flags: &str) -> String {
    format!("00-{trace}-{}-{flags}", span.to_string().repeat(16))
}

async fn watched(variables: &[(&str, &str)], contexts: &[TraceContext]) -> Vec<opentelemetry_sdk::trace::SpanData> {
    let site = Site::usual();
    let fake = FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]));
    let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let (settings, _) = Settings::from_variables(find);
    let watched = Watched::open(Plan::one(site, fake.launcher()), settings).await;
    for context in contexts {
        let mut call = watched.yard.tool_call("w0", DEFINITION, watched.yard.site().at("a.fake", 0, 0));
        call.trace = context.clone();
        watched.yard.run(call).await.ok();
    }
    watched.spans().await
}

#[test]
fn the_message_is_the_parent_and_the_header_is_linked() {
    paused(|| async {
        let meta = parent(TRACE, '1', "01");
        let header = parent(OTHER, '2', "01");
        let context = |meta: Option<&str>, header: Option<&str>| TraceContext {
            traceparent: meta.map(str::to_owned),
            tracestate: Some("a=1".into()),
            header_traceparent: header.map(str::to_owned),
            ..TraceContext::default()
        };
        let contexts = [
            context(Some(&meta), Some(&header)),
            context(None, Some(&header)),
            context(Some("00-0-0-00"), None),
            context(Some(&parent(&"0".repeat(32), '1', "01")), None),
        ];
        let spans = watched(&[], &contexts).await;
        let calls = servers(&spans);
        let id = |digit: char| SpanId::from_hex(&digit.to_string().repeat(16)).unwrap();
        assert_eq!((calls[0].parent_span_id, calls[0].span_context.trace_id().to_string()), (id('1'), TRACE.into()));
        assert_eq!(calls[0].links.links[0].span_context.span_id(), id('2'));
        assert_eq!(calls[0].span_context.trace_state().header(), "a=1");
        assert_eq!((calls[1].parent_span_id, calls[1].span_context.trace_id().to_string()), (id('2'), OTHER.into()));
        assert!(calls[1].links.links.is_empty() && calls[1].parent_span_is_remote);
        for root in &calls[2..] {
            assert_eq!(root.parent_span_id, SpanId::INVALID);
            assert!(root.span_context.is_valid() && !root.parent_span_is_remote);
        }
        assert_ne!(calls[2].span_context.trace_id(), calls[3].span_context.trace_id());
        let below = spans.iter().filter(|span| span.parent_span_id == calls[0].span_context.span_id());
        assert!(below.clone().count() >= 2, "children follow");
        assert!(below.into_iter().all(|span| span.span_context.trace_id().to_string() == TRACE));
    });
}

#[test]
fn an_unsampled_parent_creates_no_spans_unless_the_sampler_ignores_it() {
    paused(|| async {
        let unsampled = TraceContext { traceparent: Some(parent(TRACE, '1', "00")), ..TraceContext::default() };
        let sampled = TraceContext { traceparent: Some(parent(TRACE, '1', "01")), ..TraceContext::default() };
        let all = [unsampled, sampled, TraceContext::default()];
        let count = async |sampler: &str| servers(&watched(&[("OTEL_TRACES_SAMPLER", sampler)], &all).await).len();
        assert_eq!(count("parentbased_always_on").await, 2);
        assert_eq!(count("parentbased_always_off").await, 1);
        assert_eq!(count("always_on").await, 3);
        assert_eq!(count("always_off").await, 0);
    });
}
