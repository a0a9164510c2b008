//! The supervisor: spawns one workspace actor per root set, rebuilds one that panicked, adds, changes and removes them when
//! the configuration is reloaded, and drains them all at the end.
//!
//! It is on no call's way: calls find their workspace in the directory, which only the supervisor writes.
//! Invariants: a workspace that can't be opened doesn't keep the others from running; removal drains; a rebuilt workspace
//! starts above every epoch its predecessor had.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix_rt::ArbiterHandle;

use crate::base::ids::WorkspaceName;
use crate::base::limits;
use crate::config::{Config, WorkspaceChange, WorkspaceConfig};
use crate::engine::census::WorkspaceState;
use crate::engine::directory::{Directory, WatchSlot, WorkspaceHandle};
use crate::engine::exit::ExitKind;
use crate::engine::restart::RestartRule;
use crate::engine::server_context::ServerTimes;
use crate::engine::workspace::{Drain, GetWorkspaceHealth, Retune, StopChild, Warm, Workspace, WorkspaceHealth};
use crate::engine::workspace_setup::{Policy, Servers, Shared, WorkspaceSetup};
use crate::gate::Gate;
use crate::lsp::registry::Registry;
use crate::lsp::registry::matching::Selection;
use crate::store::RootsEpochs;

/// How long calls in flight have when their workspace is removed.
const DRAIN_CALLS: Duration = Duration::from_millis(limits::REQUEST_TIMEOUT_MS + 500);
/// How often memory is compared with the budget.
const MEMORY_INTERVAL: Duration = Duration::from_secs(10);

/// What a supervisor is made from.
pub struct SupervisorParts {
    /// What all workspaces share.
    pub shared: Shared,
    /// Where calls find workspaces.
    pub directory: Arc<Directory>,
    /// Threads for workspaces.
    pub arbiters: Vec<ArbiterHandle>,
    /// Floors of `rootsEpoch`.
    pub epochs: Arc<RootsEpochs>,
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
}

/// Drains every workspace and stops.
#[derive(Message)]
#[rtype(result = "()")]
pub struct DrainAll;

/// Asks for the health of all workspaces.
#[derive(Message)]
#[rtype(result = "Vec<WorkspaceHealth>")]
pub struct GetHealth;

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
    config: Config,
    servers: Option<Arc<Servers>>,
    running: BTreeMap<WorkspaceName, Running>,
    generation: u64,
}

impl Supervisor {
    /// A supervisor without workspaces; send it [`Configure`].
    pub fn new(parts: SupervisorParts) -> Self {
        Self { parts, config: Config::default(), servers: None, running: BTreeMap::new(), generation: 0 }
    }

    fn configure(&mut self, new: Config, ctx: &mut Context<Self>) -> Result<Configured, ConfigureError> {
        let mut tables = toml::Table::new();
        tables.insert("servers".into(), new.servers.clone().into());
        tables.insert("languages".into(), new.languages.clone().into());
        let registry = Registry::merged(&tables).map_err(|error| ConfigureError::Registry(error.to_string()))?;
        let servers = Arc::new(Servers::new(registry));
        let changes = crate::config::diff(&self.config, &new);
        self.config = new;
        self.servers = Some(servers);
        let mut done = Configured::default();
        for change in changes {
            self.carry_out(change, &mut done, ctx);
        }
        self.parts.directory.set_default(self.config.default_name().cloned());
        let census = self.parts.directory.census();
        census.set_failed(self.config.workspaces.len().saturating_sub(self.running.len()));
        census.set_memory_budget(self.memory_budget());
        Ok(done)
    }

    fn carry_out(&mut self, change: WorkspaceChange, done: &mut Configured, ctx: &mut Context<Self>) {
        match change {
            WorkspaceChange::Removed(name) => {
                self.remove(&name, ctx);
                done.removed.push(name);
            }
            WorkspaceChange::Changed(name, changed) if !changed.roots && !changed.servers => {
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
        let (Some(config), Some(servers)) = (self.config.workspace(name.as_str()), self.servers.clone()) else {
            return Err("it is not configured".into());
        };
        let gate = Gate::open(&config.roots, &config.extra_roots).map_err(|error| error.to_string())?;
        self.generation += 1;
        let generation = self.generation;
        let policy = self.policy(config);
        let cell = self.parts.directory.census().workspace();
        let setup = Arc::new(WorkspaceSetup {
            name: name.clone(),
            tenant: config.tenant.clone(),
            gate: gate.clone(),
            roots_epoch: self.parts.epochs.next(name).map_err(|error| error.to_string())?,
            selection: selection(config, &self.parts.chosen),
            settings: config.settings.clone(),
            env: config.env.clone(),
            servers,
            state: self.parts.state.clone(),
            cache: self.parts.cache.join(name.as_str()),
            cell: cell.clone(),
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
        let warms = !matches!(&policy.prewarm, crate::config::Prewarm::All(false));
        if warms {
            drop(actor.try_send(Warm));
        }
        let handle = WorkspaceHandle {
            name: name.clone(),
            tenant: config.tenant.clone(),
            gate,
            limits: policy.limits,
            actor,
            arbiter,
            places: WorkspaceHandle::new_places(),
            watch,
            cell,
        };
        self.parts.directory.put(handle.clone());
        self.running.insert(name.clone(), Running { handle, generation });
        Ok(())
    }

    fn arbiter(&self, generation: u64) -> ArbiterHandle {
        let count = self.parts.arbiters.len().max(1);
        let index = usize::try_from(generation).unwrap_or(0) % count;
        self.parts.arbiters.get(index).cloned().unwrap_or_else(actix_rt::Arbiter::current)
    }

    fn retune(&mut self, name: &WorkspaceName) {
        let Some(policy) = self.config.workspace(name.as_str()).map(|config| self.policy(config)) else { return };
        let Some(running) = self.running.get_mut(name) else { return };
        running.handle.limits = policy.limits.clone();
        self.parts.directory.put(running.handle.clone());
        drop(running.handle.actor.try_send(Retune(policy)));
    }

    fn remove(&mut self, name: &WorkspaceName, ctx: &mut Context<Self>) {
        self.parts.directory.remove(name);
        if let Some(running) = self.running.remove(name) {
            ctx.spawn(drain(running.handle).into_actor(self));
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
        }
    }

    /// In bytes; 0 is none.
    fn memory_budget(&self) -> u64 {
        self.config.supervision.memory_budget_mib.saturating_mul(1024 * 1024)
    }

    /// Over the memory budget, the child that was longest unused is stopped.
    fn keep_memory_budget(&mut self, ctx: &mut Context<Self>) {
        let budget = self.memory_budget();
        if budget == 0 {
            return;
        }
        let handles: Vec<WorkspaceHandle> = self.running.values().map(|running| running.handle.clone()).collect();
        ctx.spawn(
            async move {
                let asked = handles.iter().map(|handle| handle.actor.send(GetWorkspaceHealth));
                let healths = futures::future::join_all(asked).await;
                evict_longest_idle(&handles, healths.into_iter().map(|health| health.ok().flatten()), budget);
            }
            .into_actor(self),
        );
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

impl Handler<DrainAll> for Supervisor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: DrainAll, _: &mut Self::Context) -> Self::Result {
        let running = std::mem::take(&mut self.running);
        for name in running.keys() {
            self.parts.directory.remove(name);
        }
        let drains = running.into_values().map(|running| drain(running.handle));
        let all = futures::future::join_all(drains);
        Box::pin(all.into_actor(self).map(|_, _, ctx| ctx.stop()))
    }
}

impl Handler<GetHealth> for Supervisor {
    type Result = ResponseFuture<Vec<WorkspaceHealth>>;

    fn handle(&mut self, _: GetHealth, _: &mut Self::Context) -> Self::Result {
        let actors: Vec<_> = self.running.values().map(|running| running.handle.actor.clone()).collect();
        Box::pin(async move {
            let asked = actors.iter().map(|actor| actor.send(GetWorkspaceHealth));
            let healths = futures::future::join_all(asked).await;
            healths.into_iter().filter_map(|health| health.ok().flatten()).collect()
        })
    }
}

/// Lets calls in flight end, then stops the children and the actor.
async fn drain(handle: WorkspaceHandle) {
    handle.cell.set_state(WorkspaceState::Draining);
    let all = u32::try_from(limits::MAX_CALLS_PER_WORKSPACE).unwrap_or(u32::MAX);
    drop(tokio::time::timeout(DRAIN_CALLS, handle.places.acquire_many(all)).await);
    handle.places.close();
    if handle.actor.send(Drain).await.is_err() {
        tracing::warn!(workspace = %handle.name, "workspace was gone before it could drain");
    }
    tracing::info!(workspace = %handle.name, "workspace drained");
}

fn selection(config: &WorkspaceConfig, chosen: &[String]) -> Selection {
    let preferred = chosen.iter().chain(&config.servers.prefer);
    Selection { chosen: preferred.cloned().collect(), disabled: config.servers.disable.iter().cloned().collect() }
}

fn evict_longest_idle(
    handles: &[WorkspaceHandle],
    healths: impl Iterator<Item = Option<WorkspaceHealth>>,
    budget: u64,
) {
    let mut children: Vec<(u64, u64, usize, crate::engine::providers::ChildKey)> = Vec::new();
    let mut total: u64 = 0;
    for (index, health) in healths.enumerate() {
        for server in health.into_iter().flat_map(|health| health.servers) {
            let bytes = server.memory_bytes.unwrap_or(0);
            total += bytes;
            // One that is at work isn't idle, and stopping one without memory frees none.
            if server.pending == 0 && bytes > 0 {
                children.push((server.unused_s, bytes, index, server.key));
            }
        }
    }
    children.sort_by_key(|child| std::cmp::Reverse(child.0));
    for (_, bytes, index, key) in children {
        if total <= budget {
            break;
        }
        tracing::warn!(workspace = %handles[index].name, server = %key.kind, "over the memory budget, stopping an idle language server");
        drop(handles[index].actor.try_send(StopChild(key)));
        total = total.saturating_sub(bytes);
    }
}
