//! The configuration of one language-server actor: program, project root, settings, limits and the receiver of its notices.
//!
//! It is fixed for the lifetime of the actor; a change of any part makes another actor.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::Recipient;

use crate::admission::start_queue::StartQueue;
use crate::server::child_key::ChildKey;
use crate::server::diagnostics::diagnostics_budget::DiagnosticsBudget;
use crate::server::lifecycle::program_failures::ProgramFailures;
use crate::server::lifecycle::restart_rule::RestartRule;
use crate::server::lifecycle::start_locks::StartLocks;
use crate::server::messages::ServerNotice;
use crate::server::program::client_host::FolderSource;
use crate::server::program::isolation::WorkspaceIsolation;
use crate::server::program::programs::Program;
use crate::server::projects::prepared_projects::ProjectContext;
use crate::server::projects::project_folders::{FindProjects, ProjectFolders};
use crate::server::registry::IndexedRegistry;
use crate::status::memory_gate::MemoryGate;
use crate::status::server_status::LanguageServerStatus;
use codeyard_base::ids::{ServerKind, WorkspaceName};
use codeyard_files::gate::Gate;
use codeyard_lsp::client::frame::FrameBudget;
use codeyard_lsp::registry::{MultiRoot, ServerSpec};
use codeyard_process::launch::Launcher;
use codeyard_telemetry::Metrics;

/// Time limits of a language server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTimes {
    /// Longest time of a start without progress, until `initialize` is answered.
    pub start: Duration,
    /// With three expired requests, the server counts as hung after this time without output.
    pub silent: Duration,
    /// The same while it reports progress. Also the longest time of a start that makes progress.
    pub silent_with_progress: Duration,
    /// A server that is unused for this long is stopped; zero: never.
    pub idle: Duration,
}

impl Default for ServerTimes {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            silent: Duration::from_secs(30),
            silent_with_progress: Duration::from_secs(600),
            idle: Duration::from_secs(900),
        }
    }
}

/// The configuration of one language-server actor.
pub struct ServerContext {
    /// The workspace's name.
    pub workspace: WorkspaceName,
    /// Which kind.
    pub kind: ServerKind,
    /// Its entry in the registry, with the user's overrides.
    pub server: Arc<ServerSpec>,
    /// What the process may access, and its limits.
    pub isolation: Arc<WorkspaceIsolation>,
    /// The program to start.
    pub program: Program,
    /// The environment that every child may see.
    pub environment: Arc<Vec<(OsString, OsString)>>,
    /// What the workspace adds to it.
    pub env: BTreeMap<String, String>,
    /// The project root, a real path inside the workspace's roots; the workspace's first root if it handles several projects.
    pub root: PathBuf,
    /// How many project roots its process handles.
    pub multi_root: MultiRoot,
    /// Its projects, each with the documents that are opened as soon as the server runs.
    pub folders: ProjectFolders,
    /// Finds its projects before each start.
    pub find_projects: FindProjects,
    /// What its projects are prepared from.
    pub project: ProjectContext,
    /// The workspace's settings; they override those of the registry.
    pub settings: Option<serde_json::Value>,
    /// The registry, for the languages of files.
    pub servers: Arc<IndexedRegistry>,
    /// Reads files.
    pub gate: Gate,
    /// Starts processes.
    pub launcher: Arc<dyn Launcher>,
    /// Bounds the frames of all children together.
    pub frames: Arc<FrameBudget>,
    /// Bounds the diagnostics that are kept of all children.
    pub diagnostics: Arc<DiagnosticsBudget>,
    /// When it may be restarted.
    pub restart: RestartRule,
    /// How long it may take.
    pub times: ServerTimes,
    /// Receives the notices of the actor.
    pub notices: Recipient<ServerNotice>,
    /// Its entry in the status registry.
    pub status: Arc<LanguageServerStatus>,
    /// Admits its start within the memory budget.
    pub memory: Arc<MemoryGate>,
    /// Counts restarts and start times.
    pub metrics: Arc<dyn Metrics>,
    /// The state directory.
    pub state: PathBuf,
    /// The cache folder of the server.
    pub cache: PathBuf,
    /// Its key within the workspace.
    pub key: ChildKey,
    /// Prevents it from running at the same time as its predecessor.
    pub start_locks: StartLocks,
    /// Admits its start.
    pub start_queue: StartQueue,
    /// Programs that fail everywhere.
    pub program_failures: ProgramFailures,
}

impl ServerContext {
    /// The workspace folders of its process.
    pub(super) fn workspace_folders(&self) -> FolderSource {
        match self.multi_root {
            MultiRoot::No => FolderSource::Fixed(vec![self.root.clone()]),
            MultiRoot::WorkspaceFolders => FolderSource::Projects(self.folders.clone()),
            MultiRoot::ByFile => FolderSource::Fixed(self.gate.root_set().roots().to_vec()),
        }
    }

    /// The folder of what codeyard writes for the server while it runs. A confined server can read it and not write it: it could put a
    /// link into its cache folder that leads codeyard out.
    pub(super) fn generated(&self) -> PathBuf {
        match self.isolation.is_restricted() {
            true => {
                let mut folder = self.cache.clone().into_os_string();
                folder.push(".generated");
                folder.into()
            }
            false => self.cache.clone(),
        }
    }

    /// How long no push may have come in before pushed diagnostics count as complete.
    pub fn push_settle(&self) -> Duration {
        Duration::from_millis(self.server.quirks.push_settle_ms)
    }
}
