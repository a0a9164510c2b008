//! Shared by the tests of this target: a folder of files, a service on the current thread, and calls to it.

use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codeyard_base::ids::{GroupName, TenantId, WorkspaceName};
use codeyard_config::{Config, ContentMode, WorkspaceConfig};
use codeyard_engine::server::program::programs::Program;
use codeyard_engine::server::program::programs::{Locate, Programs};
use codeyard_engine::status::server_state::Unavailable;
use codeyard_engine::supervisor::engine::{Engine, EngineParts};
use codeyard_engine::supervisor::metrics;
use codeyard_engine::workspace::messages::{RestartChild, Warm, WorkspaceHealth};
use codeyard_engine::workspace::setup::EngineShared;
use codeyard_files::watch::Watcher;
use codeyard_gateway::router::Gateway;
use codeyard_gateway::service::{Endpoint, Principal, Service, ToolCall, ToolReply, TraceContext, TransportKind};
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::registry::ServerSpec;
use codeyard_model::uri::encode_path;
use codeyard_process::launch::{LaunchError, LaunchSpec, LaunchedServer, Launcher};
use codeyard_state::{StateDir, StoreHandle};
use codeyard_telemetry::{Counts, Metrics, Observers, Telemetry};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub(crate) const DEFINITION: &str = "vscode.lsp.definition";
pub(crate) const REFERENCES: &str = "vscode.lsp.references";
pub(crate) const HOVER: &str = "vscode.lsp.hover";
pub(crate) const DOCUMENT_SYMBOLS: &str = "vscode.lsp.documentSymbols";
pub(crate) const WORKSPACE_SYMBOLS: &str = "vscode.lsp.workspaceSymbols";
pub(crate) const DOCUMENT_DIAGNOSTICS: &str = "vscode.lsp.diagnostics.document";
pub(crate) const WORKSPACE_DIAGNOSTICS: &str = "vscode.lsp.diagnostics.workspace";

/// No test takes this long on any machine.
const HUNG_TEST: Duration = Duration::from_secs(20 * 60);

/// Runs a test on paused time. The clock doesn't advance while blocking work runs.
pub(crate) fn paused<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    run(true, test);
}

/// Runs a test on real time.
pub(crate) fn in_real_time<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    run(false, test);
}

fn run<F: Future<Output = ()>>(paused: bool, test: impl FnOnce() -> F) {
    if std::env::var_os("TEST_LOG").is_some() {
        let _ = tracing_subscriber::fmt().with_test_writer().try_init();
    }
    // Actors and calls run on this thread.
    codeyard_base::blocking::forbid_here();
    // Readers of git are processes, and a test binary has no such role.
    codeyard_process::confined::use_program(env!("CARGO_BIN_EXE_codeyard").into(), Vec::new());
    let runtime = move || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(paused).build().expect("a runtime")
    };
    let (_ended, is_ended) = std::sync::mpsc::channel::<()>();
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::spawn(move || {
        if is_ended.recv_timeout(HUNG_TEST) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            // A test that waits for ever would otherwise end the whole run without a word about which one it was.
            let _ = writeln!(std::io::stderr(), "the test {name} hangs; the run is aborted");
            std::process::abort();
        }
    });
    actix_rt::System::with_tokio_rt(runtime).block_on(test());
}

/// A temporary folder of files.
pub(crate) struct Site {
    folder: tempfile::TempDir,
    pub root: PathBuf,
}

impl Site {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("root");
        std::fs::create_dir(&root).unwrap();
        let site = Self { folder, root };
        for (name, text) in files {
            site.write(name, text);
        }
        site
    }

    /// A site with one file of three lines.
    pub(crate) fn usual() -> Self {
        Self::new(&[("a.fake", "alpha\nbeta\ngamma\n")])
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.root.join(name)).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.root.join(from), self.root.join(to)).unwrap();
    }

    pub(crate) fn uri(&self, name: &str) -> String {
        encode_path(&self.root.join(name))
    }

    pub(crate) fn location(&self, name: &str, line: u32) -> Value {
        location(&self.uri(name), line)
    }

    /// Arguments of a query for a position.
    pub(crate) fn at(&self, name: &str, line: u32, character: u32) -> Value {
        json!({"uri": self.uri(name), "position": {"line": line, "character": character}})
    }

    /// Arguments of a query for a document.
    pub(crate) fn of(&self, name: &str) -> Value {
        json!({"uri": self.uri(name)})
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }
}

pub(crate) fn location(uri: &str, line: u32) -> Value {
    json!({"uri": uri, "range": range(line)})
}

pub(crate) fn range(line: u32) -> Value {
    json!({"start": {"line": line, "character": 0}, "end": {"line": line, "character": 4}})
}

pub(crate) fn finding(line: u32, message: &str) -> Value {
    json!({"range": range(line), "severity": 2, "message": message})
}

/// A language server kind in the registry of a test.
pub(crate) struct Entry {
    name: String,
    launcher: Arc<dyn Launcher>,
    entry: String,
    language: &'static str,
    is_linter: bool,
    installed: bool,
}

impl Entry {
    pub(crate) fn new(name: &str, launcher: Arc<dyn Launcher>) -> Self {
        Self { name: name.into(), launcher, entry: String::new(), language: "fake", is_linter: false, installed: true }
    }

    /// Uses another file extension.
    pub(crate) fn other(mut self) -> Self {
        self.language = "other";
        self
    }

    /// Uses a language of the built-in registry.
    pub(crate) fn of(mut self, language: &'static str) -> Self {
        self.language = language;
        self
    }

    /// Appends TOML to its entry, such as `quirks.anchor = true`.
    pub(crate) fn entry(mut self, toml: &str) -> Self {
        self.entry.push_str(toml);
        self.entry.push('\n');
        self
    }

    pub(crate) fn linter(mut self) -> Self {
        self.is_linter = true;
        self
    }

    pub(crate) fn missing(mut self) -> Self {
        self.installed = false;
        self
    }
}

/// Changes the telemetry of a service, for example to add spans or a log.
type TelemetrySetup = Arc<dyn Fn(Telemetry) -> Telemetry + Send + Sync>;

/// Changes the state store of a service, for example to let it fail.
type StoreSetup = Arc<dyn Fn(StoreHandle) -> StoreHandle + Send + Sync>;

/// What a service is made of besides its files and servers.
#[derive(Clone)]
struct Setup {
    metrics: Arc<dyn Metrics>,
    telemetry: TelemetrySetup,
    store: StoreSetup,
}

/// Builder of a service.
pub(crate) struct Plan {
    site: Site,
    more: Vec<Site>,
    kinds: Vec<Entry>,
    watched: bool,
    walked: bool,
    metrics: Option<Arc<dyn Metrics>>,
    telemetry_setup: TelemetrySetup,
    store_setup: StoreSetup,
    tune: Box<dyn FnOnce(&mut Config)>,
}

impl Plan {
    pub(crate) fn new(site: Site) -> Self {
        Self {
            site,
            more: vec![],
            kinds: vec![],
            watched: true,
            walked: true,
            metrics: None,
            telemetry_setup: Arc::new(|telemetry| telemetry),
            store_setup: Arc::new(|store| store),
            tune: Box::new(|_| {}),
        }
    }

    /// A service with one kind of server.
    pub(crate) fn one(site: Site, launcher: Arc<dyn Launcher>) -> Self {
        Self::new(site).kind(Entry::new("fake", launcher))
    }

    pub(crate) fn kind(mut self, kind: Entry) -> Self {
        self.kinds.push(kind);
        self
    }

    pub(crate) fn unwatched(mut self) -> Self {
        self.watched = false;
        self
    }

    /// Without waiting for the watcher's first walk.
    pub(crate) fn at_once(mut self) -> Self {
        self.walked = false;
        self
    }

    /// Another workspace: `w1`, `w2`, ...
    pub(crate) fn workspace(mut self, site: Site) -> Self {
        self.more.push(site);
        self
    }

    pub(crate) fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Changes the telemetry of the service, for example to add spans or a log.
    pub(crate) fn telemetry_setup(
        mut self,
        telemetry_setup: impl Fn(Telemetry) -> Telemetry + Send + Sync + 'static,
    ) -> Self {
        let before = self.telemetry_setup;
        self.telemetry_setup = Arc::new(move |telemetry| telemetry_setup(before(telemetry)));
        self
    }

    /// Changes the state store of the service, for example to let it fail.
    pub(crate) fn store_setup(mut self, store: impl Fn(StoreHandle) -> StoreHandle + Send + Sync + 'static) -> Self {
        self.store_setup = Arc::new(store);
        self
    }

    pub(crate) fn tune(mut self, tune: impl FnOnce(&mut Config) + 'static) -> Self {
        self.tune = Box::new(tune);
        self
    }

    pub(crate) async fn open(self) -> Yard {
        let mut config = config_of(&self.kinds);
        let sites: Vec<Site> = [self.site].into_iter().chain(self.more).collect();
        for (number, site) in sites.iter().enumerate() {
            let name = WorkspaceName::new(&format!("w{number}")).unwrap();
            config.workspaces.push(WorkspaceConfig::new(name, vec![site.root.clone()]));
        }
        (self.tune)(&mut config);
        let counts = Arc::new(Counts::default());
        let metrics = self.metrics.unwrap_or_else(|| counts.clone());
        let kinds = Arc::new(Kinds { kinds: self.kinds });
        let setup = Setup { metrics, telemetry: self.telemetry_setup, store: self.store_setup };
        let yard = Yard::open(sites, config, kinds, self.watched, setup, counts).await;
        if self.walked {
            yard.walk().await;
        }
        yard
    }
}

fn config_of(kinds: &[Entry]) -> Config {
    let mut config = Config {
        languages: "fake = { extensions = [\"fake\"] }\nother = { extensions = [\"other\"] }".parse().unwrap(),
        ..Config::default()
    };
    for (priority, kind) in kinds.iter().enumerate() {
        let group = if kind.is_linter { kind.name.as_str() } else { kind.language };
        let role = if kind.is_linter { "linter" } else { "primary" };
        // Appended to the built-in entries, none of which is installed.
        let priority = if ["fake", "other"].contains(&kind.language) { priority } else { 1_000 + priority };
        let text = format!(
            "languages = [\"{}\"]\ngroup = \"{group}\"\nrole = \"{role}\"\npriority = {priority}\ncommand = [\"{}\"]\n{}",
            kind.language, kind.name, kind.entry
        );
        let entry: toml::Table = text.parse().unwrap();
        config.servers.insert(kind.name.clone(), entry.into());
    }
    config
}

/// Finds and starts fake servers.
struct Kinds {
    kinds: Vec<Entry>,
}

impl Locate for Kinds {
    fn locate(&self, kind: &str, _: &ServerSpec, _: &Path) -> Result<Program, Unavailable> {
        if !self.kinds.iter().any(|known| known.name == kind && known.installed) {
            return Err(Unavailable::new(
                kind,
                "not_installed",
                "not installed",
                format!("codeyard servers install {kind}"),
            ));
        }
        Ok(Program {
            program: PathBuf::from("/fake").join(kind),
            args: vec![],
            env: Default::default(),
            install: None,
            bin: None,
            version: None,
            checker: None,
        })
    }
}

impl Launcher for Kinds {
    fn launch(&self, spec: &LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>> {
        let name = spec.program.file_name().unwrap().to_string_lossy().into_owned();
        self.kinds.iter().find(|kind| kind.name == name).expect("a known kind").launcher.launch(spec)
    }
}

/// A running service.
pub(crate) struct Yard {
    pub sites: Vec<Site>,
    pub config: Config,
    pub counts: Arc<Counts>,
    pub gateway: Arc<Gateway>,
    pub watcher: Option<Watcher>,
    engine: Option<Engine>,
    kinds: Arc<Kinds>,
    watched: bool,
    setup: Setup,
    telemetry: Telemetry,
    frames: Arc<FrameBudget>,
}

impl Yard {
    async fn open(
        sites: Vec<Site>,
        config: Config,
        kinds: Arc<Kinds>,
        watched: bool,
        setup: Setup,
        counts: Arc<Counts>,
    ) -> Self {
        let state = StateDir::open(&sites[0].base().join("state")).unwrap();
        let watcher = watched.then(|| Watcher::new(state.path()).unwrap());
        let frames = Arc::new(FrameBudget::default());
        let shared = EngineShared {
            programs: Programs::new(kinds.clone()),
            launcher: kinds.clone(),
            frames: frames.clone(),
            watcher: watcher.clone(),
            environment: Arc::default(),
            metrics: setup.metrics.clone(),
            runs: Err("this test has none".into()),
        };
        let parts = EngineParts {
            shared,
            store: (setup.store)(state.store().unwrap()),
            state: state.path().to_path_buf(),
            cache: sites[0].base().join("cache"),
            chosen: vec![],
        };
        let engine = Engine::start_here(parts);
        let done = engine.configure(config.clone()).await.unwrap();
        assert_eq!(done.failed, [], "workspaces must open");
        let telemetry = (setup.telemetry)(Telemetry::new(setup.metrics.clone()));
        let gateway = Arc::new(Gateway::new(engine.directory(), telemetry.clone()));
        Self { setup, telemetry, frames, sites, config, counts, gateway, watcher, engine: Some(engine), kinds, watched }
    }

    /// Watches all workspaces: from then on queries are shared and snapshots retained.
    pub(crate) async fn walk(&self) {
        for workspace in self.engine().directory().all() {
            workspace.actor.send(Warm).await.unwrap();
        }
        while self.health().await.iter().any(|health| matches!(health.watching.as_str(), "idle" | "starting")) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Ends the service and starts another one with the same state directory.
    pub(crate) async fn reopen(mut self) -> Self {
        self.engine.take().unwrap().drain().await;
        Self::open(self.sites, self.config, self.kinds, self.watched, self.setup, self.counts).await
    }

    /// Registers the same observers as the binary.
    pub(crate) fn register_with(&self, observers: &Observers<'_>) {
        self.telemetry.register_with(observers);
        metrics::observe(observers, &self.engine().directory(), &self.frames, self.watcher.as_ref());
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    /// Files of the first workspace.
    pub(crate) fn site(&self) -> &Site {
        &self.sites[0]
    }

    /// Reloads with another configuration.
    pub(crate) async fn reconfigure(&mut self, tune: impl FnOnce(&mut Config)) {
        tune(&mut self.config);
        let done = self.engine().configure(self.config.clone()).await.unwrap();
        assert_eq!(done.failed, []);
    }

    /// Epochs of roots, text, files and diagnostics of the first workspace.
    pub(crate) async fn epochs(&self) -> [u64; 4] {
        self.health().await[0].epochs
    }

    pub(crate) async fn drain(mut self) {
        self.engine.take().unwrap().drain().await;
    }

    /// What the workspaces have published, after they have handled all messages so far.
    pub(crate) async fn health(&self) -> Vec<WorkspaceHealth> {
        for workspace in self.engine().directory().all() {
            // Its handler does nothing else here.
            workspace.actor.send(RestartChild(String::new())).await.ok();
        }
        settle().await;
        self.engine().health().await
    }

    /// A call to the first workspace.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Called {
        self.start("w0", tool, arguments).await
    }

    /// A call to the first workspace in its own task.
    pub(crate) fn spawn(&self, tool: &str, arguments: Value) -> JoinHandle<Called> {
        tokio::spawn(self.start("w0", tool, arguments))
    }

    /// A running call; dropping it cancels it.
    pub(crate) fn start(&self, workspace: &str, tool: &str, arguments: Value) -> BoxFuture<'static, Called> {
        self.run(self.tool_call(workspace, tool, arguments))
    }

    /// A call as the transport creates it, for tests that change it before it runs.
    pub(crate) fn tool_call(&self, workspace: &str, tool: &str, arguments: Value) -> ToolCall {
        tool_call(workspace, "lsp-v1", tool, arguments)
    }

    /// Runs a call that the test created.
    pub(crate) fn run(&self, call: ToolCall) -> BoxFuture<'static, Called> {
        let began = Instant::now();
        let reply = self.gateway.call(call);
        async move { Called { reply: reply.await, took: began.elapsed() } }.boxed()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub reply: ToolReply,
    pub took: Duration,
}

impl Called {
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.reply, ToolReply::Result(_))
    }

    /// Whether the tool `lsp` succeeded, its text, and its `metadata.error`.
    #[track_caller]
    pub(crate) fn lsp(&self) -> (bool, String, Value) {
        let whole: Value = serde_json::from_slice(self.bytes()).unwrap();
        let text = whole["content"][0]["text"].as_str().unwrap().to_owned();
        (whole["isError"] == false, text, whole["structuredContent"]["metadata"]["error"].clone())
    }

    /// The payload; panics if the call failed.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        let whole: Value = serde_json::from_slice(self.bytes()).unwrap();
        whole["structuredContent"].clone()
    }

    /// Bytes of the reply; panics if the call failed with a JSON-RPC error.
    #[track_caller]
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.reply {
            ToolReply::Result(bytes) | ToolReply::InputRequired(bytes) | ToolReply::Refusal { result: bytes, .. } => {
                bytes
            }
            ToolReply::Error { data, .. } => panic!("the call failed: {data:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn summary(&self) -> String {
        self.ok()["summary"].as_str().unwrap().to_owned()
    }

    /// Error code without prefix, and details; panics if the call succeeded.
    #[track_caller]
    pub(crate) fn error(&self) -> (String, Value) {
        match &self.reply {
            ToolReply::Error { data: Some(data), .. } => {
                let data: Value = serde_json::from_slice(data).unwrap();
                let code = data["code"].as_str().unwrap().strip_prefix("MCP_LSP_GATEWAY/").unwrap().to_owned();
                (code, data["details"].clone())
            }
            other => panic!("the call did not fail: {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn failed(&self, code: &str) -> Value {
        let (found, details) = self.error();
        assert_eq!(found, code, "{details}");
        details
    }

    /// Asserts that it failed with this code and reason.
    #[track_caller]
    pub(crate) fn failed_as(&self, code: &str, reason: &str) -> Value {
        let details = self.failed(code);
        assert_eq!(details["reason"], reason, "{details}");
        details
    }

    /// Asserts that it timed out in this phase after exactly two seconds.
    #[track_caller]
    pub(crate) fn timed_out(&self, phase: &str) -> Value {
        let details = self.failed_as("CAP_EXCEEDED", "timeout");
        assert_eq!(details["phase"], phase, "{details}");
        assert!(details["retryAfterMs"].as_u64().unwrap() > 0);
        self.took_about(2_000);
        details
    }

    /// Asserts its duration within a few ticks of the clock.
    #[track_caller]
    pub(crate) fn took_about(&self, ms: u64) {
        near(self.took, ms);
    }
}

#[track_caller]
pub(crate) fn near(took: Duration, ms: u64) {
    let took = u64::try_from(took.as_millis()).unwrap();
    assert!((ms..=ms + 10).contains(&took), "{took} ms instead of {ms} ms");
}

/// Runs all tasks and blocking work until they wait, without advancing time.
pub(crate) async fn settle() {
    for _ in 0..20 {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        // Work that began before has usually ended by the end of this one, and its task goes on.
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
    }
}

/// Settles until the condition holds, without advancing time. Blocking work may take several rounds on a busy machine.
pub(crate) async fn settle_until(done: impl Fn() -> bool) {
    for _ in 0..1_000 {
        settle().await;
        if done() {
            return;
        }
    }
}

/// Advances time.
pub(crate) async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// A custom launcher.
pub(crate) struct LaunchBy<F>(pub F);

impl<F> Launcher for LaunchBy<F>
where
    F: Fn(&LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>> + Send + Sync,
{
    fn launch(&self, spec: &LaunchSpec) -> BoxFuture<'static, Result<LaunchedServer, LaunchError>> {
        (self.0)(spec)
    }
}

/// The call of a tool at the endpoint of a workspace or a group, as the transport creates it.
pub(crate) fn tool_call(workspace: &str, catalog: &str, tool: &str, arguments: Value) -> ToolCall {
    ToolCall {
        endpoint: Endpoint {
            tenant: TenantId::default_tenant(),
            workspace: WorkspaceName::new(workspace),
            group: GroupName::of_endpoint(workspace),
            catalogs: Arc::from([catalog.to_owned()]),
            content: ContentMode::default(),
        },
        principal: Principal::local(),
        tool: tool.to_owned(),
        arguments: Some(RawValue::from_string(arguments.to_string()).unwrap()),
        progress: None,
        prompts: None,
        input: None,
        revision: codeyard_protocol::revision::Revision::DEFAULT,
        trace: TraceContext::default(),
        request_id_text: "1".into(),
        session: None,
        transport: TransportKind::Pipe,
        peer: None,
    }
}
