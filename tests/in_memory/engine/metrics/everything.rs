//! A scrape in which every instrument has a value under every label: all that the binary can expose.

use std::sync::Arc;
use std::time::Duration;

use codeyard_access::Principal;
use codeyard_audit::AuditLog;
use codeyard_base::ids::{ServerKind, TenantId, WorkspaceName};
use codeyard_config::AuditSection;
use codeyard_config::WorkspaceConfig;
use codeyard_engine::status::registry::WorkspaceStatus;
use codeyard_engine::status::server_state::ServerState;
use codeyard_engine::status::server_status::{LanguageServerStatus, ServerIdentity, ServerReport};
use codeyard_engine::supervisor::directory::Directory;
use codeyard_engine::supervisor::messages::{WorkspaceEntry, WorkspaceListing};
use codeyard_engine::supervisor::metrics;
use codeyard_lsp::client::ConnectionReader;
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_model::error::ErrorCode;
use codeyard_process::launch::{Process, ProcessExit, ProcessFigures};
use codeyard_server::tls::{CertificateCallers, CertificateFiles, ServerTls};
use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{
    CacheUse, CallRecord, Counts, CursorOutcome, Meters, Metrics, Observers, Outcome, PermissionOutcome, Pipeline,
    PrincipalHash, Prometheus, RequestRecord, RpcOutcome, RpcRecord, Telemetry, TransportKind,
};
use codeyard_test_support::certificates::Authority;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::exposition::Exposition;

/// Meters with the same registrations as in the binary.
pub(super) struct Everything {
    pub meters: Arc<Meters>,
    pub directory: Arc<Directory>,
    pub cells: Vec<Arc<WorkspaceStatus>>,
    pub servers: Vec<Arc<LanguageServerStatus>>,
    pub processes: Vec<Arc<dyn Process>>,
    prometheus: Prometheus,
    _pipeline: Pipeline,
}

struct Running;

impl Process for Running {
    fn id(&self) -> Option<u32> {
        None
    }

    fn exited(&self) -> BoxFuture<'static, ProcessExit> {
        std::future::pending().boxed()
    }

    fn terminate(&self) {}

    fn kill(&self) {}

    fn group_is_empty(&self) -> bool {
        false
    }

    fn stderr_tail(&self) -> String {
        String::new()
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(1_000)
    }
}

impl Everything {
    pub(super) fn new() -> Self {
        let (pipeline, prometheus, warnings) = Prometheus::with_pipeline(&Settings::default());
        assert_eq!(warnings, [""; 0]);
        let meter = pipeline.meter();
        let meters = Arc::new(Meters::new(&meter, Arc::new(Counts::default()), "1.2.3"));
        let directory = Arc::new(Directory::default());
        let observers = Observers::new(&meter);
        Telemetry::new(meters.clone()).register_with(&observers);
        metrics::observe(&observers, &directory, &Arc::new(FrameBudget::default()), None);
        pipeline.losses().register_with(&observers, None);
        let folder = tempfile::tempdir().unwrap();
        let section = AuditSection { enabled: true, ..AuditSection::default() };
        AuditLog::start(folder.path(), &section).unwrap().register_with(&observers);
        let (certificate, key) = Authority::new("any").issue(&["localhost"]).write(folder.path());
        let files = CertificateFiles { certificate, key, client_ca: None };
        ServerTls::open(files, CertificateCallers::default()).unwrap().register_with(&observers);
        let mut all = Self {
            meters,
            directory,
            cells: vec![],
            servers: vec![],
            processes: vec![],
            prometheus,
            _pipeline: pipeline,
        };
        all.runs("pyright");
        all
    }

    /// Another workspace with a server.
    pub(super) fn runs(&mut self, kind: &str) {
        let cell = self.directory.status_registry().workspace(Arc::default());
        let workspace = WorkspaceName::new("w").unwrap();
        let id = format!("{kind}-1");
        let root = "./".to_owned();
        let kind = ServerKind::new(kind);
        let server = cell.server(ServerIdentity { workspace, id, kind, version: None, root, memory_limit: None });
        server.publish(ServerReport { state: ServerState::Ready, ..server.report() });
        let process: Arc<dyn Process> = Arc::new(Running);
        server.set_process(&process, ConnectionReader::default(), std::sync::Weak::new());
        server.set_figures(&process, ProcessFigures { memory_bytes: Some(1_000), server_id: None });
        self.processes.push(process);
        self.cells.push(cell);
        self.servers.push(server);
    }

    /// Causes the events that produce every label value.
    pub(super) fn happens(&self) {
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
        meters.start_admitted(MOMENT);
        meters.index_job("full", "published", MOMENT);
        meters.restart("pyright", "crashed");
        meters.server_evicted("pyright");
        let config = WorkspaceConfig::new(WorkspaceName::new("gone").unwrap(), vec!["/gone".into()]);
        let gone = WorkspaceEntry { config, put: false, revision: String::new(), handle: None, problem: None };
        self.directory.publish_listing(WorkspaceListing { entries: vec![gone], ..WorkspaceListing::default() });
    }

    pub(super) fn read(&self) -> Exposition {
        Exposition::parse(&self.prometheus.render())
    }
}

pub(super) const MOMENT: Duration = Duration::from_millis(3);

pub(super) fn record(tool: &str, outcome: Outcome) -> CallRecord {
    CallRecord {
        tool: tool.into(),
        catalog: "lsp-v1",
        workspace: WorkspaceName::new("w"),
        group: None,
        principal: PrincipalHash::of(&Principal::local()),
        tenant: TenantId::default_tenant(),
        transport: TransportKind::Pipe,
        request_id: "1".into(),
        session: None,
        protocol_version: "2025-11-25",
        operation: None,
        run: None,
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

pub(super) fn rpc(outcome: RpcOutcome) -> RpcRecord {
    RpcRecord { method: "textDocument/hover", server: ServerKind::new("pyright"), outcome, duration: MOMENT }
}
