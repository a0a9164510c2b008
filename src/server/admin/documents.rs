//! The JSON documents of the admin API, as they are answered, described in OpenAPI, and read by our own commands.
//!
//! Invariant: a field that isn't known now is left out or `null`, never invented.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The service as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceDocument {
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// The endpoint of the default workspace.
    pub listen: String,
    /// Where operators reach it beside the local socket.
    pub admin_listen: Option<String>,
    /// The workspace that an endpoint without a name means. It may have been removed.
    pub default_workspace: Option<String>,
    /// It is stopping.
    pub draining: bool,
    /// Resident memory of the process itself in bytes.
    pub memory_bytes: Option<u64>,
    /// Tool calls so far.
    pub calls: Vec<CallCount>,
}

/// Tool calls of one kind so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallCount {
    /// The tool's name.
    pub tool: String,
    /// `ok`, or the error code.
    pub outcome: String,
    /// How many.
    pub count: u64,
}

/// All workspaces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceList {
    /// Those of the configuration in force, then those on their way out: while one is replaced, its name is there twice.
    pub workspaces: Vec<WorkspaceDocument>,
}

/// One workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceDocument {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: WorkspaceState,
    /// Why it couldn't be opened.
    pub problem: Option<String>,
    /// Who put it there; not known of one that is `draining`.
    pub origin: Option<Origin>,
    /// An endpoint without a name means it.
    pub default: bool,
    /// Its ETag: differs whenever `configuration` does. One that is `draining` has none.
    pub revision: Option<String>,
    /// Its roots and extra roots.
    pub roots: Vec<String>,
    /// What it is to be, as `PUT` takes it. Secrets are hidden; sent back hidden, they stay as they are.
    pub configuration: Map<String, Value>,
    /// What its answers hang on.
    pub epochs: Option<EpochsDocument>,
    /// `idle` before the first question, `starting`, `watching`, or why files aren't watched.
    pub watching: Option<String>,
    /// Source files, once they were walked.
    pub source_files: Option<usize>,
    /// Calls in flight.
    pub calls_in_flight: usize,
    /// Language servers that run or start.
    pub servers: Option<usize>,
    /// Retained results.
    pub snapshots: Option<usize>,
    /// Their bytes.
    pub snapshot_bytes: Option<usize>,
    /// Its code indexes, one a root; none before a tool of the catalog `code` was asked.
    #[serde(default)]
    pub indexes: Vec<IndexDocument>,
}

/// The code index of a root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexDocument {
    /// The root.
    pub root: String,
    /// `not_indexed`, `indexing`, `ready` or `failed`.
    pub status: String,
    /// `fresh`, `stale` or `syncing`.
    pub freshness: String,
    /// Files in it.
    pub files: u64,
    /// Symbols in them.
    pub symbols: u64,
    /// When the last job was published.
    pub last_indexed_at: Option<String>,
    /// What the job that runs is doing.
    pub job: Option<String>,
    /// What is wrong with it, and what to do.
    pub problem: Option<String>,
}

/// How a workspace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceState {
    /// It takes calls.
    Open,
    /// It couldn't be opened; `problem` says why.
    Failed,
    /// It doesn't answer.
    NotAnswering,
    /// It was removed or replaced; its calls end and its language servers stop.
    Draining,
}

/// Who put a workspace there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The configuration file, or the command line.
    Configuration,
    /// An operator while the service runs; gone with its end.
    Operator,
}

/// The counters that answers hang on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EpochsDocument {
    /// Rises when roots change, and with each start.
    pub roots: u64,
    /// Rises with edits.
    pub text: u64,
    /// Rises when files come or go.
    pub fs: u64,
    /// Rises when diagnostics change.
    pub diagnostics: u64,
}

/// What came of putting a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PutDocument {
    /// How it changed.
    pub change: Change,
    /// How it is now.
    pub workspace: WorkspaceDocument,
}

/// How a workspace changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    Created,
    /// It was opened anew: `rootsEpoch` rose, so that older cursors are stale, and language servers start anew.
    Replaced,
    /// It took new values over as it runs.
    Retuned,
    /// It was like this before.
    Unchanged,
}

/// What came of removing a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovalDocument {
    /// Its name.
    pub name: String,
    /// It is gone wholly; `false`: it takes no new call, and what is left of it goes on ending.
    pub finished: bool,
    /// Calls that were in flight.
    pub calls: Option<usize>,
    /// Those of them that hadn't ended in time and were cut off.
    pub calls_cut: Option<usize>,
    /// Its language servers, and how each ended.
    pub servers: Vec<StoppedDocument>,
    /// How long it took in milliseconds.
    pub took_ms: Option<u64>,
}

/// A language server that was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedDocument {
    /// Its workspace.
    pub workspace: String,
    /// Which one it was.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// What it took: `none` (it wasn't running), `exit`, `terminate` or `kill`.
    pub ended_by: String,
}

/// All language servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerList {
    /// Those that run, start or failed, by workspace.
    pub servers: Vec<ServerDocument>,
    /// Workspaces that don't answer, so that theirs are missing here.
    pub not_answering: Vec<String>,
}

/// One language server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerDocument {
    /// Its workspace.
    pub workspace: String,
    /// Its name in paths; the same for every server of this kind at this root.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its version, where known.
    pub version: Option<String>,
    /// Its project root, relative to the workspace's root.
    pub root: String,
    /// `starting`, `restarting`, `indexing`, `ready` or `down`.
    pub state: String,
    /// Seconds since it is in that state.
    pub since_s: u64,
    /// Why it is down or restarting: `crashed`, `quarantined`, `not_installed`, `stopped`.
    pub reason: Option<String>,
    /// The same as a sentence.
    pub message: Option<String>,
    /// Its own word on how far it is.
    pub progress: Option<String>,
    /// It never said that it was ready; enough time passed without a sign of work.
    pub assumed_ready: bool,
    /// Its process id.
    pub pid: Option<u32>,
    /// Memory of its process tree in bytes.
    pub memory_bytes: Option<u64>,
    /// Restarts since it was first needed.
    pub restarts: u64,
    /// Documents open at it.
    pub open_documents: usize,
    /// Requests under way.
    pub pending: usize,
    /// Seconds since it was last asked.
    pub unused_s: u64,
    /// The end of its standard error; in the list only the last few lines.
    pub stderr: String,
}

/// A language server that is started anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestartDocument {
    /// Its workspace.
    pub workspace: String,
    /// Which one.
    pub id: String,
    /// Its kind.
    pub kind: String,
}

/// What is retained.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotList {
    /// By workspace. One that isn't open holds nothing and isn't here.
    pub workspaces: Vec<SnapshotDocument>,
    /// Workspaces that don't answer.
    pub not_answering: Vec<String>,
}

/// What one workspace retains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotDocument {
    /// The workspace.
    pub workspace: String,
    /// Retained results.
    pub count: usize,
    /// Their bytes, with what keeping costs.
    pub bytes: usize,
    /// The most bytes there may be.
    pub limit_bytes: usize,
    /// Seconds since the oldest was made.
    pub oldest_s: Option<u64>,
    /// Results dropped to make room.
    pub evictions: u64,
    /// Retained results by tool.
    pub by_tool: BTreeMap<String, usize>,
}
