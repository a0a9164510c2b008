//! Telemetry of the catalog `code`: every tool's span with its children, and every call's log line.

use std::sync::Arc;
use std::time::Duration;

use codeyard_state::{INDEX_FOLDER, StateDir};
use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{LineFormat, LogQueue, names};
use serde_json::{Value, json};

use crate::engine::harness::*;
use crate::telemetry::captured::{Memory, Watched, attribute, servers, took, written};
use crate::telemetry::spans::golden;

/// Calls that the golden files show, by the id of their request.
const SHOWN: &str = "shown ";

/// Calls a tool of `code`. `what` marks a call for the golden file.
async fn ask(yard: &Yard, tool: &str, arguments: Value, what: Option<&str>) -> Value {
    let mut call = yard.tool_call("w0", tool, arguments);
    call.endpoint.catalogs = Arc::from(["code".to_owned()]);
    call.request_id_text = what.map(|what| format!("\"{SHOWN}{what}\"")).unwrap_or_default();
    yard.run(call).await.ok()
}

async fn settled(yard: &Yard) {
    loop {
        let watched = ask(yard, "index_status", json!({}), None).await;
        if watched["active_job"].is_null() && watched["metadata"]["freshness_status"] == "fresh" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Blocks all index jobs until it is dropped.
fn hold_writers(yard: &Yard) -> Vec<std::fs::File> {
    let state = StateDir::open(&yard.site().base().join("state")).unwrap();
    let folders = std::fs::read_dir(state.path().join(INDEX_FOLDER)).unwrap();
    let hold = |folder: std::io::Result<std::fs::DirEntry>| {
        let path = folder.unwrap().path().join("writer.lock");
        let lock = std::fs::File::options().write(true).create(true).truncate(false).open(path).unwrap();
        lock.lock().unwrap();
        lock
    };
    folders.map(hold).collect()
}

/// A line without its times and random ids.
fn without_times(mut line: Value) -> String {
    for (name, value) in line.as_object_mut().unwrap() {
        if name.ends_with("_ms") || matches!(name.as_str(), "timestamp" | "trace_id" | "span_id" | "bytes") {
            *value = json!("*");
        }
    }
    line.to_string()
}

#[test]
fn every_code_tool_span_records_its_cost_and_freshness() {
    let memory = Memory::default();
    let queue = LogQueue::start(LineFormat::Json, memory.clone()).unwrap();
    let lines = queue.clone();
    // Calls are logged only if a subscriber is interested.
    let wanted = tracing_subscriber::fmt().with_writer(std::io::sink).finish();
    let _wanted = tracing::subscriber::set_default(wanted);
    // On paused time the first query waits for the index without a timeout.
    paused(|| async move {
        let site = Site::new(&[("src/a.rs", "pub fn alpha() {}\n"), ("notes.txt", "alpha\n")]);
        let plan = Plan::new(site).telemetry_setup(move |watched| watched.with_log(lines.clone()));
        let watched = Watched::open(plan, Settings::default()).await;
        let yard = &watched.yard;
        let first = ask(yard, "search_code", json!({"query": "alpha", "mode": "text"}), Some("first index")).await;
        assert_eq!(first["results"].as_array().unwrap().len(), 2, "{first}");
        settled(yard).await;
        let outline = json!({"path": "src/a.rs"});
        for (what, tool, arguments) in [
            ("ranked", "search_code", json!({"query": "alpha"})),
            ("truncated", "search_code", json!({"query": "alpha", "mode": "text", "limit": 1})),
            ("symbol", "locate_symbol", json!({"name": "alpha"})),
            ("outline", "get_file_outline", outline.clone()),
            ("health", "health_check", json!({})),
            ("status", "index_status", json!({})),
            ("wrong", "search_code", json!({"query": ""})),
            ("no file", "get_file_outline", json!({"path": "gone.rs"})),
            ("no ref", "locate_symbol", json!({"name": "alpha", "ref": "none"})),
        ] {
            ask(yard, tool, arguments, Some(what)).await;
        }
        ask(yard, "index_repo", json!({"force": true}), Some("a job")).await;
        settled(yard).await;
        let held = hold_writers(yard);
        yard.site().write("src/a.rs", "pub fn beta() {}\n");
        let strict = json!({"query": "beta", "freshness_policy": "strict"});
        let refused = ask(yard, "search_code", strict, Some("strict")).await;
        assert_eq!(refused["error"]["code"], "index_stale");
        while ask(yard, "index_status", json!({}), None).await["active_job"].is_null() {
            // Paused time doesn't advance by itself once the job waits for the lock on its thread.
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        ask(yard, "search_code", json!({"query": "beta", "mode": "text"}), Some("syncing")).await;
        ask(yard, "sync_repo", json!({}), Some("another job")).await;
        drop(held);
        settled(yard).await;
        let spans = watched.spans().await;
        let is_shown = |id: &str| id.starts_with(SHOWN);
        let shown: Vec<_> = servers(&spans)
            .into_iter()
            .filter(|span| attribute(span, names::REQUEST_ID).is_some_and(|id| is_shown(&id)))
            .map(|span| span.span_context.span_id())
            .collect();
        let all: Vec<_> = spans
            .iter()
            .filter(|span| shown.contains(&span.span_context.span_id()) || shown.contains(&span.parent_span_id))
            .cloned()
            .collect();
        golden("code.txt", &written(&all));
        // The spans identify their lines.
        queue.flush();
        queue.flush();
        let ids: Vec<String> = shown.iter().map(ToString::to_string).collect();
        let text = String::from_utf8(memory.0.lock().clone()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
        let lines: Vec<String> =
            lines.filter(|line| ids.iter().any(|id| line["span_id"] == **id)).map(without_times).collect();
        assert_eq!(lines.len(), ids.len());
        golden("code.log.txt", &(lines.join("\n") + "\n"));
    });
}

#[test]
fn a_call_to_a_group_has_a_span_for_each_workspace() {
    in_real_time(|| async {
        let plan =
            Plan::new(Site::new(&[("a.rs", "fn alpha() {}\n")])).workspace(Site::new(&[("b.rs", "fn beta() {}\n")]));
        let watched = Watched::open(plan, Settings::default()).await;
        let mut call = watched.yard.tool_call("@all", "search_code", json!({"query": "alpha"}));
        call.endpoint.catalogs = Arc::from(["code".to_owned()]);
        watched.yard.run(call).await.ok();
        let spans = watched.spans().await;
        let call = servers(&spans)[0];
        assert_eq!(attribute(call, names::WORKSPACE).as_deref(), Some("@all"));
        let below = spans.iter().filter(|span| span.parent_span_id == call.span_context.span_id());
        let mut named: Vec<String> = below
            .filter(|span| span.name == names::SPAN_INDEX)
            .filter_map(|span| attribute(span, names::WORKSPACE))
            .collect();
        named.sort();
        assert_eq!(named, ["w0", "w1"]);
    });
}

#[test]
fn index_durations_are_recorded() {
    in_real_time(|| async {
        let site = Site::new(&[("src/a.rs", "pub fn alpha() {}\n")]);
        let watched = Watched::open(Plan::new(site), Settings::default()).await;
        let yard = &watched.yard;
        ask(yard, "search_code", json!({"query": "alpha"}), None).await;
        settled(yard).await;
        // The indexer may not know yet that its job has published. This call waits until it does.
        ask(yard, "search_code", json!({"query": "alpha"}), None).await;
        for (tool, arguments) in [
            ("search_code", json!({"query": "alpha"})),
            ("locate_symbol", json!({"name": "alpha"})),
            ("get_file_outline", json!({"path": "src/a.rs"})),
            ("health_check", json!({})),
            ("index_status", json!({})),
            ("sync_repo", json!({})),
        ] {
            ask(yard, tool, arguments, Some(tool)).await;
        }
        let spans = watched.spans().await;
        let mut seen = 0;
        for call in servers(&spans) {
            if !attribute(call, names::REQUEST_ID).is_some_and(|id| id.starts_with(SHOWN)) {
                continue;
            }
            seen += 1;
            let is_child = |name: &str| {
                let id = call.span_context.span_id();
                spans.iter().find(|span| span.parent_span_id == id && span.name == name).cloned()
            };
            let work = is_child(names::SPAN_INDEX).unwrap_or_else(|| panic!("{call:?}"));
            let said: f64 = attribute(call, names::INDEX_MS).unwrap_or_else(|| panic!("{call:?}")).parse().unwrap();
            assert!((said - took(&work).as_secs_f64() * 1e3).abs() < 1.0, "{said} ms, and {:?}", took(&work));
            assert!(took(&work) <= took(call));
            assert!(is_child(names::SPAN_INDEX_WAIT).is_none(), "no wait is recorded");
        }
        assert_eq!(seen, 6);
    });
}
