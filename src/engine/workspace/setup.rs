//! The configuration of one workspace actor. A change of roots or servers makes another actor.

use crate::query::plan::PlanContext;
use crate::run::RunService;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::admission::request_turns::RequestTurns;
use crate::admission::start_queue::StartQueue;
use crate::indexer::indexes::Indexes;
use crate::indexer::policy::IndexPolicy;
use crate::query::known_files::SharedKnownFiles;
use crate::server::context::ServerTimes;
use crate::server::diagnostics::diagnostics_budget::DiagnosticsBudget;
use crate::server::lifecycle::program_failures::ProgramFailures;
use crate::server::lifecycle::restart_rule::RestartRule;
use crate::server::lifecycle::start_locks::StartLocks;
use crate::server::program::isolation::WorkspaceIsolation;
use crate::server::program::programs::Programs;
use crate::server::registry::IndexedRegistry;
use crate::status::memory_gate::MemoryGate;
use crate::status::registry::WorkspaceStatus;
use codeyard_base::ids::WorkspaceName;
use codeyard_config::{Prewarm, Sweep};
use codeyard_files::gate::Gate;
use codeyard_files::watch::Watcher;
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::registry::ServerSelection;
use codeyard_model::limits::Limits;
use codeyard_paging::SnapshotStore;
use codeyard_process::launch::Launcher;
use codeyard_projects::RunBuild;
use codeyard_telemetry::Metrics;

/// The resources that all workspaces of a process share.
#[derive(Clone)]
pub struct EngineShared {
    /// Finds programs.
    pub programs: Programs,
    /// Starts processes.
    pub launcher: Arc<dyn Launcher>,
    /// Bounds frames of all children together.
    pub frames: Arc<FrameBudget>,
    /// Watches files; `None` where that is impossible. Then every query compares with the disk and no result is retained.
    pub watcher: Option<Watcher>,
    /// The environment that language servers get.
    pub environment: Arc<Vec<(OsString, OsString)>>,
    /// The metrics.
    pub metrics: Arc<dyn Metrics>,
    /// The runs of workflows, or why there are none.
    pub runs: Result<Arc<RunService>, String>,
}

/// The settings that may change while a workspace runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Limits of answers.
    pub limits: Limits,
    /// Whether workspace diagnostics cover all files or the open ones.
    pub sweep: Sweep,
    /// Which servers start before the first query.
    pub prewarm: Prewarm,
    /// When servers are restarted.
    pub restart: RestartRule,
    /// Time limits of servers.
    pub times: ServerTimes,
    /// The code index.
    pub index: IndexPolicy,
}

/// The configuration of one workspace actor.
pub struct WorkspaceSetup {
    /// Its name.
    pub name: WorkspaceName,
    /// The path gate of its roots.
    pub gate: Gate,
    /// The first value of its `rootsEpoch`.
    pub roots_epoch: u64,
    /// The settings that may change later.
    pub policy: Policy,
    /// The server selection.
    pub selection: ServerSelection,
    /// Settings by kind, merged over the registry's.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Additional environment of its language servers.
    pub env: BTreeMap<String, String>,
    /// Whether its configuration allows to run the builds of its projects.
    pub build: RunBuild,
    /// What its servers may do.
    pub isolation: Arc<WorkspaceIsolation>,
    /// The registry.
    pub servers: Arc<IndexedRegistry>,
    /// The state directory.
    pub state: PathBuf,
    /// The cache folder of its servers.
    pub cache: PathBuf,
    /// Its entry in the status registry.
    pub status: Arc<WorkspaceStatus>,
    /// Prevents a server from running at the same time as its predecessor.
    pub start_locks: StartLocks,
    /// Bounds how many servers work on requests at once.
    pub request_turns: RequestTurns,
    /// Admits starts of servers.
    pub start_queue: StartQueue,
    /// Programs that fail everywhere.
    pub program_failures: ProgramFailures,
    /// Admits starts of servers within the memory budget.
    pub memory: Arc<MemoryGate>,
    /// Bounds the diagnostics that are kept of all servers.
    pub diagnostics: Arc<DiagnosticsBudget>,
    /// The retained results. Operators read their number and size; the actor alone adds and removes them.
    pub snapshots: Arc<Mutex<SnapshotStore>>,
    /// The files that its answers depend on.
    pub known: SharedKnownFiles,
    /// The resources that the code indexes share.
    pub indexes: Arc<Indexes>,
    /// The resources that all workspaces share.
    pub shared: EngineShared,
}

impl WorkspaceSetup {
    /// The inputs of the plans of this workspace. `separated` are the kinds that have a process for each project root at present.
    pub(super) fn plan_context<'a>(&'a self, separated: &'a BTreeSet<String>) -> PlanContext<'a> {
        PlanContext {
            servers: &self.servers,
            selection: &self.selection,
            roots: self.gate.root_set(),
            programs: &self.shared.programs,
            separated,
            isolation: &self.isolation,
        }
    }

    /// Whether the builds of its projects may be run: never in a restricted workspace.
    pub(super) fn build(&self) -> RunBuild {
        if self.isolation.is_restricted() { RunBuild::Never } else { self.build }
    }
}
