//! `docs/internals/reference/metrics.md` lists exactly the metrics that the binary exposes, and no caller can add a series.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use codeyard_base::ids::WorkspaceName;
use codeyard_model::error::ErrorCode;
use codeyard_protocol::error::Fault;
use codeyard_server::transport::http::CONNECTION_REJECTIONS;
use codeyard_server::transport::http::refusal::RefusalReason;
use codeyard_server::transport::stateless::{HEADER_MISMATCH_REASON, UNSUPPORTED_VERSION_REASON};
use codeyard_telemetry::limits::MAX_SERIES;
use codeyard_telemetry::names::instruments::{self as known, INSTRUMENTS, Instrument, Kind};
use codeyard_telemetry::{CallRecord, Metrics, Outcome, RequestRecord, RpcOutcome, RpcRecord, TransportKind};

use super::everything::{Everything, MOMENT, record, rpc};

pub(super) fn prometheus_name(instrument: &Instrument) -> String {
    let unit = match instrument.unit {
        "s" => "_seconds",
        "By" => "_bytes",
        _ => "",
    };
    let total = if matches!(instrument.kind, Kind::Counter | Kind::RealCounter) { "_total" } else { "" };
    format!("{}{unit}{total}", instrument.name.replace('.', "_"))
}

pub(super) fn prometheus_label(key: &str) -> String {
    key.replace('.', "_")
}

fn prometheus_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Histogram(_) => "histogram",
        Kind::Counter | Kind::RealCounter => "counter",
        Kind::UpDown | Kind::Gauge => "gauge",
    }
}

fn page() -> String {
    let mut rows = String::new();
    for instrument in INSTRUMENTS {
        let labels = |spell: &dyn Fn(&str) -> String| {
            let all: Vec<String> = instrument.labels.iter().map(|key| format!("`{}`", spell(key))).collect();
            if all.is_empty() { "none".to_owned() } else { all.join(", ") }
        };
        let unit = if instrument.unit.is_empty() { "none" } else { instrument.unit };
        rows.push_str(&format!(
            "| `{}` | `{}` | {} | `{unit}` | {} | {} |\n",
            instrument.name,
            prometheus_name(instrument),
            prometheus_type(instrument.kind),
            labels(&prometheus_label),
            instrument.about,
        ));
    }
    let words = |list: &[&str]| list.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let lists: String = [
        ("`codeyard_cache`", known::CACHE_WORDS),
        ("`codeyard_cursor`", known::CURSOR_WORDS),
        ("`codeyard_cap`", known::CAP_WORDS),
        ("`codeyard_index_freshness`", known::FRESHNESS_WORDS),
        ("`codeyard_job_mode`", known::JOB_MODE_WORDS),
        ("`codeyard_state` of `codeyard_index_job_duration_seconds`", known::JOB_WORDS),
        ("`codeyard_permission`", known::PERMISSION_WORDS),
        ("`codeyard_reason` of `codeyard_calls_shed_total`", known::SHED_BY),
        ("`codeyard_reason` of `codeyard_diagnostics_dropped_total`", known::DROP_WORDS),
        ("`codeyard_reason` of `codeyard_path_denials_total`", known::DENIAL_WORDS),
        ("`codeyard_reason` of `codeyard_requests_rejected_total`", known::REJECTION_WORDS),
        ("`codeyard_reason` of `codeyard_server_restarts_total`", known::RESTART_WORDS),
        ("`codeyard_reason` of `codeyard_snapshots_evicted_total`", known::EVICTION_WORDS),
        ("`codeyard_reason` of `codeyard_workspace_degraded`", known::DEGRADED_WORDS),
        ("`mcp_method_name`", known::METHOD_WORDS),
    ]
    .into_iter()
    .map(|(label, list)| format!("| {label} | {} |\n", words(list)))
    .collect();
    format!(
        "# Metrics\n\n\
         This page is generated from `src/telemetry/names/instruments.rs`. A test compares it with a scrape, and\n\
         `UPDATE_DOCS=1 cargo test --test in_memory metrics::page` writes it. Prometheus scrapes these metrics at `/metrics`, and\n\
         [OTLP](../../operate/observability.md) exports the same ones. [examples/observability](../../../examples/observability/README.md) has\n\
         a dashboard and alerts.\n\n\
         ## Series\n\n\
         | OpenTelemetry | Prometheus | type | unit | labels | meaning |\n|---|---|---|---|---|---|\n{rows}\n\
         ## Values of labels\n\n\
         The value of a label is a constant of codeyard, or a name of a catalog or of the registry of language servers, never a\n\
         caller's text. A value that the table doesn't list counts as the last value of its row. No label names a session or a\n\
         principal, and only `codeyard_workspace_degraded` names workspaces. An instrument has at most {MAX_SERIES} series. Further series are summed up under\n\
         `otel_metric_overflow`.\n\n\
         | label | values |\n|---|---|\n{lists}"
    )
}

#[test]
fn the_documented_metrics_equal_the_scraped_ones() {
    let everything = Everything::new();
    everything.happens();
    let read = everything.read();
    let named: BTreeSet<String> = INSTRUMENTS.iter().map(|instrument| prometheus_name(instrument)).collect();
    assert_eq!(read.families.keys().cloned().collect::<BTreeSet<_>>(), named);
    for instrument in INSTRUMENTS {
        let family = &read.families[&prometheus_name(instrument)];
        let labels: BTreeSet<String> = instrument.labels.iter().map(|key| prometheus_label(key)).collect();
        assert_eq!(family.labels(), labels.iter().map(String::as_str).collect(), "{}", instrument.name);
        assert_eq!((&*family.kind, &*family.help), (prometheus_type(instrument.kind), instrument.about));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/internals/reference/metrics.md");
    let wanted = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/internals/reference/metrics.md is out of date; run this test with UPDATE_DOCS=1");
}

#[test]
fn no_caller_can_add_a_series() {
    let mut everything = Everything::new();
    everything.happens();
    let odd = ErrorCode::ALL
        .map(|code| CallRecord { rpc_code: Some(-32_603), ..record("vscode.lsp.hover", Outcome::Failed(code)) });
    odd.iter().for_each(|call| everything.meters.call(call));
    let failed = RequestRecord {
        method: known::OTHER_METHOD,
        transport: TransportKind::Pipe,
        error: Some(-32_601),
        total: MOMENT,
    };
    everything.meters.request(&failed);
    everything.meters.rpc(&rpc(RpcOutcome::Error(1)));
    let before = everything.read().series();
    for n in 0..1_000_i32 {
        let text = format!("odd {n}");
        for call in &odd {
            let call = CallRecord {
                workspace: WorkspaceName::new(&format!("w{n}")),
                session: Some(text.clone()),
                request_id: text.clone(),
                rpc_code: Some(-32_603),
                ..call.clone()
            };
            everything.meters.call(&call);
        }
        everything.meters.rejected(&text);
        everything.meters.shed(&text);
        everything.meters.evicted(&text, 1);
        everything.meters.request(&failed);
        everything.meters.rpc(&rpc(RpcOutcome::Error(i64::from(n) + 2)));
        everything.runs("pyright");
    }
    let read = everything.read();
    assert_eq!(read.series(), before);
    assert_eq!(read.sum("codeyard_workspaces", &[]), 1_001.0);
    assert_eq!(read.sum("codeyard_requests_rejected_total", &[("codeyard_reason", "other")]), 1_000.0);
}

#[test]
fn excess_kinds_are_summed_in_one_series() {
    let everything = Everything::new();
    for n in 0..3_000 {
        everything.meters.restart(&format!("kind{n}"), "crashed");
        let server = codeyard_base::ids::ServerKind::new(&format!("kind{n}"));
        everything.meters.rpc(&RpcRecord { server, ..rpc(RpcOutcome::Ok) });
    }
    let read = everything.read();
    assert!(read.families["rpc_client_call_duration_seconds"].series() <= MAX_SERIES + 1);
    assert_eq!(read.sum("rpc_client_call_duration_seconds_count", &[]), 3_000.0);
    assert!(read.families["codeyard_server_restarts_total"].series() <= MAX_SERIES + 1);
    assert_eq!(read.sum("codeyard_server_restarts_total", &[]), 3_000.0);
}

#[test]
fn every_refusal_reason_is_a_label_value() {
    let reasons =
        RefusalReason::ALL.iter().map(|refusal| refusal.reason()).filter(|reason| *reason != "malformed_message");
    let faults = Fault::ALL.iter().map(|fault| fault.reason());
    let stateless = [HEADER_MISMATCH_REASON, UNSUPPORTED_VERSION_REASON];
    let all: BTreeSet<&str> =
        reasons.chain(faults).chain(stateless).chain(CONNECTION_REJECTIONS).chain(["other"]).collect();
    assert_eq!(known::REJECTION_WORDS.iter().copied().collect::<BTreeSet<_>>(), all);
}

#[test]
fn scrapes_and_calls_do_not_block_each_other() {
    let everything = Arc::new(Everything::new());
    let calling = everything.clone();
    let calls = std::thread::spawn(move || {
        for _ in 0..20_000 {
            calling.meters.call(&record("vscode.lsp.hover", Outcome::Ok));
        }
    });
    let mut last = 0.0;
    while !calls.is_finished() {
        let now = everything.read().sum("mcp_server_operation_duration_seconds_count", &[]);
        assert!(now >= last);
        last = now;
    }
    calls.join().unwrap();
    let read = everything.read();
    assert_eq!(read.sum("mcp_server_operation_duration_seconds_count", &[]), 20_000.0);
    assert_eq!(read.sum("codeyard_queue_wait_seconds_count", &[]), 20_000.0);
}
