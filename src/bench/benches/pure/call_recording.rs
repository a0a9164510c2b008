//! Cost of telemetry for one call: its record, two child spans, a request to a language server. Other threads create spans
//! and write lines, and compete for the processor.

use std::sync::Arc;

use codeyard_access::Principal;
use codeyard_audit::AuditLog;
use codeyard_base::ids::{ServerKind, TenantId, WorkspaceName};
use codeyard_config::AuditSection;
use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{
    CallReply, CallStart, CallTrace, LineFormat, LogQueue, NoMetrics, OpenCall, Pipeline, RequestOrigin, RpcOutcome,
    Telemetry, TraceContext, TransportKind,
};
use criterion::Criterion;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// Accepts and drops spans.
#[derive(Debug)]
struct Nowhere;

impl SpanExporter for Nowhere {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        Ok(())
    }
}

pub(crate) fn all(criterion: &mut Criterion) {
    let (pipeline, _) = Pipeline::start_with(&Settings::default(), Nowhere, |builder| builder);
    let log = LogQueue::start(LineFormat::Json, std::io::sink()).unwrap();
    // Without a subscriber no line is written.
    drop(tracing_subscriber::fmt().with_writer(std::io::sink).try_init());
    let folder = tempfile::tempdir().unwrap();
    let section = AuditSection { enabled: true, ..AuditSection::default() };
    let audit = Arc::new(AuditLog::start(folder.path(), &section).unwrap());
    let off = || Telemetry::new(Arc::new(NoMetrics));
    let ways = [
        ("off", off()),
        ("spans", off().with_spans(&pipeline)),
        ("log", off().with_log(log.clone())),
        ("spans and log", off().with_spans(&pipeline).with_log(log)),
        ("audit", off().with_audit(audit.clone())),
    ];
    let mut group = criterion.benchmark_group("telling of a call");
    for (name, telemetry) in ways {
        let call = Call::new();
        group.bench_function(name, |bencher| bencher.iter(|| call.record(&telemetry)));
    }
    group.finish();
    pipeline.shutdown();
}

struct Call {
    tool: Arc<str>,
    workspace: WorkspaceName,
    principal: Principal,
    server: ServerKind,
    context: TraceContext,
}

impl Call {
    fn new() -> Self {
        Self {
            tool: Arc::from("vscode.lsp.hover"),
            workspace: WorkspaceName::from_folder(&TenantId::default_tenant(), "repo"),
            principal: Principal::local(),
            server: ServerKind::new("ty"),
            context: TraceContext::default(),
        }
    }

    fn record(&self, telemetry: &Telemetry) {
        let start = CallStart {
            tool: Some(self.tool.clone()),
            asked_tool: "hover",
            catalog: "lsp-v1",
            workspace: Some(self.workspace.clone()),
            principal: &self.principal,
            peer: None,
            arguments: Some(r#"{"filePath":"src/engine/query/index_comparison.rs","line":120,"character":17}"#),
            transport: TransportKind::Tcp,
            request_id: "7",
            session: None,
            protocol_version: "2025-11-25",
            context: &self.context,
        };
        let open = OpenCall::begin(telemetry, start);
        let trace: CallTrace = open.trace().clone();
        trace.mark_admitted();
        let asker = RequestOrigin::Call(trace);
        asker.record_server(&self.server);
        asker.lsp("textDocument/hover", &self.server).end(RpcOutcome::Ok);
        drop(asker.canonicalise());
        let _ = open.end(Ok(()), CallReply { bytes: 400, ..CallReply::default() });
    }
}
