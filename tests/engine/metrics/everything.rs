//! A scrape in which every instrument has a value under every label: what the binary can expose at all.

use std::sync::Arc;
use std::time::Duration;

use codeyard::base::ids::{PrincipalId, ServerKind, WorkspaceName};
use codeyard::engine::census::{ServerCell, ServerPhase, WorkspaceCell};
use codeyard::engine::directory::Directory;
use codeyard::engine::observed;
use codeyard::lsp::frame::FrameBudget;
use codeyard::model::error::ErrorCode;
use codeyard::telemetry::settings::Settings;
use codeyard::telemetry::{
    CacheUse, CallRecord, Counts, CursorOutcome, Meters, Metrics, Observers, Outcome, PermissionOutcome, Pipeline,
    PrincipalHash, Prometheus, RequestRecord, RpcOutcome, RpcRecord, Telemetry, TransportKind,
};

use super::exposition::Exposition;

/// Meters with everything registered that the binary registers.
pub struct Everything {
    pub meters: Arc<Meters>,
    pub directory: Arc<Directory>,
    pub cells: Vec<Arc<WorkspaceCell>>,
    pub servers: Vec<Arc<ServerCell>>,
    prometheus: Prometheus,
    _pipeline: Pipeline,
}

impl Everything {
    pub fn new() -> Self {
        let (pipeline, prometheus, warnings) = Prometheus::beside(&Settings::default());
        assert_eq!(warnings, [""; 0]);
        let meter = pipeline.meter();
        let meters = Arc::new(Meters::new(&meter, Arc::new(Counts::default()), "1.2.3"));
        let directory = Arc::new(Directory::default());
        let observers = Observers::new(&meter);
        Telemetry::new(meters.clone()).observed_by(&observers);
        observed::observe(&observers, &directory, &Arc::new(FrameBudget::default()), None);
        pipeline.losses().observed_by(&observers, None);
        let mut all = Self { meters, directory, cells: vec![], servers: vec![], prometheus, _pipeline: pipeline };
        all.runs("pyright");
        all
    }

    /// Another workspace with a server.
    pub fn runs(&mut self, kind: &str) {
        let cell = self.directory.census().workspace();
        let server = cell.server(ServerKind::new(kind));
        server.set_phase(ServerPhase::Ready);
        server.set_memory(1_000);
        self.cells.push(cell);
        self.servers.push(server);
    }

    /// Causes whatever a label needs.
    pub fn happens(&self) {
        let meters = &self.meters;
        meters.call(&record("vscode.lsp.hover", Outcome::Ok));
        meters.call(&CallRecord { rpc_code: Some(-32_603), ..record("unknown", Outcome::Failed(ErrorCode::NotFound)) });
        meters.call(&record("vscode.lsp.hover", Outcome::Cancelled));
        let request = RequestRecord { method: "ping", transport: TransportKind::Tcp, error: None, total: MOMENT };
        meters.request(&request);
        meters.rpc(&rpc(RpcOutcome::Ok));
        meters.rpc(&rpc(RpcOutcome::Error(-32_801)));
        meters.session(TransportKind::Tcp, MOMENT);
        meters.ready("pyright", MOMENT);
        meters.index_job("full", "published", MOMENT);
        meters.restart("pyright", "crashed");
    }

    pub fn read(&self) -> Exposition {
        Exposition::parse(&self.prometheus.render())
    }
}

pub const MOMENT: Duration = Duration::from_millis(3);

pub fn record(tool: &str, outcome: Outcome) -> CallRecord {
    CallRecord {
        tool: tool.into(),
        catalog: "lsp-v1",
        workspace: WorkspaceName::new("w"),
        principal: PrincipalHash::of(&PrincipalId::local()),
        transport: TransportKind::Pipe,
        request_id: "1".into(),
        session: None,
        protocol_version: "2025-11-25",
        operation: None,
        language: None,
        servers: vec![],
        epochs: None,
        cache: Some(CacheUse::Fresh),
        cursor: Some(CursorOutcome::Continued),
        waited_for: None,
        repeats: 0,
        permission: Some(PermissionOutcome::Allowed),
        asked: Duration::ZERO,
        freshness: None,
        completeness: None,
        index: Duration::ZERO,
        outcome,
        rpc_code: None,
        reason: None,
        cap: None,
        bytes: 1,
        items: None,
        items_total: None,
        queue: MOMENT,
        wait: MOMENT,
        server: MOMENT,
        canonicalise: MOMENT,
        outside: 0,
        total: MOMENT,
        trace_id: None,
        span_id: None,
    }
}

pub fn rpc(outcome: RpcOutcome) -> RpcRecord {
    RpcRecord { method: "textDocument/hover", server: ServerKind::new("pyright"), outcome, duration: MOMENT }
}
