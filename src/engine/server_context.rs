//! Everything one language-server actor is made from, fixed for its life: which program, where, with which settings, and
//! whom to tell. A change of any of it makes another actor.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::Recipient;

use crate::census::ServerCell;
use crate::providers::ChildKey;
use crate::restart::RestartRule;
use crate::seats::Seats;
use crate::workspace_setup::Servers;
use codeyard_base::ids::{ServerKind, WorkspaceName};
use codeyard_files::gate::Gate;
use codeyard_lsp::frame::FrameBudget;
use codeyard_lsp::registry::Server;
use codeyard_process::launch::Launcher;
use codeyard_telemetry::Metrics;

/// The times a language server is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTimes {
    /// From launch to the answer to `initialize`.
    pub start: Duration,
    /// Without a byte, and with three expired requests: hung.
    pub silent: Duration,
    /// The same while it reports progress.
    pub silent_with_progress: Duration,
    /// Unused for this long: stopped.
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

/// What a program needs to be started: found by the installer, completed by the workspace.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program's absolute path.
    pub program: PathBuf,
    /// Its arguments; placeholders are filled when it's started.
    pub args: Vec<String>,
    /// Environment it needs besides the registry's.
    pub env: BTreeMap<String, String>,
    /// The installation's folder, where it is installed by us.
    pub install: Option<PathBuf>,
    /// The folder of the installation's programs.
    pub bin: Option<PathBuf>,
    /// Its version, where it was asked.
    pub version: Option<String>,
}

/// See the module.
pub struct ServerContext {
    /// The workspace's name.
    pub workspace: WorkspaceName,
    /// Which kind.
    pub kind: ServerKind,
    /// Its entry in the registry, with the user's overrides.
    pub server: Arc<Server>,
    /// What to start.
    pub program: Program,
    /// The environment that every child may see.
    pub environment: Arc<Vec<(OsString, OsString)>>,
    /// What the workspace adds to it.
    pub env: BTreeMap<String, String>,
    /// The project root, a real path inside the workspace's roots.
    pub root: PathBuf,
    /// The workspace's own settings, to be laid over the registry's.
    pub settings: Option<serde_json::Value>,
    /// Documents that are opened as soon as it runs, with their language ids.
    pub anchors: Vec<PathBuf>,
    /// The registry, which tells languages of files.
    pub servers: Arc<Servers>,
    /// Reads files.
    pub gate: Gate,
    /// Starts processes.
    pub launcher: Arc<dyn Launcher>,
    /// Bounds the frames of all children together.
    pub frames: Arc<FrameBudget>,
    /// When it may be restarted.
    pub restart: RestartRule,
    /// How long it may take.
    pub times: ServerTimes,
    /// Told of everything that changes answers.
    pub tell: Recipient<crate::language_server::ServerNews>,
    /// Where it says how it is.
    pub cell: Arc<ServerCell>,
    /// Counted.
    pub metrics: Arc<dyn Metrics>,
    /// The state directory.
    pub state: PathBuf,
    /// A folder the server may write to.
    pub cache: PathBuf,
    /// Which child of the workspace it is.
    pub key: ChildKey,
    /// Keeps it from running beside the one that it replaces.
    pub seats: Seats,
}

impl ServerContext {
    /// How long pushes of diagnostics must have been quiet.
    pub fn push_settle(&self) -> Duration {
        Duration::from_millis(self.server.quirks.push_settle_ms)
    }
}
