//! Puts a service together: state directory, watcher, launcher, installer, actors, gateway. Every command that serves
//! begins here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::SourceArgs;
use super::{Failure, logging, output};
use crate::limits;
use codeyard_config::{Config, Source};
use codeyard_engine::kinds;
use codeyard_engine::observed;
use codeyard_engine::programs::{Locate, Programs};
use codeyard_engine::server_context::Program;
use codeyard_engine::server_state::Unavailable;
use codeyard_engine::start::{Engine, EngineParts};
use codeyard_engine::supervisor::Configured;
use codeyard_engine::workspace_setup::Shared;
use codeyard_files::watch::Watcher;
use codeyard_gateway::permission::Permissions;
use codeyard_gateway::router::Gateway;
use codeyard_lsp::frame::FrameBudget;
use codeyard_lsp::install::{Installer, Located};
use codeyard_lsp::registry::{Registry, Server};
use codeyard_process::environment::allowed_environment;
use codeyard_process::ledger::{self, Ledger};
use codeyard_process::spawn::ProcessLauncher;
use codeyard_protocol::names::SERVER_VERSION;
use codeyard_state::auth::PermissionStore;
use codeyard_state::store::StateDir;
use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{Counts, Meters, Metrics, Observers, Pipeline, Prometheus, Telemetry};

/// A service that is put together, its workspaces open.
pub struct Service {
    /// The actors.
    pub engine: Engine,
    /// What transports call.
    pub gateway: Arc<Gateway>,
    /// The state directory.
    pub state: StateDir,
    /// The configuration it began with; a reload doesn't change this one.
    pub config: Config,
    /// What became of it.
    pub configured: Configured,
    /// What is counted.
    pub counts: Arc<Counts>,
    /// What Prometheus scrapes.
    pub prometheus: Prometheus,
    /// What leaves the process by OTLP.
    pub pipeline: Arc<Pipeline>,
}

impl Service {
    /// Stops the language servers and the actors, then sends what telemetry is left.
    pub async fn end(self) {
        self.engine.drain().await;
        let pipeline = self.pipeline;
        // It blocks, and not for long.
        drop(tokio::task::spawn_blocking(move || pipeline.shutdown()).await);
    }
}

/// Opens the state directory that the flags, the environment or the defaults name.
pub fn open_state(flag: Option<&Path>) -> Result<StateDir, Failure> {
    let path =
        StateDir::locate(flag, |name| std::env::var_os(name)).map_err(|error| Failure::new(error.to_string()))?;
    StateDir::open(&path).map_err(|error| Failure::new(chain(&error)))
}

/// The configuration that the flags name: a file, roots, or the present folder.
pub fn load_config(source: &SourceArgs) -> Result<Config, Failure> {
    match &source.config {
        Some(file) => read_config(file),
        None if source.root.is_empty() => Err(Failure::new(
            "nothing to serve: name a repository (--root PATH) or a configuration (--config FILE); try `codeyard serve --help`",
        )),
        None => {
            let roots: Result<Vec<PathBuf>, Failure> = source.root.iter().map(|root| absolute(root)).collect();
            Ok(Config::from_roots(&roots?))
        }
    }
}

/// Reads a configuration file.
pub fn read_config(file: &Path) -> Result<Config, Failure> {
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("{shown} can't be read: {error}; check the path given to --config")))?;
    let base = absolute(file.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let source = Source { file: &shown, base_dir: &base, home: home.as_deref() };
    let config = codeyard_config::parse_source(&text, source).map_err(|error| Failure::new(error.to_string()))?;
    if logging::is_filter(&config.log.filter) {
        return Ok(config);
    }
    let remedy = "write directives such as warn or codeyard=debug, with commas between";
    Err(Failure::new(format!("{shown}: log.filter: `{}` can't be read; {remedy}", config.log.filter)))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::new(format!("{} is no usable path: {error}", path.display())))
}

/// The registry of language servers with the configuration's entries laid over it.
pub fn registry_of(config: &Config) -> Result<Registry, Failure> {
    let mut tables = toml::Table::new();
    tables.insert("servers".into(), config.servers.clone().into());
    tables.insert("languages".into(), config.languages.clone().into());
    Registry::merged(&tables).map_err(|error| {
        Failure::new(format!("the configuration's language servers are wrong: {error}; see `codeyard servers list`"))
    })
}

/// The installer of a state directory, or of the folder that `CODEYARD_SERVERS_DIR` names.
pub fn installer(state: &StateDir) -> Installer {
    Installer::new(state.path())
}

/// The installer that the environment and the defaults name, of a state directory that needn't be there.
pub fn installer_in_place() -> Result<Installer, Failure> {
    let path =
        StateDir::locate(None, |name| std::env::var_os(name)).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Installer::new(&path))
}

/// Puts a service together and opens the workspaces of `config`. Must run inside a tokio runtime.
pub async fn assemble(state: StateDir, config: Config, chosen: Vec<String>) -> Result<Service, Failure> {
    let registry = registry_of(&config)?;
    if let Some(error) = kinds::unknown_in(&config.workspaces, &registry).first() {
        return Err(Failure::new(format!("the configuration is wrong: {error}")));
    }
    if let Some(kind) = registry.unknown_kind(&chosen) {
        return Err(Failure::usage(format!(
            "--server: no language server is called `{kind}`; `codeyard servers list` shows them"
        )));
    }
    let swept = ledger::sweep(state.path());
    if swept.killed > 0 {
        tracing::warn!(
            killed = swept.killed,
            "language servers of a dead codeyard were still running, and were killed"
        );
    }
    let own = Ledger::open(state.path())
        .map_err(|error| Failure::new(format!("the state directory can't be written: {error}")))?;
    let launcher = ProcessLauncher::new(Some(Arc::new(own)))
        .map_err(|error| Failure::new(format!("this program's own path can't be found: {error}")))?;
    state.make(&state.run()).map_err(|error| Failure::new(chain(&error)))?;
    let watcher = match Watcher::new(&state.run()) {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(error = %error, "files can't be watched; every question compares with disk, and nothing is retained");
            None
        }
    };
    let counts = Arc::new(Counts::default());
    let (pipeline, prometheus) = pipeline();
    let meter = pipeline.meter();
    let metrics: Arc<dyn Metrics> = Arc::new(Meters::new(&meter, counts.clone(), SERVER_VERSION));
    let shared = Shared {
        programs: Programs::new(Arc::new(Installed(installer(&state)))),
        launcher: Arc::new(launcher),
        frames: Arc::new(FrameBudget::default()),
        watcher,
        environment: Arc::new(allowed_environment()),
        metrics: metrics.clone(),
    };
    let (frames, watcher) = (shared.frames.clone(), shared.watcher.clone());
    let parts = EngineParts {
        shared,
        epochs: Arc::new(state.roots_epochs()),
        state: state.path().to_path_buf(),
        cache: state.path().join("cache"),
        chosen,
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(limits::MAX_WORKSPACE_THREADS);
    let engine =
        Engine::start(parts, threads).map_err(|error| Failure::new(format!("threads can't be started: {error}")))?;
    let configured = engine.configure(config.clone()).await.map_err(|error| Failure::new(error.to_string()))?;
    let mut telemetry = Telemetry::new(metrics).with_spans(&pipeline);
    let log = logging::calls();
    if let Some(log) = log.clone() {
        telemetry = telemetry.with_log(log);
    }
    let observers = Observers::new(&meter);
    telemetry.observed_by(&observers);
    observed::observe(&observers, &engine.directory(), &frames, watcher.as_ref());
    pipeline.losses().observed_by(&observers, log);
    let permissions = Permissions::remembered_in(Arc::new(PermissionStore::open(&state.permissions())));
    let gateway = Arc::new(Gateway::new(engine.directory(), telemetry).with_permissions(permissions));
    Ok(Service { engine, gateway, state, config, configured, counts, prometheus, pipeline })
}

/// Telemetry as the environment asks for it. What is wrong with it is logged; the service runs all the same.
fn pipeline() -> (Arc<Pipeline>, Prometheus) {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let (settings, wrong) = Settings::from_variables(variable);
    let (pipeline, prometheus, failed) = Prometheus::beside(&settings);
    for warning in wrong.into_iter().chain(failed) {
        tracing::warn!("{warning}");
    }
    (Arc::new(pipeline), prometheus)
}

/// Says which workspaces couldn't be opened; fails if that leaves none.
pub fn report_failures(configured: &Configured) -> Result<(), Failure> {
    for (name, why) in &configured.failed {
        output::complain(format_args!("codeyard: workspace {name} can't be opened: {why}"));
    }
    if configured.started.is_empty() && !configured.failed.is_empty() {
        return Err(Failure::new("no workspace could be opened; check the roots, then start again"));
    }
    Ok(())
}

/// An error with its causes, on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// The installer as the engine sees it.
struct Installed(Installer);

impl Locate for Installed {
    fn locate(&self, kind: &str, server: &Server, root: &Path) -> Result<Program, Unavailable> {
        match self.0.locate(kind, server, Some(root)) {
            Located::Ready(found) => Ok(Program {
                program: found.program,
                args: found.args,
                env: found.env,
                version: found.version,
                install: found.install,
                bin: found.bin,
            }),
            Located::NotInstalled { command } => Err(Unavailable::new(
                kind,
                "not_installed",
                "the language server for this kind of file is not installed",
                command,
            )),
            Located::Broken { .. } => Err(Unavailable::new(
                kind,
                "not_installed",
                "the language server's program is there but doesn't work",
                format!("codeyard servers install {kind}"),
            )),
        }
    }
}
