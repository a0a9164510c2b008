//! No secret leaves the process: the tests put arguments, tokens, source text and paths outside the roots in
//! every possible place and search all output for them.

use std::sync::Arc;

use codeyard_base::ids::PrincipalId;
use codeyard_gateway::service::{Principal, TraceContext};
use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{LineFormat, LineWriter, LogQueue};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::engine::harness::*;
use crate::fake_server::*;
use crate::telemetry::captured::{Memory, Watched};

const SECRET: &str = "zebra7f3a";

struct Lines(Arc<LogQueue>);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = LineWriter;

    fn make_writer(&'a self) -> LineWriter {
        LineWriter(self.0.clone())
    }
}

#[test]
fn spans_and_log_lines_contain_no_secret() {
    let memory = Memory::default();
    let queue = LogQueue::start(LineFormat::Json, memory.clone()).unwrap();
    let log = tracing_subscriber::fmt().json().with_max_level(tracing::Level::TRACE).with_writer(Lines(queue.clone()));
    log.init();
    let spans = Arc::new(Mutex::new(String::new()));
    let lines = queue.clone();
    let found = spans.clone();
    paused(|| async move {
        let site = Site::new(&[("a.fake", &format!("{SECRET} = 1\nbeta\n"))]);
        let outside =
            json!([{"uri": format!("file:///{SECRET}/b.fake"), "range": range(0)}, site.location("a.fake", 0)]);
        let fake = FakeServer::new()
            .capabilities(json!({
                "definitionProvider": true, "hoverProvider": true, "referencesProvider": true,
                "documentSymbolProvider": true, "workspaceSymbolProvider": true, "textDocumentSync": 1
            }))
            .stderr(&format!("{SECRET} on stderr\n"))
            .answer("textDocument/definition", outside)
            .answer("textDocument/hover", json!({"contents": format!("```\n{SECRET}\n```")}))
            .on("textDocument/references", [fail(-32603, &format!("no {SECRET} here"))])
            .answer("textDocument/documentSymbol", json!({"malformed": SECRET}))
            .on("workspace/symbol", [exit(1)]);
        let plan = Plan::one(site, fake.launcher()).telemetry_setup(move |watched| watched.with_log(lines.clone()));
        let watched = Watched::open(plan, Settings::default()).await;
        let yard = &watched.yard;
        let at = yard.site().at("a.fake", 0, 0);
        let asks: Vec<(&str, Value)> = vec![
            (DEFINITION, at.clone()),
            (HOVER, at.clone()),
            (REFERENCES, at.clone()),
            (DOCUMENT_SYMBOLS, yard.site().of("a.fake")),
            (WORKSPACE_SYMBOLS, json!({"query": SECRET})),
            (DEFINITION, json!({"uri": format!("file:///{SECRET}/x.fake"), "position": {"line": 0, "character": 0}})),
            (DEFINITION, json!({SECRET: SECRET})),
            (SECRET, json!({})),
            (
                REFERENCES,
                json!({"uri": yard.site().uri("a.fake"), "position": {"line": 0, "character": 0}, "cursor": SECRET}),
            ),
        ];
        for (tool, arguments) in asks {
            let mut call = yard.tool_call("w0", tool, arguments);
            call.principal = Principal::named(PrincipalId::new(SECRET));
            call.trace = TraceContext {
                traceparent: Some(SECRET.into()),
                tracestate: Some(format!("a={SECRET}")),
                ..TraceContext::default()
            };
            drop(yard.run(call).await);
        }
        let spans = watched.spans().await;
        assert!(spans.len() >= 9);
        *found.lock() = format!("{spans:?}");
    });
    queue.flush();
    queue.flush();
    let text = String::from_utf8(memory.0.lock().clone()).unwrap();
    let calls: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect(line))
        .filter(|line| line["target"] == "codeyard::call")
        .collect();
    assert_eq!(calls.len(), 9, "one line each, {} dropped: {calls:#?}", queue.dropped());
    for field in [
        "timestamp", "level", "principal", "workspace", "tool", "outcome", "queue_ms", "server_ms", "total_ms",
        "bytes", "items", "cache_hit",
    ] {
        assert!(calls.iter().all(|line| line.get(field).is_some()), "{field} is missing");
    }
    assert_eq!(
        (&calls[0]["outcome"], &calls[0]["items"], &calls[0]["cache"]),
        (&json!("ok"), &json!(1), &json!("fresh"))
    );
    let failed =
        calls.iter().find(|line| line["tool"] == REFERENCES && line["code"] == "PROVIDER_UNAVAILABLE").unwrap();
    assert_eq!((&failed["outcome"], &failed["reason"]), (&json!("error"), &json!("server_error")));
    assert!(calls.iter().all(|line| line["trace_id"].as_str().is_some_and(|id| id.len() == 32)));
    // One field shows operators the last lines of a server's standard error: why it ended.
    let ends = text.lines().filter(|line| line.contains("\"stderr\":")).count();
    assert!(ends > 0, "no line says why the server ended: {text}");
    let others: String = text.lines().map(|line| without_stderr(line) + "\n").collect();
    for (what, watched) in [("the log", &others), ("the spans", &*spans.lock())] {
        let leak = watched.find(SECRET).map(|at| &watched[at.saturating_sub(300)..watched.len().min(at + 100)]);
        assert_eq!(leak, None, "{what}");
    }
}

/// A log line without the field that holds a server's standard error.
fn without_stderr(line: &str) -> String {
    let mut line: Value = serde_json::from_str(line).expect(line);
    if line["target"] == "codeyard_engine::server::lifecycle"
        && let Some(fields) = line["fields"].as_object_mut()
    {
        fields.remove("stderr");
    }
    line.to_string()
}
