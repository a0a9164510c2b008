//! Each event updates its metric in the next scrape.

mod everything;
mod exposition;
mod files;
mod indexes;
mod page;
mod promql;

use std::sync::Arc;

use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{Counts, Meters, Observers, Pipeline, Prometheus};
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::engine::lsp_tool::at;
use crate::fake_server::*;
use exposition::Exposition;

/// A service whose metrics can be scraped.
struct Measured {
    yard: Yard,
    prometheus: Prometheus,
    _pipeline: Pipeline,
}

impl Measured {
    async fn open(plan: Plan) -> Self {
        let (pipeline, prometheus, _) = Prometheus::with_pipeline(&Settings::default());
        let meter = pipeline.meter();
        let meters = Arc::new(Meters::new(&meter, Arc::new(Counts::default()), "1"));
        let yard = plan.metrics(meters).open().await;
        yard.register_with(&Observers::new(&meter));
        Self { yard, prometheus, _pipeline: pipeline }
    }

    fn read(&self) -> Exposition {
        Exposition::parse(&self.prometheus.render())
    }

    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.read().sum(name, labels)
    }
}

fn good(site: &Site) -> FakeServer {
    FakeServer::new()
        .capabilities(json!({
            "hoverProvider": true, "definitionProvider": true, "referencesProvider": true, "textDocumentSync": 1
        }))
        .answer("textDocument/hover", json!({"contents": "text"}))
        .answer("textDocument/definition", json!([site.location("a.fake", 1), location("file:///etc/passwd", 0)]))
        .answer("textDocument/references", json!((0..3).map(|line| site.location("a.fake", line)).collect::<Vec<_>>()))
        .memory(5_000_000)
}

const OPERATIONS: &str = "mcp_server_operation_duration_seconds_count";

#[test]
fn each_request_of_a_call_hierarchy_is_counted_and_the_call_once() {
    paused(|| async {
        let site = Site::usual();
        let item = json!({
            "name": "f", "kind": 12, "uri": site.uri("a.fake"), "range": range(0), "selectionRange": range(0)
        });
        let fake = FakeServer::new()
            .capabilities(json!({"callHierarchyProvider": true, "textDocumentSync": 1}))
            .answer("textDocument/prepareCallHierarchy", json!([item, item]))
            .answer("callHierarchy/incomingCalls", json!([{"from": item, "fromRanges": [range(0)]}]));
        let measured = Measured::open(Plan::one(site, fake.launcher())).await;
        let yard = &measured.yard;
        assert_eq!(at(yard, "incomingCalls", 0, 0).await.whole().as_array().unwrap().len(), 1);
        let read = measured.read();
        let counted = |method| {
            let rpc = [("rpc_method", method), ("codeyard_server_kind", "fake")];
            read.sum("rpc_client_call_duration_seconds_count", &rpc)
        };
        assert_eq!(counted("textDocument/prepareCallHierarchy"), 1.0);
        assert_eq!(counted("callHierarchy/incomingCalls"), 2.0);
        assert_eq!(read.sum(OPERATIONS, &[("gen_ai_tool_name", "lsp"), ("mcp_method_name", "tools/call")]), 1.0);
    });
}

#[test]
fn calls_update_durations_sources_and_states() {
    paused(|| async {
        let site = Site::usual();
        let slowly = [wait_ms(1), reply(json!({"contents": "text"}))];
        let fake = good(&site).on("textDocument/hover", slowly).launcher();
        let measured = Measured::open(Plan::one(site, fake)).await;
        let yard = &measured.yard;
        assert_eq!(measured.sum("codeyard_workspaces", &[]), 1.0);
        for _ in 0..3 {
            yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        }
        let both = yard.site().at("a.fake", 1, 0);
        let one = yard.spawn(HOVER, both.clone());
        let two = yard.spawn(HOVER, both);
        one.await.unwrap().ok();
        two.await.unwrap().ok();
        yard.call(DEFINITION, yard.site().at("a.fake", 0, 0)).await.ok();
        let read = measured.read();
        let hover = ("gen_ai_tool_name", HOVER);
        assert_eq!(
            read.sum(OPERATIONS, &[hover, ("network_transport", "pipe"), ("mcp_method_name", "tools/call")]),
            5.0
        );
        assert_eq!(read.sum("codeyard_queue_wait_seconds_count", &[]), 6.0);
        let from = |word| read.sum("codeyard_cache_answers_total", &[("codeyard_cache", word)]);
        assert_eq!((from("fresh"), from("retained"), from("shared")), (3.0, 2.0, 1.0));
        let rpc = [("rpc_method", "textDocument/hover"), ("codeyard_server_kind", "fake")];
        assert_eq!(read.sum("rpc_client_call_duration_seconds_count", &rpc), 2.0);
        assert_eq!(read.sum("codeyard_servers", &[("codeyard_server_kind", "fake"), ("codeyard_state", "ready")]), 1.0);
        assert_eq!(read.sum("codeyard_servers", &[]), 1.0);
        assert_eq!(read.sum("codeyard_workspaces", &[("codeyard_state", "watching")]), 1.0);
        assert_eq!(
            read.sum("codeyard_server_readiness_duration_seconds_count", &[("codeyard_server_kind", "fake")]),
            1.0
        );
        assert_eq!(read.sum("codeyard_snapshots", &[]), 3.0);
        assert!(read.sum("codeyard_snapshots_size_bytes", &[]) > 100.0);
        let denied = [("codeyard_named_by", "server"), ("codeyard_reason", "outside")];
        assert_eq!(read.sum("codeyard_path_denials_total", &denied), 1.0);
        assert_eq!(read.sum("codeyard_calls_in_flight", &[]), 0.0);
        pass(30_000).await;
        settle().await;
        assert_eq!(measured.sum("codeyard_memory_usage_bytes", &[("codeyard_component", "fake")]), 5_000_000.0);
        assert!(measured.sum("codeyard_memory_usage_bytes", &[("codeyard_component", "codeyard")]) > 1e6);
        yard.site().write("b.fake", "x\n");
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        assert!(measured.sum("codeyard_watch_events_total", &[]) >= 1.0);
        assert!(measured.sum("process_cpu_time_seconds_total", &[("cpu_mode", "user")]) >= 0.0);
        assert_eq!(measured.sum("codeyard_build_info", &[("service_version", "1")]), 1.0);
    });
}

#[test]
fn failures_are_counted_by_kind() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).never("textDocument/hover").launcher();
        let measured = Measured::open(Plan::one(site, fake)).await;
        let yard = &measured.yard;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.timed_out("answering");
        let at = json!({"line": 0, "character": 0});
        yard.call(HOVER, json!({"uri": "file:///etc/passwd", "position": at})).await.failed("WORKSPACE_DENIED");
        yard.call(HOVER, json!({"uri": "https://example.org/a", "position": at})).await.failed("URI_INVALID");
        yard.call("no such tool", json!({})).await;
        let read = measured.read();
        let failed = |error| read.sum(OPERATIONS, &[("error_type", error)]);
        assert_eq!((failed("CAP_EXCEEDED"), failed("WORKSPACE_DENIED"), failed("URI_INVALID")), (1.0, 1.0, 1.0));
        assert_eq!(read.sum(OPERATIONS, &[("gen_ai_tool_name", "unknown")]), 1.0);
        assert_eq!(
            read.sum(OPERATIONS, &[("rpc_response_status_code", "-32603"), ("error_type", "CAP_EXCEEDED")]),
            1.0
        );
        assert_eq!(read.sum("codeyard_caps_hit_total", &[("codeyard_cap", "timeout")]), 1.0);
        let denied =
            |why| read.sum("codeyard_path_denials_total", &[("codeyard_named_by", "call"), ("codeyard_reason", why)]);
        assert_eq!((denied("outside"), denied("scheme")), (1.0, 1.0));
        // Nobody asks again.
        pass(31_000).await;
        let read = measured.read();
        let lost = [("rpc_method", "textDocument/hover"), ("error_type", "cancelled")];
        assert_eq!(read.sum("rpc_client_call_duration_seconds_count", &lost), 1.0);
    });
}

#[test]
fn cursor_outcomes_are_counted_by_reason() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).launcher();
        let measured = Measured::open(Plan::one(site, fake)).await;
        let yard = &measured.yard;
        let ask = |line: u32, cursor: Value| {
            let mut arguments = yard.site().at("a.fake", line, 0);
            arguments["pageSize"] = 1.into();
            arguments["cursor"] = cursor;
            yard.call(REFERENCES, arguments)
        };
        let cursor = ask(0, Value::Null).await.ok()["nextCursor"].clone();
        ask(0, cursor.clone()).await.ok();
        ask(1, cursor.clone()).await.failed("CURSOR_INVALID");
        pass(616_000).await;
        ask(0, cursor.clone()).await.failed("CURSOR_EXPIRED");
        yard.site().write("a.fake", "other\n");
        ask(0, cursor).await.failed("CURSOR_STALE");
        let read = measured.read();
        for word in ["continued", "invalid", "expired", "stale"] {
            assert_eq!(read.sum("codeyard_cursors_total", &[("codeyard_cursor", word)]), 1.0, "{word}");
        }
        assert_eq!(read.sum("codeyard_cursors_total", &[]), 4.0);
        assert_eq!(read.sum("codeyard_snapshots_evicted_total", &[("codeyard_reason", "expired")]), 1.0);
    });
}

#[test]
fn snapshots_of_earlier_epochs_are_evicted() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).launcher();
        let measured = Measured::open(Plan::one(site, fake)).await;
        let ask = || measured.yard.call(HOVER, measured.yard.site().at("a.fake", 0, 0));
        ask().await.ok();
        measured.yard.site().write("a.fake", "other\n");
        ask().await.ok();
        pass(16_000).await;
        let outdated = measured.sum("codeyard_snapshots_evicted_total", &[("codeyard_reason", "outdated")]);
        assert_eq!((measured.sum("codeyard_snapshots", &[]), outdated), (1.0, 1.0), "the later answer is kept");
    });
}

#[test]
fn snapshots_are_evicted_by_budget_and_expiry() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).launcher();
        let plan = Plan::one(site, fake).tune(|config| config.limits.max_snapshots_total_bytes = 1_500);
        let mut measured = Measured::open(plan).await;
        for character in 0..5 {
            measured.yard.call(HOVER, measured.yard.site().at("a.fake", 0, character)).await.ok();
        }
        let dropped =
            |measured: &Measured, why| measured.sum("codeyard_snapshots_evicted_total", &[("codeyard_reason", why)]);
        let kept = measured.sum("codeyard_snapshots", &[]);
        let room = dropped(&measured, "room");
        assert!(kept > 0.0 && room > 0.0 && kept + room == 5.0, "{kept} {room}");
        measured.yard.reconfigure(|config| config.limits.max_snapshots_total_bytes = 100_000).await;
        settle().await;
        assert_eq!((dropped(&measured, "reconfigured"), measured.sum("codeyard_snapshots", &[])), (kept, 0.0));
    });
}

#[test]
fn overload_and_wait_times_are_exposed() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).never("textDocument/definition").launcher();
        let measured = Measured::open(Plan::one(site, fake)).await;
        let yard = &measured.yard;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        let calls: Vec<_> = (0..256).map(|_| yard.spawn(DEFINITION, yard.site().at("a.fake", 0, 0))).collect();
        tokio::task::yield_now().await;
        assert!(measured.sum("codeyard_queue_depth", &[]) > 0.0, "the workspace's thread is busy with this test");
        settle_until(|| measured.sum("codeyard_queue_depth", &[]) == 0.0).await;
        assert_eq!(
            (measured.sum("codeyard_queue_depth", &[]), measured.sum("codeyard_calls_in_flight", &[])),
            (0.0, 256.0)
        );
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.failed_as("CAP_EXCEEDED", "overloaded");
        for call in calls {
            call.await.unwrap().timed_out("answering");
        }
        assert_eq!(measured.sum("codeyard_calls_shed_total", &[("codeyard_reason", "workspace")]), 1.0);
        assert_eq!(
            (measured.sum("codeyard_queue_depth", &[]), measured.sum("codeyard_calls_in_flight", &[])),
            (0.0, 0.0)
        );
    });
}

#[test]
fn crashes_and_malformed_messages_are_counted_by_kind_and_reason() {
    paused(|| async {
        let site = Site::usual();
        let garbled = good(&site).on("textDocument/hover", [raw(&b"surprise!\n".repeat(110_000))]);
        let fake = FakeLauncher::sequence([garbled, good(&site)]);
        let measured = Measured::open(Plan::one(site, fake.clone())).await;
        let yard = &measured.yard;
        yard.call(HOVER, yard.site().at("a.fake", 0, 0)).await.ok();
        fake.crash();
        settle().await;
        let read = measured.read();
        assert_eq!(read.sum("codeyard_frames_rejected_total", &[("codeyard_reason", "garbage")]), 1.0);
        let crashed = [("codeyard_server_kind", "fake"), ("codeyard_reason", "crashed")];
        assert_eq!(read.sum("codeyard_server_restarts_total", &crashed), 1.0);
        let garbled = [("codeyard_server_kind", "fake"), ("codeyard_reason", "protocol_error")];
        assert_eq!(read.sum("codeyard_server_restarts_total", &garbled), 1.0);
        assert_eq!(read.sum("codeyard_servers", &[("codeyard_state", "restarting")]), 1.0);
        assert_eq!(read.sum("codeyard_memory_usage_bytes", &[("codeyard_component", "fake")]), 0.0);
    });
}

#[test]
fn a_hung_workspace_does_not_delay_a_scrape() {
    paused(|| async {
        let site = Site::usual();
        let fake = good(&site).launcher();
        let measured = Measured::open(Plan::one(site, fake)).await;
        measured.yard.call(HOVER, measured.yard.site().at("a.fake", 0, 0)).await.ok();
        // The actor runs on this thread, which is blocked here: waiting for it would never end.
        let render = measured.prometheus.clone();
        let scrape = std::thread::spawn(move || render.render());
        let read = Exposition::parse(&scrape.join().unwrap());
        assert_eq!(read.sum("codeyard_workspaces", &[]), 1.0);
    });
}

#[test]
fn draining_and_unopened_workspaces_have_separate_states() {
    paused(|| async {
        let site = Site::usual();
        let other = Site::usual();
        let fake = good(&site).never("textDocument/definition").launcher();
        let mut measured = Measured::open(Plan::one(site, fake).workspace(other)).await;
        let call = measured.yard.start("w1", DEFINITION, measured.yard.sites[1].at("a.fake", 0, 0));
        let call = tokio::spawn(call);
        settle().await;
        assert_eq!(measured.sum("codeyard_memory_budget_bytes", &[]), 0.0);
        let change = |config: &mut codeyard_config::Config| {
            config.workspaces.pop();
            config.supervision.memory_budget_mib = 3;
        };
        measured.yard.reconfigure(change).await;
        assert_eq!(measured.sum("codeyard_memory_budget_bytes", &[]), 3_145_728.0);
        settle().await;
        assert_eq!(measured.sum("codeyard_workspaces", &[("codeyard_state", "draining")]), 1.0);
        call.await.unwrap().timed_out("answering");
        pass(10_000).await;
        assert_eq!(measured.sum("codeyard_workspaces", &[("codeyard_state", "draining")]), 0.0);
        assert_eq!(measured.sum("codeyard_workspaces", &[]), 1.0);
    });
}
