//! Real OpenTelemetry receivers: the trace of a call, from the client's `traceparent` to the language server.
//!
//! Phoenix stores traces and answers queries about them, except for a span's kind; the collector prints all data that it receives.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::e2e::place::Place;
use crate::mcp::{Mcp, pause, until};
use crate::running_server::Yard;
use crate::world::http::{get, post};
use crate::world::parts::{python_with_phoenix, rotel};
use crate::world::program::{Service, run_well};

/// The client's parent span.
const CLIENT_SPAN: &str = "00f067aa0ba902b7";
/// Longest time until data arrives.
const LIMIT_MS: u64 = 60_000;

fn phoenix(folder: &Path) -> Service {
    let command = |ports: &[u16]| {
        let mut command = python_with_phoenix();
        command.args(["-m", "phoenix.server.main", "serve"]);
        command.env("PHOENIX_WORKING_DIR", folder).env("PHOENIX_HOST", "127.0.0.1").env("HOME", folder);
        command.env("PHOENIX_PORT", ports[0].to_string()).env("PHOENIX_GRPC_PORT", ports[1].to_string());
        for (name, value) in [
            ("PHOENIX_TELEMETRY_ENABLED", "false"),
            ("PHOENIX_ALLOW_EXTERNAL_RESOURCES", "false"),
            ("PHOENIX_DISABLE_AGENT_ASSISTANT", "true"),
        ] {
            command.env(name, value);
        }
        command
    };
    let is_ready =
        |ports: &[u16]| get(&format!("http://127.0.0.1:{}/healthz", ports[0])).is_ok_and(|(status, _)| status == 200);
    Service::start(2, command, is_ready)
}

/// A collector with OTLP over gRPC on its first port and HTTP on its second; it prints all received data.
fn collector() -> Service {
    let command = |ports: &[u16]| -> Command {
        let mut command = rotel();
        command.args([
            "start", "--exporter", "blackhole", "--debug-log", "traces", "--debug-log", "metrics",
            "--debug-log-verbosity", "detailed",
        ]);
        command.arg("--otlp-grpc-endpoint").arg(format!("127.0.0.1:{}", ports[0]));
        command.arg("--otlp-http-endpoint").arg(format!("127.0.0.1:{}", ports[1]));
        command
    };
    let takes = |port: &u16| std::net::TcpStream::connect(("127.0.0.1", *port)).is_ok();
    Service::start(2, command, |ports| ports.iter().all(takes))
}

/// Serves with spans, and metrics if wanted, sent to `endpoint`.
fn serve(place: &Place, endpoint: &str, protocol: &str, metrics: &str) -> Yard {
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_METRICS_EXPORTER", metrics),
        ("OTEL_SERVICE_NAME", "codeyard-under-test"),
        ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "500"),
    ];
    Yard::serve_in(&place.workspace(), &[], &environment)
}

/// Requests a definition, each time in a new trace, until it is answered; returns that trace.
fn traced_call(place: &Place, client: &mut Mcp, salt: u8) -> String {
    let arguments = place.definition().0;
    for attempt in 0..40_u8 {
        let trace = format!("4bf92f3577b34da6a3ce929d0e0e{salt:02x}{attempt:02x}");
        let meta = json!({"traceparent": format!("00-{trace}-{CLIENT_SPAN}-01")});
        let params = json!({"name": "vscode.lsp.definition", "arguments": arguments, "_meta": meta});
        let answer: Value = serde_json::from_str(&client.call_params(&params)).expect("JSON");
        if answer.get("error").is_none() {
            place.assert_right(&answer["result"]["structuredContent"]);
            return trace;
        }
        let details = &answer["error"]["data"]["details"];
        assert_eq!(details["reason"], "timeout", "{answer}");
        pause(details["retryAfterMs"].as_u64().expect("a hint").min(2_000));
    }
    panic!("never ready");
}

/// A span as Phoenix stores it.
#[derive(Debug)]
struct Span {
    name: String,
    id: String,
    parent: Option<String>,
    status: String,
    attributes: Value,
}

fn spans_of(phoenix: &Service, trace: &str) -> Vec<Span> {
    let query = "query($trace: ID!) { projects { edges { node { name trace(traceId: $trace) { spans(first: 100) { edges { \
                 node { name spanId parentId statusCode attributes } } } } } } } }";
    let url = format!("http://127.0.0.1:{}/graphql", phoenix.port(0));
    let answer = post(&url, &json!({"query": query, "variables": {"trace": trace}}));
    let projects = answer["data"]["projects"]["edges"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let of_project =
        |project: &Value| project["node"]["trace"]["spans"]["edges"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let span = |edge: Value| {
        let node = &edge["node"];
        let attributes = serde_json::from_str(node["attributes"].as_str().expect("a text")).expect("JSON");
        let parent = node["parentId"].as_str().map(str::to_owned);
        Span {
            name: text(&node["name"]),
            id: text(&node["spanId"]),
            parent,
            status: text(&node["statusCode"]),
            attributes,
        }
    };
    projects.iter().flat_map(of_project).map(span).collect()
}

/// Value of a dotted attribute; Phoenix stores them as nested objects.
fn attribute<'a>(span: &'a Span, name: &str) -> &'a Value {
    let mut value = &span.attributes;
    for part in name.split('.') {
        value = &value[part];
    }
    value
}

/// Spans of a language server request and of its call, once both have arrived.
fn asked_and_call(phoenix: &Service, trace: &str, method: &str, log: &str) -> (Span, Span) {
    let mut found = None;
    let complete = until(LIMIT_MS, || {
        let mut spans = spans_of(phoenix, trace);
        found = spans.iter().position(|span| span.name == method).and_then(|at| {
            let asked = spans.swap_remove(at);
            let call = spans.into_iter().find(|span| Some(&span.id) == asked.parent.as_ref())?;
            Some((asked, call))
        });
        found.is_some()
    });
    assert!(complete, "only {:#?} arrived\n{log}", spans_of(phoenix, trace));
    found.expect("it is complete")
}

fn assert_trace(phoenix: &Service, trace: &str, log: &str) {
    let (asked, call) = asked_and_call(phoenix, trace, "textDocument/definition", log);
    assert_eq!(call.name, "tools/call vscode.lsp.definition");
    assert_eq!(call.parent.as_deref(), Some(CLIENT_SPAN), "the client's span is its parent");
    assert_eq!(call.status, "UNSET");
    for (name, value) in [
        ("mcp.method.name", json!("tools/call")),
        ("gen_ai.tool.name", json!("vscode.lsp.definition")),
        ("gen_ai.operation.name", json!("execute_tool")),
        ("mcp.protocol.version", json!("2025-11-25")),
        ("network.transport", json!("tcp")),
        ("codeyard.workspace", json!("python")),
        ("codeyard.language", json!("python")),
    ] {
        assert_eq!(attribute(&call, name), &value, "{name} in {call:?}");
    }
    assert!(attribute(&call, "mcp.session.id").is_string(), "{call:?}");
    assert_eq!(attribute(&asked, "rpc.system.name"), "jsonrpc");
    for span in spans_of(phoenix, trace).iter().filter(|span| span.id != call.id) {
        assert_eq!(span.parent.as_ref(), Some(&call.id), "{} hangs below the call", span.name);
    }
}

/// One Phoenix for all checks, because it starts slowly.
#[test]
#[ignore = "slow: fetches Phoenix from PyPI"]
fn phoenix_shows_complete_traces() {
    let folder = tempfile::tempdir().expect("a folder");
    let phoenix = phoenix(folder.path());
    let place = Place::new("python");
    from_the_client_to_the_language_server(&phoenix, &place);
    with_the_official_clients_own_spans(&phoenix, &place, folder.path());
    with_what_is_left_at_the_end(&phoenix, &place);
    place.assert_untouched();
    phoenix.stop();
}

fn from_the_client_to_the_language_server(phoenix: &Service, place: &Place) {
    for (salt, protocol, port) in [(1, "http/protobuf", phoenix.port(0)), (2, "grpc", phoenix.port(1))] {
        let yard = serve(place, &format!("http://127.0.0.1:{port}"), protocol, "none");
        let trace = traced_call(place, &mut yard.client("python"), salt);
        assert_trace(phoenix, &trace, &yard.log());
        yard.stop();
    }
}

/// The official client creates its own spans and propagates them if OpenTelemetry is set up.
fn with_the_official_clients_own_spans(phoenix: &Service, place: &Place, folder: &Path) {
    let receiver = format!("http://127.0.0.1:{}", phoenix.port(0));
    let yard = serve(place, &receiver, "http/protobuf", "none");
    place.ask(&mut yard.client("python"));
    let plan = json!({
        "receiver": format!("{receiver}/v1/traces"),
        "url": format!("http://{}/mcp/python", yard.address),
        "token": yard.token,
        "tool": "vscode.lsp.hover",
        "arguments": place.definition().0,
    });
    let file = folder.join("plan.json");
    std::fs::write(&file, plan.to_string()).expect("a file");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/world/clients/traced.py");
    let printed = run_well(python_with_phoenix().arg(script).arg(file));
    let report: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let trace = report["trace"].as_str().expect("a trace");
    let (_, call) = asked_and_call(phoenix, trace, "textDocument/hover", &yard.log());
    assert_eq!(call.name, "tools/call vscode.lsp.hover");
    let mut above = vec![call.parent.expect("a parent")];
    let spans = spans_of(phoenix, trace);
    while let Some(span) = spans.iter().find(|span| Some(&span.id) == above.last()) {
        above.extend(span.parent.clone());
        if span.parent.is_none() {
            break;
        }
    }
    assert_eq!(above.last().map(String::as_str), report["span"].as_str(), "the agent's span is at the top: {spans:#?}");
    yard.stop();
}

fn with_what_is_left_at_the_end(phoenix: &Service, place: &Place) {
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*format!("http://127.0.0.1:{}", phoenix.port(0))),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_METRICS_EXPORTER", "none"),
        ("OTEL_BSP_SCHEDULE_DELAY", "3600000"),
    ];
    let yard = Yard::serve_in(&place.workspace(), &[], &environment);
    let trace = traced_call(place, &mut yard.client("python"), 3);
    assert!(spans_of(phoenix, &trace).is_empty(), "nothing is sent yet");
    let log = yard.log();
    yard.stop();
    assert_trace(phoenix, &trace, &log);
}

#[test]
#[ignore = "slow: fetches a collector from PyPI"]
fn a_collector_accepts_traces_with_kinds_and_metrics() {
    let place = Place::new("python");
    for (salt, protocol, port) in [(4, "grpc", 0), (5, "http/protobuf", 1)] {
        let collector = collector();
        let endpoint = format!("http://127.0.0.1:{}", collector.port(port));
        let yard = serve(&place, &endpoint, protocol, "otlp");
        let trace = traced_call(&place, &mut yard.client("python"), salt);
        let report = || format!("{protocol}\n{}\n{}", collector.printed(), yard.log());
        let both = || CALL.is_in(&collector, &trace) && ASKED.is_in(&collector, &trace);
        assert!(until(LIMIT_MS, both), "{}", report());
        for metric in ["mcp.server.operation.duration", "rpc.client.call.duration"] {
            assert!(until(LIMIT_MS, || collector.printed().contains(metric)), "{metric}: {}", report());
        }
        yard.stop();
        collector.stop();
    }
}

/// A span with its kind, as the collector prints them.
struct Kind {
    name: &'static str,
    kind: &'static str,
}

const CALL: Kind = Kind { name: "tools/call vscode.lsp.definition", kind: "SPAN_KIND_SERVER" };
const ASKED: Kind = Kind { name: "textDocument/definition", kind: "SPAN_KIND_CLIENT" };

impl Kind {
    /// Whether the collector has printed it as a span of the trace.
    fn is_in(&self, collector: &Service, trace: &str) -> bool {
        collector.printed().split("Span #").any(|span| {
            let says = |name: &str, wanted: &str| {
                let mut lines = span.lines().filter_map(|line| line.split_once(':'));
                lines.any(|(own, value)| own.trim() == name && value.trim() == wanted)
            };
            says("Trace ID", trace) && says("Name", self.name) && says("Kind", self.kind)
        })
    }
}
