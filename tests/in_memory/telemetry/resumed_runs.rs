//! Runs that go on after a restart: their work belongs to the trace of the call that has asked for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use codeyard_base::ids::WorkspaceName;
use codeyard_config::{Config, WorkspaceConfig};
use codeyard_engine::run::{RunHandle, RunLimits, RunService};
use codeyard_engine::server::program::programs::{Locate, Program, Programs};
use codeyard_engine::status::server_state::Unavailable;
use codeyard_engine::supervisor::engine::{Engine, EngineParts};
use codeyard_engine::workspace::handle::WorkspaceHandle;
use codeyard_engine::workspace::messages::{OpenRun, StartRun};
use codeyard_engine::workspace::setup::EngineShared;
use codeyard_lsp::registry::ServerSpec;
use codeyard_process::launch::{LaunchError, LaunchSpec, LaunchedServer, Launcher};
use codeyard_runs::durable_run::RunStart;
use codeyard_runs::event::{Event, TraceContext};
use codeyard_runs::machine::{Activity, Advance, Command, StageResult};
use codeyard_runs::observer::RunStatus;
use codeyard_runs::run_host::{HostError, RunHost};
use codeyard_runs::stage::{ItemOutput, Stage, StageCode, StageError};
use codeyard_runs::work_item::WorkItemSpec;
use codeyard_runs::workflow::{Role, State, Workflow};
use codeyard_state::StateDir;
use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{NoMetrics, Pipeline, Telemetry};
use futures::FutureExt;
use futures::future::BoxFuture;
use opentelemetry_sdk::trace::SpanData;
use serde_json::{Value, json};

use crate::engine::harness::{Site, in_real_time};
use crate::telemetry::captured::Caught;

static FLOW: Workflow = Workflow {
    name: "flow",
    states: &[
        State::new("CREATED", Role::Step { stage: "write", next: "CHECKING" }),
        State::new("CHECKING", Role::Check { stage: "check", next: "READY", repair: "REPAIRING" })
            .stable()
            .with_validation(),
        State::new("REPAIRING", Role::Repair { stage: "repair", check: "CHECKING" }).with_validation(),
        State::new("READY", Role::Ready { stage: "publish", next: "PUBLISHED", check: "CHECKING" })
            .stable()
            .with_validation(),
        State::new("PUBLISHED", Role::Published { next: "DONE" }),
        State::new("DONE", Role::Done),
        State::new("FAILED", Role::Failed),
        State::new("CANCELLED", Role::Cancelled),
    ],
};

/// The item `second` of each stage waits for the end of the process, unless it is free.
struct Code {
    is_free: bool,
    waits: Arc<AtomicBool>,
}

impl StageCode for Code {
    fn workflow(&self) -> &'static Workflow {
        &FLOW
    }

    fn items(&self, stage: &Stage<'_>) -> Result<Vec<WorkItemSpec>, StageError> {
        let item = |scope: &str| WorkItemSpec { worker: stage.work.stage, scope: scope.to_owned() };
        Ok(vec![item("first"), item("second")])
    }

    fn work(&self, stage: &Stage<'_>, item: &WorkItemSpec) -> Result<ItemOutput, StageError> {
        if item.scope == "second" && !self.is_free {
            self.waits.store(true, SeqCst);
            while !stage.stop.is_set() {
                std::thread::yield_now();
            }
            return Err(StageError::cancelled());
        }
        Ok(ItemOutput::default())
    }

    fn finish(&self, stage: &Stage<'_>, _: &[Value]) -> Result<StageResult, StageError> {
        Ok(if stage.work.stage == "check" { StageResult::Report { ok: false } } else { StageResult::Done })
    }
}

/// Has no language server.
struct NoServers;

impl Locate for NoServers {
    fn locate(&self, kind: &str, _: &ServerSpec, _: &Path) -> Result<Program, Unavailable> {
        Err(Unavailable::new(kind, "not_installed", "not installed", "install it"))
    }
}

impl Launcher for NoServers {
    fn launch(&self, _: &LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>> {
        futures::future::pending().boxed()
    }
}

/// One life of a server with one workspace.
struct Life {
    engine: Engine,
    pipeline: Pipeline,
    captured: Caught,
    waits: Arc<AtomicBool>,
}

impl Life {
    async fn begin(site: &Site, is_free: bool) -> Self {
        let captured = Caught::default();
        let (settings, _) = Settings::from_variables(|_| None);
        let (pipeline, _) = Pipeline::start_with(&settings, captured.clone(), |builder| builder);
        let telemetry = Telemetry::new(Arc::new(NoMetrics)).with_spans(&pipeline);
        let state = StateDir::open(&site.base().join("state")).unwrap();
        let store = state.store().unwrap();
        let waits = Arc::new(AtomicBool::new(false));
        let code = Arc::new(Code { is_free, waits: waits.clone() });
        // A thread of the life before may still have the folder, which a process that ends gives up.
        let host = loop {
            match RunHost::open(code.clone(), &state.path().join("runs"), store.clone()) {
                Err(HostError::InUse { .. }) => tokio::time::sleep(Duration::from_millis(1)).await,
                opened => break opened.unwrap(),
            }
        };
        let limits = RunLimits {
            active: 2,
            active_per_workspace: 2,
            waiting_per_workspace: 2,
            keep_work: Duration::from_secs(60),
        };
        let shared = EngineShared {
            programs: Programs::new(Arc::new(NoServers)),
            launcher: Arc::new(NoServers),
            frames: Arc::default(),
            watcher: None,
            environment: Arc::default(),
            metrics: Arc::new(NoMetrics),
            runs: Ok(Arc::new(RunService::new(host, limits, telemetry))),
        };
        let cache = site.base().join("cache");
        let engine =
            Engine::start_here(EngineParts { shared, store, state: state.path().to_path_buf(), cache, chosen: vec![] });
        let mut config = Config::default();
        config.workspaces.push(WorkspaceConfig::new(WorkspaceName::new("w").unwrap(), vec![site.root.clone()]));
        assert_eq!(engine.configure(config).await.unwrap().failed, []);
        Self { engine, pipeline, captured, waits }
    }

    fn workspace(&self) -> Arc<WorkspaceHandle> {
        self.engine.directory().all().into_iter().next().unwrap()
    }

    async fn start(&self, advance: Advance, trace: &TraceContext) -> String {
        let start = RunStart { workspace: String::new(), subject: "s".into(), advance, config: json!({}) };
        let started = self.workspace().actor.send(StartRun { start, key: None, trace: trace.clone() }).await;
        started.unwrap().unwrap().id.as_str().to_owned()
    }

    async fn run(&self, id: &str) -> RunHandle {
        self.workspace().actor.send(OpenRun(id.to_owned())).await.unwrap().unwrap()
    }

    async fn until_it_waits(&self) {
        while !self.waits.swap(false, SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Ends the server and returns its spans.
    async fn end(self) -> Vec<SpanData> {
        self.engine.drain().await;
        self.pipeline.shutdown();
        self.captured.spans()
    }
}

fn trace(digit: char, span: char) -> TraceContext {
    TraceContext { trace_id: digit.to_string().repeat(32), span_id: span.to_string().repeat(16), parent_span_id: None }
}

/// Whether it has a report and nothing is left to do.
fn checked(status: &RunStatus) -> bool {
    status.view.progress.activity == Activity::Idle && status.view.progress.report.is_some()
}

/// The trace and the parent of a span.
fn ids(span: &SpanData) -> (String, String) {
    (span.span_context.trace_id().to_string(), span.parent_span_id.to_string())
}

#[test]
fn work_after_a_restart_is_below_the_call_that_asked_for_it() {
    in_real_time(|| async {
        let site = Site::usual();
        let started = trace('a', 'b');
        let validated = trace('c', 'd');
        let life = Life::begin(&site, false).await;
        let id = life.start(Advance::Auto, &started).await;
        life.until_it_waits().await;
        let spans = life.end().await;
        assert!(
            !spans.is_empty()
                && spans.iter().all(|span| ids(span) == (started.trace_id.clone(), started.span_id.clone()))
        );

        // It goes on by itself, to its first report.
        let life = Life::begin(&site, true).await;
        let run = life.run(&id).await;
        run.wait_for(checked).await;
        let log = std::fs::read_to_string(run.live().folder().events()).unwrap();
        drop(run);
        let spans = life.end().await;
        let names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
        assert_eq!(names, ["work item write", "work item check", "work item check"]);
        assert!(spans.iter().all(|span| ids(span) == (started.trace_id.clone(), started.span_id.clone())));
        let events: Vec<Event> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(events.iter().all(|event| event.trace_id == started.trace_id), "{log}");

        // Another call asks for more. Its work goes on below it, not below the start.
        let life = Life::begin(&site, false).await;
        life.run(&id).await.apply(Command::Validate, validated.clone()).await.unwrap();
        life.until_it_waits().await;
        life.end().await;
        let life = Life::begin(&site, true).await;
        let run = life.run(&id).await;
        run.wait_for(checked).await;
        drop(run);
        let spans = life.end().await;
        assert_eq!(spans.iter().map(|span| &*span.name).collect::<Vec<_>>(), ["work item check"]);
        assert_eq!(ids(&spans[0]), (validated.trace_id, validated.span_id));
    });
}

#[test]
fn a_run_without_a_trace_gets_a_new_one() {
    in_real_time(|| async {
        let site = Site::usual();
        let life = Life::begin(&site, false).await;
        let id = life.start(Advance::Auto, &TraceContext::default()).await;
        life.until_it_waits().await;
        life.end().await;
        let life = Life::begin(&site, true).await;
        let run = life.run(&id).await;
        run.wait_for(checked).await;
        drop(run);
        let spans = life.end().await;
        let (first, parent) = ids(&spans[0]);
        assert_eq!((spans.len(), parent.as_str()), (3, "0000000000000000"));
        assert!(spans.iter().all(|span| ids(span).0 == first));
    });
}
