//! Spans of calls with every outcome. The golden file contains names, kinds, attributes, links and status.

use std::path::Path;
use std::time::Duration;

use codeyard_gateway::admission::Admission;
use codeyard_gateway::router::Gateway;
use codeyard_gateway::service::{Service as _, TransportKind};
use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{NoMetrics, Telemetry, names};
use serde_json::json;

use crate::engine::harness::*;
use crate::fake_server::*;
use crate::telemetry::captured::{Watched, attribute, servers, took, written};

fn fake(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({"definitionProvider": true, "referencesProvider": true, "textDocumentSync": 1}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1)]))
}

async fn watched(site: Site, fake: FakeServer) -> Watched {
    Watched::open(Plan::one(site, fake.launcher()), Settings::default()).await
}

pub(crate) fn golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/in_memory/telemetry/golden").join(name);
    if std::env::var_os("CODEYARD_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, wanted, "{name}; CODEYARD_UPDATE_GOLDEN=1 rewrites");
}

#[test]
fn spans_of_fresh_retained_and_paged_answers_are_golden() {
    paused(|| async {
        let site = Site::usual();
        let some: Vec<_> = (0..3).map(|line| site.location("a.fake", line)).collect();
        let fake = fake(&site).on("textDocument/references", [wait_ms(30), reply(json!(some))]);
        let watched = watched(site, fake).await;
        let yard = &watched.yard;
        // Start the server first, so that no call waits for it.
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        let mut fresh = yard.tool_call(
            "w0",
            REFERENCES,
            json!({
                "uri": yard.site().uri("a.fake"), "position": {"line": 0, "character": 0}, "pageSize": 2
            }),
        );
        fresh.session = Some("the-session".into());
        fresh.transport = TransportKind::Tcp;
        fresh.request_id_text = "\"seven\"".into();
        let first = yard.run(fresh).await.ok();
        let cursor = first["nextCursor"].as_str().unwrap();
        yard.call(REFERENCES, json!({
            "uri": yard.site().uri("a.fake"), "position": {"line": 0, "character": 0}, "pageSize": 2, "cursor": cursor
        })).await.ok();
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        let spans = watched.spans().await;
        let calls = servers(&spans);
        assert_eq!(calls.len(), 4);
        let lsp = spans.iter().find(|span| span.name == "textDocument/references").unwrap();
        assert_eq!(took(lsp), Duration::from_millis(30));
        assert!(took(calls[1]) >= took(lsp));
        assert_eq!(attribute(calls[1], names::SERVER_MS).unwrap().parse::<f64>().unwrap().round(), 30.0);
        let warm: Vec<_> = spans
            .iter()
            .filter(|span| {
                let first = calls[0].span_context.span_id();
                span.span_context.span_id() != first && span.parent_span_id != first
            })
            .cloned()
            .collect();
        golden("answers.txt", &written(&warm));
    });
}

#[test]
fn the_wait_for_a_server_start_has_its_own_span() {
    paused(|| async {
        let site = Site::usual();
        let slow = fake(&site).on(
            "initialize",
            [wait_ms(300), reply(json!({"capabilities": {"definitionProvider": true, "textDocumentSync": 1}}))],
        );
        let watched = watched(site, slow).await;
        watched.yard.call(DEFINITION, watched.yard.site().at("a.fake", 0, 0)).await.ok();
        let spans = watched.spans().await;
        let waited: Vec<_> = spans.iter().filter(|span| span.name == names::SPAN_WAIT).collect();
        assert!(waited.iter().any(|span| took(span) >= Duration::from_millis(300)), "{waited:?}");
        assert_eq!(attribute(servers(&spans)[0], names::READINESS).unwrap(), "starting");
    });
}

#[test]
fn each_error_has_a_span_with_its_code() {
    paused(|| async {
        let site = Site::usual();
        let fake = fake(&site).on("textDocument/references", [fail(-32603, "secret words of the server")]);
        let watched = watched(site, fake).await;
        let yard = &watched.yard;
        yard.call(DEFINITION, json!({"uri": 7})).await.failed("INVALID_PARAMS");
        yard.call("no.such.tool", json!({})).await.failed("INVALID_PARAMS");
        yard.call(DEFINITION, json!({"uri": "file:///etc/passwd", "position": {"line": 0, "character": 0}}))
            .await
            .failed("WORKSPACE_DENIED");
        yard.call(DEFINITION, yard.site().at("gone.fake", 0, 0)).await.failed("NOT_FOUND");
        let refused = json!({"uri": yard.site().uri("a.fake"), "position": {"line": 0, "character": 0}, "cursor": "x"});
        yard.call(REFERENCES, refused).await.failed("CURSOR_INVALID");
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        yard.call(REFERENCES, yard.site().at("a.fake", 0, 0)).await.failed("PROVIDER_UNAVAILABLE");
        let mut none = yard.tool_call("w0", DEFINITION, json!({}));
        none.tool = String::new();
        yard.gateway.record_malformed(&none);
        let full = Gateway::new(yard.engine().directory(), {
            Telemetry::new(std::sync::Arc::new(NoMetrics)).with_spans(&watched.pipeline)
        })
        .with_admission(Admission::with_slots(0));
        let call = |tool: &str| yard.tool_call("w0", tool, yard.site().at("a.fake", 0, 0));
        drop(full.call(call(DEFINITION)).await);
        drop(full.reject_overloaded(&call(REFERENCES)));
        let spans = watched.spans().await;
        let failed: Vec<_> =
            spans.iter().filter(|span| attribute(span, names::OUTCOME).is_some_and(|is| is != "ok")).cloned().collect();
        assert_eq!(failed.len(), 9, "one span each");
        golden("errors.txt", &written(&failed));
    });
}

#[test]
fn a_cancelled_call_and_its_request_end_at_once() {
    paused(|| async {
        let site = Site::usual();
        let launcher =
            fake(&site).on("textDocument/definition", [until_cancelled(), fail(-32800, "cancelled")]).launcher();
        let watched = Watched::open(Plan::one(site, launcher.clone()), Settings::default()).await;
        let call = watched.yard.spawn(DEFINITION, watched.yard.site().at("a.fake", 0, 0));
        launcher.wait_for("textDocument/definition", 1).await;
        call.abort();
        launcher.wait_for("$/cancelRequest", 1).await;
        assert_eq!(watched.yard.counts.cancels(), 1);
        let spans = watched.spans().await;
        let call = servers(&spans)[0];
        assert_eq!(attribute(call, names::ERROR_TYPE).unwrap(), "CANCELLED");
        let lsp: Vec<_> = spans.iter().filter(|span| span.name == "textDocument/definition").collect();
        assert_eq!(lsp.len(), 1);
        assert_eq!(attribute(lsp[0], names::ERROR_TYPE).unwrap(), "cancelled");
        assert_eq!(lsp[0].parent_span_id, call.span_context.span_id());
    });
}

#[test]
fn each_request_of_a_call_hierarchy_has_a_span_below_the_calls() {
    paused(|| async {
        let site = Site::usual();
        let item = |line: u32| {
            let range = range(line);
            json!({"name": "f", "kind": 12, "uri": site.uri("a.fake"), "range": range, "selectionRange": range})
        };
        let fake = FakeServer::new()
            .capabilities(json!({"callHierarchyProvider": true, "textDocumentSync": 1}))
            .on("textDocument/prepareCallHierarchy", [wait_ms(20), reply(json!([item(0), item(1)]))])
            .on("callHierarchy/outgoingCalls", [wait_ms(30), reply(json!([]))])
            .on_nth("callHierarchy/outgoingCalls", 3, [until_cancelled(), fail(-32800, "cancelled")]);
        let launcher = fake.launcher();
        let watched = Watched::open(Plan::one(site, launcher.clone()), Settings::default()).await;
        let ask = |line: u32| {
            let place = json!({"operation": "outgoingCalls", "filePath": "a.fake", "line": line, "character": 1});
            let mut call = watched.yard.tool_call("w0", "lsp", place);
            call.endpoint.catalogs = std::sync::Arc::from(["agent".to_owned()]);
            watched.yard.run(call)
        };
        ask(1).await.bytes();
        let call = tokio::spawn(ask(2));
        launcher.wait_for("callHierarchy/outgoingCalls", 4).await;
        pass(100).await;
        call.abort();
        launcher.wait_for("$/cancelRequest", 1).await;
        let spans = watched.spans().await;
        let calls = servers(&spans);
        assert_eq!(calls.iter().filter_map(|call| attribute(call, names::TOOL)).collect::<Vec<_>>(), ["lsp", "lsp"]);
        let below = |call: usize, method: &str| {
            let own = spans.iter().filter(|span| span.parent_span_id == calls[call].span_context.span_id());
            own.filter(|span| span.name == method).collect::<Vec<_>>()
        };
        for call in [0, 1] {
            let prepared = below(call, "textDocument/prepareCallHierarchy");
            assert_eq!(prepared.iter().map(|span| took(span).as_millis()).collect::<Vec<_>>(), [20]);
        }
        let asked = below(0, "callHierarchy/outgoingCalls");
        assert_eq!(asked.iter().map(|span| took(span).as_millis()).collect::<Vec<_>>(), [30, 30]);
        let mut ends: Vec<_> =
            below(1, "callHierarchy/outgoingCalls").iter().map(|span| attribute(span, names::ERROR_TYPE)).collect();
        ends.sort();
        assert_eq!(ends, [None, Some("cancelled".to_owned())]);
    });
}

#[test]
fn a_deadline_error_records_the_awaited_step() {
    paused(|| async {
        let site = Site::usual();
        let watched = watched(
            site,
            FakeServer::new()
                .capabilities(json!({"definitionProvider": true, "textDocumentSync": 1}))
                .on("textDocument/definition", []),
        )
        .await;
        watched.yard.call(DEFINITION, watched.yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        let spans = watched.spans().await;
        let call = servers(&spans)[0];
        assert_eq!(attribute(call, names::REASON).unwrap(), "timeout");
        assert_eq!(attribute(call, names::CAP).unwrap(), "timeout");
        assert_eq!(attribute(call, names::RPC_STATUS).unwrap(), "-32603");
        assert!(took(call) >= Duration::from_secs(2));
        assert!(attribute(call, names::SERVER_MS).unwrap().parse::<f64>().unwrap() > 1_900.0);
    });
}

#[test]
fn a_shared_request_belongs_to_its_first_call_and_the_others_link_to_it() {
    paused(|| async {
        let site = Site::usual();
        let slow =
            fake(&site).on("textDocument/references", [wait_ms(100), reply(json!([site.location("a.fake", 1)]))]);
        let watched = watched(site, slow).await;
        watched.yard.call(DEFINITION, watched.yard.site().at("a.fake", 0, 0)).await.ok();
        let calls: Vec<_> =
            (0..3).map(|_| watched.yard.spawn(REFERENCES, watched.yard.site().at("a.fake", 0, 0))).collect();
        for call in calls {
            call.await.unwrap().ok();
        }
        let spans = watched.spans().await;
        let lsp: Vec<_> = spans.iter().filter(|span| span.name == "textDocument/references").collect();
        assert_eq!(lsp.len(), 1);
        let mut shared = 0;
        let mut fresh = 0;
        for call in &servers(&spans)[1..] {
            match attribute(call, names::CACHE).unwrap().as_str() {
                "shared" => {
                    shared += 1;
                    assert_eq!(call.links.links[0].span_context.span_id(), lsp[0].parent_span_id);
                    assert_eq!(attribute(call, names::CACHE_HIT).unwrap(), "true");
                }
                _ => {
                    fresh += 1;
                    assert_eq!(call.span_context.span_id(), lsp[0].parent_span_id);
                }
            }
        }
        assert_eq!((fresh, shared), (1, 2));
    });
}

#[test]
fn a_request_with_other_waiters_is_recorded_when_it_ends() {
    paused(|| async {
        let site = Site::usual();
        let launcher = fake(&site).on("textDocument/references", [wait_ms(500), reply(json!([]))]).launcher();
        let watched = Watched::open(Plan::one(site, launcher.clone()), Settings::default()).await;
        let first = watched.yard.spawn(REFERENCES, watched.yard.site().at("a.fake", 0, 0));
        launcher.wait_for("textDocument/references", 1).await;
        let other = watched.yard.spawn(REFERENCES, watched.yard.site().at("a.fake", 0, 0));
        settle().await;
        first.abort();
        other.await.unwrap().ok();
        let spans = watched.spans().await;
        let lsp = spans.iter().find(|span| span.name == "textDocument/references").unwrap();
        let first = servers(&spans).into_iter().find(|span| span.span_context.span_id() == lsp.parent_span_id).unwrap();
        assert_eq!(attribute(first, names::OUTCOME).unwrap(), "CANCELLED");
        assert!(lsp.end_time > first.end_time, "the request outlives the call that began it");
        assert_eq!((attribute(lsp, names::ERROR_TYPE), took(lsp)), (None, Duration::from_millis(500)));
    });
}
