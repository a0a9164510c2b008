//! The supervisor: spawns one workspace actor per root set, rebuilds one that panicked, adds, changes and removes them when
//! the configuration is reloaded or an operator says so, and drains them all at the end.
//!
//! It is on no call's way: calls find their workspace in the directory, which only the supervisor writes.
//! Invariants: a workspace that can't be opened doesn't keep the others from running; removal drains; a rebuilt workspace
//! starts above every epoch its predecessor had; changes come one after the other, each whole.

mod departure;
mod memory;
mod roster;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_rt::ArbiterHandle;

use crate::directory::{Directory, WatchSlot, WorkspaceHandle};
use crate::exit::ExitKind;
use crate::indexer::Indexes;
use crate::kinds;
use crate::restart::RestartRule;
use crate::seats::Seats;
use crate::server_context::ServerTimes;
use crate::workspace::{Retune, Warm, WarmIndex, Workspace};
use crate::workspace_setup::{IndexPolicy, Policy, Servers, Shared, WorkspaceSetup};
use codeyard_base::ids::WorkspaceName;
use codeyard_config::limits;
use codeyard_config::{Config, ConfigError, WorkspaceChange, WorkspaceConfig};
use codeyard_files::gate::Gate;
use codeyard_lsp::registry::Registry;
use codeyard_state::{RootsEpochs, StoreHandle};

/// How often memory is compared with the budget.
const MEMORY_INTERVAL: Duration = Duration::from_secs(10);

pub use departure::{Departing, Departure, Leaving};
pub use roster::{
    Condition, GetRoster, PutChange, PutDone, PutError, PutWorkspace, RemoveError, RemoveWorkspace, Roster, RosterEntry,
};

/// What a supervisor is made from.
pub struct SupervisorParts {
    /// What all workspaces share.
    pub shared: Shared,
    /// Where calls find workspaces.
    pub directory: Arc<Directory>,
    /// Threads for workspaces.
    pub arbiters: Vec<ArbiterHandle>,
    /// Floors of `rootsEpoch`.
    pub epochs: RootsEpochs,
    /// The store of the state directory.
    pub store: StoreHandle,
    /// The state directory.
    pub state: PathBuf,
    /// Where language servers may write.
    pub cache: PathBuf,
    /// Kinds chosen on the command line.
    pub chosen: Vec<String>,
}

/// Takes a configuration over: the first one, or a reloaded one.
#[derive(Message)]
#[rtype(result = "Result<Configured, ConfigureError>")]
pub struct Configure(pub Box<Config>);

/// What became of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configured {
    /// Workspaces that are new or were replaced.
    pub started: Vec<WorkspaceName>,
    /// Workspaces that are gone.
    pub removed: Vec<WorkspaceName>,
    /// Workspaces that took a new policy over while running.
    pub retuned: Vec<WorkspaceName>,
    /// Workspaces that couldn't be opened, and why.
    pub failed: Vec<(WorkspaceName, String)>,
}

/// Why a configuration as a whole can't be taken over.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// The server entries don't fit the registry.
    #[error("the configuration's language servers are wrong: {0}")]
    Registry(String),
    /// A workspace names a language server that isn't in the registry.
    #[error(transparent)]
    Kinds(ConfigError),
    /// With the workspaces that were made at run time it doesn't hold together.
    #[error("with the workspaces made at run time, {0}")]
    Together(#[from] ConfigError),
}

/// Drains every workspace and stops.
#[derive(Message)]
#[rtype(result = "()")]
pub struct DrainAll;

/// A workspace's actor panicked.
#[derive(Message)]
#[rtype(result = "()")]
struct WorkspaceEnded {
    name: WorkspaceName,
    generation: u64,
}

struct Running {
    handle: WorkspaceHandle,
    generation: u64,
}

/// See the module.
pub struct Supervisor {
    parts: SupervisorParts,
    /// The configuration in force: the file's, and over it what was changed at run time.
    config: Config,
    servers: Option<Arc<Servers>>,
    running: BTreeMap<WorkspaceName, Running>,
    /// Those of the configuration that were put there at run time.
    put: BTreeSet<WorkspaceName>,
    /// Those that couldn't be opened, and why.
    failed: BTreeMap<WorkspaceName, String>,
    leaving: Vec<Leaving>,
    seats: Seats,
    indexes: Arc<Indexes>,
    stopping: bool,
    generation: u64,
}

impl Supervisor {
    /// A supervisor without workspaces; send it [`Configure`].
    pub fn new(parts: SupervisorParts) -> Self {
        Self {
            indexes: Arc::new(Indexes::in_state(&parts.state, parts.store.clone())),
            parts,
            config: Config::default(),
            servers: None,
            running: BTreeMap::new(),
            put: BTreeSet::new(),
            failed: BTreeMap::new(),
            leaving: Vec::new(),
            seats: Seats::default(),
            stopping: false,
            generation: 0,
        }
    }

    /// Takes a file over. What it defines, it defines anew; workspaces put at run time under other names stay.
    fn configure(&mut self, mut new: Config, ctx: &mut Context<Self>) -> Result<Configured, ConfigureError> {
        let mut tables = toml::Table::new();
        tables.insert("servers".into(), new.servers.clone().into());
        tables.insert("languages".into(), new.languages.clone().into());
        let registry = Registry::merged(&tables).map_err(|error| ConfigureError::Registry(error.to_string()))?;
        if let Some(error) = kinds::unknown_in(&new.workspaces, &registry).into_iter().next() {
            return Err(ConfigureError::Kinds(error));
        }
        let kept = self.keep_put(&mut new)?;
        for workspace in new.workspaces.iter().filter(|workspace| kept.contains(&workspace.name)) {
            if let Some(error) = kinds::unknown(workspace, &registry).into_iter().next() {
                return Err(ConfigError { key: format!("{}: {}", workspace.name, error.key), ..error }.into());
            }
        }
        self.servers = Some(Arc::new(Servers::new(registry)));
        self.put = kept;
        let failed: Vec<WorkspaceName> = self.failed.keys().cloned().collect();
        Ok(self.take_over(new, &failed, ctx))
    }

    /// Brings what runs to what `new` says. Those of `again` that couldn't be opened before are tried again.
    fn take_over(&mut self, new: Config, again: &[WorkspaceName], ctx: &mut Context<Self>) -> Configured {
        let mut changes = codeyard_config::diff(&self.config, &new);
        let failed = |name: &&WorkspaceName| self.failed.contains_key(*name) && new.workspace(name.as_str()).is_some();
        for name in again.iter().filter(failed) {
            if !changes.iter().any(|change| change.name() == name) {
                changes.push(WorkspaceChange::Added(name.clone()));
            }
        }
        self.config = new;
        let warmset = &self.config.warmset;
        self.indexes.warmset.configure(warmset.enabled, warmset.capacity);
        let mut done = Configured::default();
        for change in changes {
            self.carry_out(change, &mut done, ctx);
        }
        self.parts.directory.set_default(self.config.default_name().cloned());
        self.parts.directory.census().set_memory_budget(self.memory_budget());
        done
    }

    fn carry_out(&mut self, change: WorkspaceChange, done: &mut Configured, ctx: &mut Context<Self>) {
        match change {
            WorkspaceChange::Removed(name) => {
                self.remove(&name, ctx);
                done.removed.push(name);
            }
            WorkspaceChange::Changed(name, changed)
                if !changed.roots && !changed.servers && self.running.contains_key(&name) =>
            {
                self.retune(&name);
                done.retuned.push(name);
            }
            WorkspaceChange::Added(name) | WorkspaceChange::Changed(name, _) => {
                self.remove(&name, ctx);
                match self.start_workspace(&name, ctx) {
                    Ok(()) => done.started.push(name),
                    Err(why) => {
                        tracing::error!(workspace = %name, error = %why, "workspace can't be opened");
                        done.failed.push((name, why));
                    }
                }
            }
        }
    }

    fn start_workspace(&mut self, name: &WorkspaceName, ctx: &mut Context<Self>) -> Result<(), String> {
        let started = self.try_start(name, ctx);
        if let Err(why) = &started {
            self.failed.insert(name.clone(), why.clone());
            self.parts.directory.census().set_failed(self.failed.len());
        }
        started
    }

    fn try_start(&mut self, name: &WorkspaceName, ctx: &mut Context<Self>) -> Result<(), String> {
        let (Some(config), Some(servers)) = (self.config.workspace(name.as_str()), self.servers.clone()) else {
            return Err("it is not configured".into());
        };
        let gate = Gate::open(&config.roots, &config.extra_roots).map_err(|error| error.to_string())?;
        self.generation += 1;
        let generation = self.generation;
        let policy = self.policy(config);
        let permission = Arc::new(self.config.permission_of(config));
        let cell = self.parts.directory.census().workspace();
        let setup = Arc::new(WorkspaceSetup {
            name: name.clone(),
            tenant: config.tenant.clone(),
            gate: gate.clone(),
            roots_epoch: self.parts.epochs.next(name).map_err(|error| error.to_string())?,
            selection: kinds::selection(config, &self.config.syntactic_of(config), &self.parts.chosen),
            settings: config.settings.clone(),
            env: config.env.clone(),
            servers,
            state: self.parts.state.clone(),
            cache: self.parts.cache.join(name.as_str()),
            cell: cell.clone(),
            seats: self.seats.clone(),
            indexes: self.indexes.clone(),
            shared: self.parts.shared.clone(),
            policy: policy.clone(),
        });
        let slot = WatchSlot::default();
        let (watch, supervisor, ended) = (slot.clone(), ctx.address(), name.clone());
        let on_exit = move |kind| {
            if kind == ExitKind::Panicked {
                drop(supervisor.try_send(WorkspaceEnded { name: ended, generation }));
            }
        };
        let arbiter = self.arbiter(generation);
        let actor = Workspace::start_in_arbiter(&arbiter, move |_| Workspace::new(setup, slot, on_exit));
        let warms = !matches!(&policy.prewarm, codeyard_config::Prewarm::All(false));
        if warms {
            drop(actor.try_send(Warm));
        }
        if self.indexes.warmset.contains(gate.root_set().roots()) {
            drop(actor.try_send(WarmIndex));
        }
        let handle = WorkspaceHandle {
            name: name.clone(),
            tenant: config.tenant.clone(),
            gate,
            payload_bytes: policy.index.payload_bytes,
            indexes: self.indexes.clone(),
            limits: policy.limits,
            permission,
            actor,
            arbiter,
            places: WorkspaceHandle::new_places(),
            watch,
            cell,
        };
        self.parts.directory.put(handle.clone());
        self.failed.remove(name);
        self.parts.directory.census().set_failed(self.failed.len());
        self.running.insert(name.clone(), Running { handle, generation });
        Ok(())
    }

    fn arbiter(&self, generation: u64) -> ArbiterHandle {
        let count = self.parts.arbiters.len().max(1);
        let index = usize::try_from(generation).unwrap_or(0) % count;
        self.parts.arbiters.get(index).cloned().unwrap_or_else(actix_rt::Arbiter::current)
    }

    fn retune(&mut self, name: &WorkspaceName) {
        let Some(config) = self.config.workspace(name.as_str()) else { return };
        let (policy, permission) = (self.policy(config), self.config.permission_of(config));
        let Some(running) = self.running.get_mut(name) else { return };
        running.handle.limits = policy.limits.clone();
        running.handle.payload_bytes = policy.index.payload_bytes;
        running.handle.permission = Arc::new(permission);
        self.parts.directory.put(running.handle.clone());
        drop(running.handle.actor.try_send(Retune(policy)));
    }

    fn remove(&mut self, name: &WorkspaceName, ctx: &mut Context<Self>) {
        self.parts.directory.remove(name);
        self.failed.remove(name);
        self.parts.directory.census().set_failed(self.failed.len());
        if let Some(running) = self.running.remove(name) {
            self.see_off(running, ctx);
        }
    }

    fn policy(&self, workspace: &WorkspaceConfig) -> Policy {
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
        // Room for word of every workspace at once: none of it may be lost.
        ctx.set_mailbox_capacity(limits::MAX_WORKSPACES);
        ctx.run_interval(MEMORY_INTERVAL, |supervisor, ctx| supervisor.keep_memory_budget(ctx));
    }
}

impl Handler<Configure> for Supervisor {
    type Result = Result<Configured, ConfigureError>;

    fn handle(&mut self, message: Configure, ctx: &mut Self::Context) -> Self::Result {
        self.configure(*message.0, ctx)
    }
}

impl Handler<WorkspaceEnded> for Supervisor {
    type Result = ();

    fn handle(&mut self, ended: WorkspaceEnded, ctx: &mut Self::Context) {
        let current = self.running.get(&ended.name).is_some_and(|running| running.generation == ended.generation);
        if !current {
            return;
        }
        tracing::error!(workspace = %ended.name, "workspace actor panicked, building it anew");
        self.running.remove(&ended.name);
        if let Err(why) = self.start_workspace(&ended.name, ctx) {
            self.parts.directory.remove(&ended.name);
            tracing::error!(workspace = %ended.name, error = %why, "workspace can't be opened again");
        }
    }
}
