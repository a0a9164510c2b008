//! The supervisor actor: starts one workspace actor per workspace, replaces one that panicked, adds, changes and removes workspaces when
//! the configuration is reloaded or an operator changes them, and drains all at the end.
//!
//! No call goes through it: calls find their workspace in the directory, which only the supervisor writes.
//! Invariants: a workspace that can't be opened doesn't prevent the others from running; a removed workspace is drained; a replaced
//! workspace starts above every epoch of its predecessor; changes are applied one after the other, each completely.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_rt::ArbiterHandle;

use crate::admission::request_turns::RequestTurns;
use crate::indexer::indexes::Indexes;
use crate::indexer::policy::IndexPolicy;
use crate::query::known_files::SharedKnownFiles;
use crate::server::context::ServerTimes;
use crate::server::lifecycle::program_failures::ProgramFailures;
use crate::server::lifecycle::restart_rule::RestartRule;
use crate::server::lifecycle::start_locks::StartLocks;
use crate::server::registry::IndexedRegistry;
use crate::status::actor_exit::ExitKind;
use crate::status::heartbeat::Heartbeat;
use crate::status::watch_slot::WatchSlot;
use crate::supervisor::directory::Directory;
use crate::supervisor::drain_state::Draining;
use crate::supervisor::memory::MemoryWatch;
use crate::supervisor::messages::{Configure, ConfigureError, ConfigureReport, StateProblem};
use crate::supervisor::principal_count::PrincipalCount;
use crate::supervisor::replacement::WorkspaceEnded;
use crate::supervisor::root_opening::RootOpening;
use crate::supervisor::server_selection_check;
use crate::workspace::actor::{Workspace, snapshot_store};
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::messages::{ResumeRuns, Warm, WarmIndex};
use crate::workspace::setup::{EngineShared, Policy, WorkspaceSetup};
use codeyard_base::ids::WorkspaceName;
use codeyard_config::{Config, ConfigError, IsolationLevel, WorkspaceConfig, limits};
use codeyard_files::gate::Gate;
use codeyard_lsp::client::lifecycle::StopPace;
use codeyard_lsp::registry::Registry;
use codeyard_projects::RunBuild;
use codeyard_state::{RootsEpochs, StoreHandle, WarmWorkspace};

/// The inputs of a supervisor.
pub struct SupervisorParts {
    /// The resources that all workspaces share.
    pub shared: EngineShared,
    /// Where calls find workspaces.
    pub directory: Arc<Directory>,
    /// Threads for workspaces.
    pub arbiters: Vec<ArbiterHandle>,
    /// Floors of `rootsEpoch`.
    pub epochs: RootsEpochs,
    /// The store of the state directory.
    pub store: StoreHandle,
    pub state: PathBuf,
    /// Where language servers may write.
    pub cache: PathBuf,
    /// Kinds chosen on the command line.
    pub chosen: Vec<String>,
    /// Becomes true when the service stops.
    pub stop: tokio::sync::watch::Receiver<bool>,
}

pub(super) struct Running {
    pub(super) handle: WorkspaceHandle,
    pub(super) generation: u64,
}

/// The supervisor actor.
pub struct Supervisor {
    pub(super) parts: SupervisorParts,
    /// The current configuration: that of the file with the changes made at run time.
    pub(super) config: Config,
    pub(super) servers: Option<Arc<IndexedRegistry>>,
    pub(super) running: BTreeMap<WorkspaceName, Running>,
    /// Workspaces that were added or changed at run time.
    pub(super) put: BTreeSet<WorkspaceName>,
    /// Workspaces that couldn't be opened, with the reason.
    pub(super) failed: BTreeMap<WorkspaceName, String>,
    pub(super) draining: Vec<Draining>,
    pub(super) start_locks: StartLocks,
    program_failures: ProgramFailures,
    request_turns: RequestTurns,
    pub(super) indexes: Arc<Indexes>,
    /// One for each thread for workspaces, in the same order.
    pub(super) heartbeats: Vec<Arc<Heartbeat>>,
    pub(super) memory_watch: MemoryWatch,
    pub(super) roots: RootOpening,
    pub(super) stopping: bool,
    pub(super) generation: u64,
    /// The level of workspaces that name none; unknown before the first configuration.
    pub(super) default_isolation: Option<IsolationLevel>,
    pub(super) principals: PrincipalCount,
}

impl Supervisor {
    /// A supervisor without workspaces; send it [`Configure`].
    pub fn new(parts: SupervisorParts) -> Self {
        Self {
            indexes: Arc::new(Indexes::in_state(&parts.state, parts.store.clone())),
            principals: PrincipalCount::new(parts.store.clone()),
            default_isolation: None,
            heartbeats: parts.arbiters.iter().map(Heartbeat::of).collect(),
            memory_watch: MemoryWatch::default(),
            roots: RootOpening::new(parts.stop.clone()),
            parts,
            config: Config::default(),
            servers: None,
            running: BTreeMap::new(),
            put: BTreeSet::new(),
            failed: BTreeMap::new(),
            draining: Vec::new(),
            start_locks: StartLocks::default(),
            program_failures: ProgramFailures::default(),
            request_turns: RequestTurns::by_processors(),
            stopping: false,
            generation: 0,
        }
    }

    /// Applies the configuration of a file. It replaces the workspaces that it defines; workspaces added at run time under other names stay.
    fn configure(&mut self, mut new: Config, ctx: &mut Context<Self>) -> Result<ConfigureReport, ConfigureError> {
        if self.stopping {
            return Err(ConfigureError::Stopping);
        }
        let mut tables = toml::Table::new();
        tables.insert("servers".into(), new.servers.clone().into());
        tables.insert("languages".into(), new.languages.clone().into());
        let registry = Registry::merged(&tables).map_err(|error| ConfigureError::Registry(error.to_string()))?;
        if let Some(error) = server_selection_check::unknown_in(&new.workspaces, &registry).into_iter().next() {
            return Err(ConfigureError::Kinds(error));
        }
        let kept = self.keep_runtime_workspaces(&mut new)?;
        for workspace in new.workspaces.iter().filter(|workspace| kept.contains(&workspace.name)) {
            if let Some(error) = server_selection_check::unknown(workspace, &registry).into_iter().next() {
                return Err(ConfigError { key: format!("{}: {}", workspace.name, error.key), ..error }.into());
            }
        }
        let failed: Vec<WorkspaceName> = self.failed.keys().cloned().collect();
        let plan = self.plan(new, &failed);
        if let Some(problem) = plan.problem(self, None) {
            return Err(problem.into());
        }
        self.servers = Some(Arc::new(IndexedRegistry::new(registry)));
        self.put = kept;
        Ok(self.apply_plan(plan, ctx))
    }

    /// Starts a workspace with this `rootsEpoch`; `before` is the gate of its predecessor.
    pub(super) fn start_workspace(
        &mut self,
        name: &WorkspaceName,
        epoch: Result<u64, StateProblem>,
        before: Option<Gate>,
        ctx: &mut Context<Self>,
    ) -> Result<(), String> {
        let started = match epoch {
            Ok(epoch) => self.try_start(name, epoch, before, ctx),
            Err(problem) => Err(problem.to_string()),
        };
        if let Err(why) = &started {
            self.failed.insert(name.clone(), why.clone());
            self.parts.directory.status_registry().set_failed(self.failed.len());
        }
        started
    }

    fn try_start(
        &mut self,
        name: &WorkspaceName,
        roots_epoch: u64,
        before: Option<Gate>,
        ctx: &mut Context<Self>,
    ) -> Result<(), String> {
        let (Some(config), Some(servers)) = (self.config.workspace(name.as_str()), self.servers.clone()) else {
            return Err("it is not configured".into());
        };
        // A change that concerns no roots opens none.
        let gate = self.roots.gate(config).or(before.map(Ok)).ok_or("its roots were not opened")??;
        let isolation = self.isolation_of(config);
        self.generation += 1;
        let generation = self.generation;
        let policy = self.policy(config);
        let permission = Arc::new(self.config.permission_of(config));
        let (arbiter, heartbeat) = self.thread(generation);
        let status = self.parts.directory.status_registry().workspace(heartbeat);
        let snapshots = Arc::new(parking_lot::Mutex::new(snapshot_store(&policy)));
        let known = SharedKnownFiles::default();
        let setup = Arc::new(WorkspaceSetup {
            name: name.clone(),
            gate: gate.clone(),
            roots_epoch,
            selection: server_selection_check::selection(config, &self.config.syntactic_of(config), &self.parts.chosen),
            settings: config.settings.clone(),
            env: config.env.clone(),
            isolation: isolation.clone(),
            build: if config.run_build { RunBuild::Allowed } else { RunBuild::Never },
            servers: Arc::new(servers.for_workspace()),
            state: self.parts.state.clone(),
            cache: self.parts.cache.join(name.file_name()),
            status: status.clone(),
            start_locks: self.start_locks.clone(),
            program_failures: self.program_failures.clone(),
            request_turns: self.request_turns.clone(),
            start_queue: self.parts.directory.start_queue().clone(),
            memory: self.parts.directory.memory().clone(),
            diagnostics: self.parts.directory.diagnostics().clone(),
            snapshots: snapshots.clone(),
            known: known.clone(),
            indexes: self.indexes.clone(),
            shared: self.parts.shared.clone(),
            policy: policy.clone(),
        });
        let slot = WatchSlot::default();
        let watch = slot.clone();
        let supervisor = ctx.address();
        let ended = name.clone();
        let on_exit = move |kind| {
            if kind == ExitKind::Panicked {
                drop(supervisor.try_send(WorkspaceEnded { name: ended, generation }));
            }
        };
        let actor = Workspace::start_in_arbiter(&arbiter, move |_| Workspace::new(setup, slot, on_exit));
        self.begin_work(name, &actor, &gate, &policy);
        let handle = WorkspaceHandle {
            name: name.clone(),
            gate,
            payload_bytes: policy.index.payload_bytes,
            page_chars: self.config.agent.page_chars,
            content: Arc::new(self.config.content_of(config)),
            indexes: self.indexes.clone(),
            limits: policy.limits,
            permission,
            isolation,
            actor,
            arbiter,
            places: WorkspaceHandle::new_places(),
            watch,
            status,
            snapshots,
            known,
        };
        self.parts.directory.put(handle.clone());
        self.failed.remove(name);
        self.parts.directory.status_registry().set_failed(self.failed.len());
        self.running.insert(name.clone(), Running { handle, generation });
        Ok(())
    }

    /// What a workspace does without being asked.
    fn begin_work(&self, name: &WorkspaceName, actor: &Addr<Workspace>, gate: &Gate, policy: &Policy) {
        // The index comes first: then the watcher's first walk follows its files too.
        if self.indexes.warmset.contains(&WarmWorkspace::new(&name.tenant(), gate.root_set().roots())) {
            drop(actor.try_send(WarmIndex));
        }
        if !matches!(&policy.prewarm, codeyard_config::Prewarm::All(false)) {
            drop(actor.try_send(Warm));
        }
        drop(actor.try_send(ResumeRuns));
    }

    /// The thread of a workspace, and its heartbeat. One that is stuck isn't chosen if another one runs.
    fn thread(&self, generation: u64) -> (ArbiterHandle, Arc<Heartbeat>) {
        let count = self.parts.arbiters.len().max(1);
        let first = usize::try_from(generation).unwrap_or(0);
        let runs = |index: &usize| self.heartbeats.get(*index).is_some_and(|heartbeat| heartbeat.stalled().is_none());
        let index = (0..count).map(|step| (first + step) % count).find(runs).unwrap_or(first % count);
        match (self.parts.arbiters.get(index), self.heartbeats.get(index)) {
            (Some(arbiter), Some(heartbeat)) => (arbiter.clone(), heartbeat.clone()),
            _ => {
                let arbiter = actix_rt::Arbiter::current();
                let heartbeat = Heartbeat::of(&arbiter);
                (arbiter, heartbeat)
            }
        }
    }

    pub(super) fn remove(&mut self, name: &WorkspaceName, ctx: &mut Context<Self>) {
        self.parts.directory.remove(name);
        self.failed.remove(name);
        self.parts.directory.status_registry().set_failed(self.failed.len());
        if let Some(running) = self.running.remove(name) {
            self.start_drain(running, StopPace::Patient, ctx);
        }
    }

    pub(super) fn policy(&self, workspace: &WorkspaceConfig) -> Policy {
        let rule = &self.config.supervision;
        Policy {
            limits: self.config.limits_of(workspace),
            sweep: self.config.diagnostics_of(workspace).sweep,
            prewarm: workspace.prewarm.clone(),
            restart: RestartRule {
                backoff_first: Duration::from_millis(rule.backoff_initial_ms),
                backoff_max: Duration::from_millis(rule.backoff_max_ms),
                max_restarts: usize::try_from(rule.max_restarts).unwrap_or(usize::MAX),
                window: Duration::from_secs(rule.restart_window_s),
                quarantine: Duration::from_secs(rule.quarantine_s),
            },
            times: ServerTimes {
                start: Duration::from_secs(rule.start_timeout_s),
                silent: Duration::from_secs(rule.hang_s),
                silent_with_progress: Duration::from_secs(rule.hang_with_progress_s),
                idle: Duration::from_secs(rule.idle_stop_s),
            },
            index: IndexPolicy::of(&self.config),
        }
    }
}

impl Actor for Supervisor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        // Room for one message of every workspace at once: none may be lost.
        ctx.set_mailbox_capacity(limits::MAX_WORKSPACES);
        self.watch_memory(ctx);
        self.watch_failed(ctx);
    }
}

impl Handler<Configure> for Supervisor {
    type Result = AtomicResponse<Self, Result<ConfigureReport, ConfigureError>>;

    fn handle(&mut self, message: Configure, _: &mut Self::Context) -> Self::Result {
        let workspaces: Vec<_> = message.0.workspaces.iter().chain(&self.config.workspaces).cloned().collect();
        self.after_opening(&workspaces, move |supervisor, ctx| {
            let done = supervisor.configure(*message.0, ctx);
            supervisor.publish_listing();
            done
        })
    }
}
