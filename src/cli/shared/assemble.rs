//! Assembles the service from its parts: state directory, configuration, watcher, launcher, installer, actors, gateway, telemetry.
//! Every command that serves uses it. It opens no listener.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::Failure;
use crate::args::SourceArgs;
use crate::shared::launch_runs::LaunchRuns;
use crate::shared::{audit, logging, output, workspace_folders};
use codeyard_audit::AuditLog;
use codeyard_config::{CheckedText, Config, ProtocolSection, Source};
use codeyard_engine::server::program::programs::Program;
use codeyard_engine::server::program::programs::{Locate, Programs};
use codeyard_engine::status::server_state::Unavailable;
use codeyard_engine::supervisor::engine::{Engine, EngineParts};
use codeyard_engine::supervisor::messages::ConfigureReport;
use codeyard_engine::supervisor::metrics;
use codeyard_engine::supervisor::server_selection_check;
use codeyard_engine::workspace::setup::EngineShared;
use codeyard_files::watch::Watcher;
use codeyard_gateway::permission::Permissions;
use codeyard_gateway::router::Gateway;
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::install::{Installer, ProgramStatus};
use codeyard_lsp::registry::{Registry, ServerSpec};
use codeyard_process::environment::allowed_environment;
use codeyard_process::ledger::{self, Ledger};
use codeyard_process::orphans;
use codeyard_process::spawn::ProcessLauncher;
use codeyard_process::temp_dirs::TempDirs;
use codeyard_protocol::names::SERVER_VERSION;
use codeyard_protocol::revision::{Revision, RevisionSet};
use codeyard_signon::SignOn;
use codeyard_state::{PermissionStore, StateDir, StoreHandle};
use codeyard_telemetry::settings::Settings;
use codeyard_telemetry::{Counts, Meters, Metrics, Observers, Pipeline, Prometheus, Telemetry};

/// Most threads that workspaces and their connections run on; fewer where there are fewer processors.
const MAX_WORKSPACE_THREADS: usize = 32;
/// Longest time in which a stopping process removes temporary files and exports telemetry, in milliseconds.
const LAST_EXPORT_MS: u64 = 3_000;

/// The assembled service with its workspaces open.
pub struct AssembledService {
    /// The engine: all actors.
    pub engine: Engine,
    /// The gateway that transports call.
    pub gateway: Arc<Gateway>,
    /// The authorization servers whose access tokens count.
    pub sign_on: Arc<SignOn>,
    pub state: StateDir,
    /// The configuration at start; a reload doesn't change it.
    pub config: Config,
    /// Which workspaces were started from it, and which failed.
    pub configured: ConfigureReport,
    /// Counts of finished calls.
    pub counts: Arc<Counts>,
    /// The registry of the metrics that Prometheus scrapes.
    pub prometheus: Prometheus,
    /// The OTLP export.
    pub pipeline: Arc<Pipeline>,
    /// The audit log, if there is one.
    pub audit: Option<Arc<AuditLog>>,
    temp_dirs: Arc<TempDirs>,
}

impl AssembledService {
    /// Stops the language servers and the actors, removes temporary files, then exports the remaining telemetry.
    pub async fn shut_down(self) {
        self.engine.drain().await;
        if let Some(audit) = &self.audit {
            audit.stop();
        }
        let pipeline = self.pipeline;
        let temp_dirs = self.temp_dirs;
        // The shutdown of the pipeline blocks its thread for a bounded time.
        let last = move || {
            temp_dirs.close();
            pipeline.shutdown();
        };
        let limit = Duration::from_millis(LAST_EXPORT_MS);
        if tokio::time::timeout(limit, tokio::task::spawn_blocking(last)).await.is_err() {
            tracing::warn!("temporary files or telemetry are left: the time for them is over");
        }
    }
}

/// Opens the state directory: `flag`, else the one of the environment, else the default one.
pub fn open_state(flag: Option<&Path>) -> Result<StateDir, Failure> {
    let path =
        StateDir::locate(flag, |name| std::env::var_os(name)).map_err(|error| Failure::new(error.to_string()))?;
    StateDir::open(&path).map_err(|error| Failure::new(error_chain(&error)))
}

/// Opens the store of the state directory: tokens, permissions, epochs and the warm set.
pub fn open_store(state: &StateDir) -> Result<StoreHandle, Failure> {
    state.store().map_err(|error| Failure::new(error.to_string()))
}

/// The configuration of the flags: a file, or one workspace for each root.
pub fn load_config(source: &SourceArgs) -> Result<Config, Failure> {
    match &source.config {
        Some(file) => read_config(file),
        None if source.root.is_empty() => Err(Failure::new(
            "nothing to serve: no root and no configuration given; use --root PATH or --config FILE, see `codeyard serve --help`",
        )),
        None => {
            let roots: Result<Vec<PathBuf>, Failure> = source.root.iter().map(|root| absolute(root)).collect();
            Ok(Config::from_roots(&roots?))
        }
    }
}

/// Reads and checks a configuration file. The workspaces of its patterns are in it.
pub fn read_config(file: &Path) -> Result<Config, Failure> {
    Ok(expanded(&read_config_file(file)?))
}

/// The configuration with the workspaces of its patterns.
pub fn expanded(config: &Config) -> Config {
    let expanded = workspace_folders::expand(config, &[]);
    expanded.problems.iter().for_each(|problem| tracing::warn!("{problem}"));
    expanded.config
}

/// Reads and checks a configuration file. Its patterns of workspaces are not expanded.
pub fn read_config_file(file: &Path) -> Result<Config, Failure> {
    let config = with_config_text(file, codeyard_config::parse_source)?;
    let config = config.map_err(|error| Failure::new(error.to_string()))?;
    match filter_error(file, &config) {
        Some(error) => Err(Failure::new(error)),
        None => Ok(config),
    }
}

/// Reads a configuration file, and finds everything that is wrong with it.
pub fn check_config_file(file: &Path) -> Result<CheckedText, Failure> {
    with_config_text(file, codeyard_config::parse_all)
}

/// The error of a filter of the log that can't be read.
pub fn filter_error(file: &Path, config: &Config) -> Option<String> {
    let filter = &config.log.filter;
    let remedy = "write directives such as `warn` or `codeyard=debug`, separated by commas";
    let error = || format!("{}: log.filter: `{filter}` is not a valid filter; {remedy}", file.display());
    (!logging::is_filter(filter)).then(error)
}

/// Calls `parse` with the text of a configuration file.
fn with_config_text<T>(file: &Path, parse: impl FnOnce(&str, Source<'_>) -> T) -> Result<T, Failure> {
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::new(format!("cannot read the configuration {shown}: {error}; check the path given to --config"))
    })?;
    let base = absolute(file.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    Ok(parse(&text, Source { file: &shown, base_dir: &base, home: home.as_deref() }))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::new(format!("cannot make the path {} absolute: {error}", path.display())))
}

/// The built-in registry of language servers, merged with the entries of the configuration.
pub fn registry_of(config: &Config) -> Result<Registry, Failure> {
    let mut tables = toml::Table::new();
    tables.insert("servers".into(), config.servers.clone().into());
    tables.insert("languages".into(), config.languages.clone().into());
    Registry::merged(&tables).map_err(|error| {
        Failure::new(format!(
            "invalid language servers in the configuration: {error}; `codeyard servers list` shows the known kinds"
        ))
    })
}

/// What is wrong with the language servers of a configuration that together have the failure `whole`: each entry is tried alone.
pub fn registry_errors(config: &Config, whole: &Failure) -> Vec<String> {
    let alone = config.servers.iter().map(|(kind, entry)| {
        let one = toml::Table::from_iter([(kind.clone(), entry.clone())]);
        registry_of(&Config { servers: one, languages: config.languages.clone(), ..Config::default() })
    });
    let mut errors: Vec<String> = alone.filter_map(|merged| Some(merged.err()?.message)).collect();
    if errors.is_empty() {
        errors.push(whole.message.clone());
    }
    errors.dedup();
    errors
}

/// The installer for a state directory. `CODEYARD_SERVERS_DIR` overrides where it installs.
pub fn installer(state: &StateDir) -> Installer {
    Installer::new(state.path())
}

/// The installer for the state directory of the environment or the default one. The directory need not exist.
pub fn default_installer() -> Result<Installer, Failure> {
    let path =
        StateDir::locate(None, |name| std::env::var_os(name)).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Installer::new(&path))
}

/// Assembles the service and opens the workspaces of `config`. `chosen` are the kinds given with `--server`. Must run inside a tokio
/// runtime.
pub async fn assemble(state: StateDir, config: Config, chosen: Vec<String>) -> Result<AssembledService, Failure> {
    let registry = registry_of(&config)?;
    if let Some(error) = server_selection_check::unknown_in(&config.workspaces, &registry).first() {
        return Err(Failure::new(format!("invalid configuration: {error}")));
    }
    if let Some(kind) = registry.unknown_kind(&chosen) {
        return Err(Failure::usage(format!(
            "--server: no language server is called `{kind}`; `codeyard servers list` shows the known kinds"
        )));
    }
    let store = open_store(&state)?;
    let killed = ledger::sweep(state.path()).killed + orphans::kill_abandoned();
    if killed > 0 {
        tracing::warn!(killed, "killed language servers and tools that a crashed codeyard process had left running");
    }
    let own = Ledger::open(state.path()).map_err(|error| {
        Failure::new(format!("cannot write to the state directory {}: {error}", state.path().display()))
    })?;
    let temp_dirs = TempDirs::open(state.path()).map(Arc::new).map_err(|error| {
        Failure::new(format!("cannot write to the state directory {}: {error}", state.path().display()))
    })?;
    let launcher = ProcessLauncher::new(Some(Arc::new(own)))
        .map_err(|error| Failure::new(format!("cannot find the path of this executable: {error}")))?
        .with_temp_dirs(temp_dirs.clone())
        .collecting_orphans()
        .with_control_groups()
        .with_niceness(config.supervision.niceness);
    state.make(&state.run()).map_err(|error| Failure::new(error_chain(&error)))?;
    let watcher = match Watcher::new(&state.run()) {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(error = %error, "cannot watch files; every query compares with the disk, and no result is retained");
            None
        }
    };
    let counts = Arc::new(Counts::default());
    let (pipeline, prometheus) = pipeline();
    let meter = pipeline.meter();
    let metrics: Arc<dyn Metrics> = Arc::new(Meters::new(&meter, counts.clone(), SERVER_VERSION));
    let mut telemetry = Telemetry::new(metrics.clone()).with_spans(&pipeline);
    let log = logging::calls();
    if let Some(log) = log.clone() {
        telemetry = telemetry.with_log(log);
    }
    let audit = audit::of_process(&state, &config)?;
    if let Some(audit) = &audit {
        telemetry = telemetry.with_audit(audit.clone());
    }
    let runs = LaunchRuns::open(&state, &store, &config, telemetry.clone(), audit.clone())?;
    let shared = EngineShared {
        programs: Programs::new(Arc::new(InstallerLocator(installer(&state)))),
        launcher: Arc::new(launcher),
        frames: Arc::new(FrameBudget::default()),
        watcher,
        environment: Arc::new(allowed_environment()),
        metrics: metrics.clone(),
        runs: runs.service.clone(),
    };
    let frames = shared.frames.clone();
    let watcher = shared.watcher.clone();
    let parts = EngineParts {
        shared,
        store: store.clone(),
        state: state.path().to_path_buf(),
        cache: state.path().join("cache"),
        chosen,
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKSPACE_THREADS);
    let engine = Engine::start(parts, threads)
        .map_err(|error| Failure::new(format!("cannot start threads: {error}; check the limit `ulimit -u`")))?;
    runs.know(engine.directory());
    let configured = engine.configure(config.clone()).await.map_err(|error| Failure::new(error.to_string()))?;
    let observers = Observers::new(&meter);
    telemetry.register_with(&observers);
    metrics::observe(&observers, &engine.directory(), &frames, watcher.as_ref());
    pipeline.losses().register_with(&observers, log);
    if let Some(audit) = &audit {
        audit.register_with(&observers);
    }
    let permissions = Permissions::remembered_in(Arc::new(PermissionStore::new(store)));
    let gateway = Gateway::new(engine.directory(), telemetry)
        .with_permissions(permissions)
        .with_lsp_v1_revisions(lsp_v1_revisions(&config.protocol));
    let gateway = Arc::new(gateway.with_launch(runs.calls()));
    gateway.set_quotas(config.quotas());
    let sign_on = Arc::new(SignOn::new(&config));
    Ok(AssembledService {
        engine,
        gateway,
        sign_on,
        state,
        config,
        configured,
        counts,
        prometheus,
        pipeline,
        audit,
        temp_dirs,
    })
}

/// The revisions of MCP that endpoints with `lsp-v1` or `lsp-v1-safe` speak.
fn lsp_v1_revisions(section: &ProtocolSection) -> RevisionSet {
    let configured = section.revisions.iter().filter_map(|revision| Revision::parse(revision.as_str()));
    configured.fold(RevisionSet::DEFAULT, RevisionSet::with)
}

/// The telemetry of the `OTEL_*` variables. Invalid settings are logged and don't stop the service.
fn pipeline() -> (Arc<Pipeline>, Prometheus) {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let (settings, wrong) = Settings::from_variables(variable);
    let (pipeline, prometheus, failed) = Prometheus::with_pipeline(&settings);
    for warning in wrong.into_iter().chain(failed) {
        tracing::warn!("{warning}");
    }
    (Arc::new(pipeline), prometheus)
}

/// Prints the workspaces that could not be opened. Fails if none is open.
pub fn report_failures(configured: &ConfigureReport) -> Result<(), Failure> {
    for (name, why) in &configured.failed {
        output::eprint_line(format_args!("codeyard: cannot open the workspace {name}: {why}"));
    }
    if configured.started.is_empty() && !configured.failed.is_empty() {
        return Err(Failure::new("no workspace could be opened; check the roots, then start again"));
    }
    Ok(())
}

/// An error with its causes on one line, separated by colons.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Finds the programs of language servers for the engine.
struct InstallerLocator(Installer);

impl Locate for InstallerLocator {
    fn locate(&self, kind: &str, server: &ServerSpec, root: &Path) -> Result<Program, Unavailable> {
        match self.0.locate(kind, server, Some(root)) {
            ProgramStatus::Ready(found) => Ok(Program {
                program: found.program,
                args: found.args,
                env: found.env,
                version: found.version,
                install: found.install,
                bin: found.bin,
                checker: found.checker,
            }),
            ProgramStatus::NotInstalled { command } => Err(Unavailable::new(
                kind,
                "not_installed",
                "the language server for this kind of file is not installed",
                command,
            )),
            ProgramStatus::Broken { command, .. } => Err(Unavailable::new(
                kind,
                "not_installed",
                "the program of the language server is installed but does not work",
                command,
            )),
        }
    }
}
