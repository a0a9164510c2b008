//! The JSON documents of the admin API. The server writes them, the OpenAPI document describes them, our own commands read them.
//!
//! Invariant: an unknown value is omitted or `null`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use super::isolation_document::IsolationDocument;
pub use super::server_documents::{
    ConditionDocument, FailureDocument, LastEndDocument, ProjectDocument, ServerDocument, ServerList,
    StoppedServerDocument, UnresolvedDocument,
};

/// The service as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceDocument {
    /// The process id.
    pub pid: u32,
    /// The version of codeyard.
    pub version: String,
    /// Seconds since the start of the process.
    pub uptime_s: u64,
    /// The endpoint of the default workspace.
    pub listen: String,
    /// The address of the admin API over TCP.
    pub admin_listen: Option<String>,
    /// The workspace of endpoints without a name. It may have been removed.
    pub default_workspace: Option<String>,
    /// Whether the service is stopping.
    pub draining: bool,
    /// Resident memory of the process itself in bytes.
    pub memory_bytes: Option<u64>,
    /// Tool calls since the start.
    pub calls: Vec<CallCount>,
    /// What the configuration changes in the registry of language servers: its tables `servers` and `languages`, with redacted secrets.
    #[serde(default)]
    pub registry: Option<Map<String, Value>>,
}

/// The number of tool calls with one outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallCount {
    /// The tool's name.
    pub tool: String,
    /// `ok`, or the error code.
    pub outcome: String,
    /// The number of calls.
    pub count: u64,
}

/// All workspaces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceList {
    /// The configured workspaces, then those that are draining. While one is replaced, its name occurs twice.
    pub workspaces: Vec<WorkspaceDocument>,
}

/// One workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceDocument {
    /// The workspace's name.
    pub name: String,
    /// The workspace's state.
    pub state: WorkspaceState,
    /// Why the workspace could not be opened.
    pub problem: Option<String>,
    /// Who configured the workspace; unknown while it is `draining`.
    pub origin: Option<Origin>,
    /// Whether it is the workspace of endpoints without a name.
    pub default: bool,
    /// The ETag of `configuration`. A `draining` workspace has none.
    pub revision: Option<String>,
    /// The roots and extra roots.
    pub roots: Vec<String>,
    /// The configuration, as `PUT` accepts it. Secrets are redacted; a `PUT` with a redacted secret keeps the stored one.
    pub configuration: Map<String, Value>,
    /// The counters that answers depend on.
    pub epochs: Option<EpochsDocument>,
    /// `idle` before the first query, `starting`, `watching`, or why files aren't watched.
    pub watching: Option<String>,
    /// The number of source files; unknown before the first scan.
    pub source_files: Option<usize>,
    /// Calls in flight.
    pub calls_in_flight: usize,
    /// Calls since the workspace was opened. Absent while it is `draining`, and if it could not be opened.
    #[serde(default)]
    pub calls: Option<u64>,
    /// Running and starting language servers.
    pub servers: Option<usize>,
    /// The number of retained results.
    pub snapshots: Option<usize>,
    /// The bytes of the retained results.
    pub snapshot_bytes: Option<usize>,
    /// What the language servers may do. A `draining` workspace and one that could not be opened have none.
    pub isolation: Option<IsolationDocument>,
    /// The code indexes, one per root; empty before the first call of a tool of the catalog `code`.
    #[serde(default)]
    pub indexes: Vec<IndexDocument>,
    /// What the workspace is busy with. Absent if it would begin with a call at once.
    #[serde(default)]
    pub busy: Option<BusyDocument>,
    /// Memory of its language servers in bytes. Absent if none was measured yet.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// The age of this state in milliseconds: up to a second, or longer if the thread of the workspace is blocked.
    #[serde(default)]
    pub status_age_ms: Option<u64>,
}

/// What a workspace is busy with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusyDocument {
    /// What a call would wait for.
    pub waits_for: String,
    /// Since how many seconds; unknown for calls and index jobs.
    pub since_s: Option<u64>,
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
    /// Indexed files.
    pub files: u64,
    /// Indexed symbols.
    pub symbols: u64,
    /// When the newest index was published.
    pub last_indexed_at: Option<String>,
    /// The current step of the running job.
    pub job: Option<String>,
    /// What is wrong with the index, and the next step.
    pub problem: Option<String>,
}

/// The state of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceState {
    /// The workspace accepts calls.
    Open,
    /// The workspace could not be opened; `problem` says why.
    Failed,
    /// The workspace doesn't answer. No longer sent: see `busy`.
    NotAnswering,
    /// The workspace was removed or replaced. Calls in flight will finish, then its language servers stop.
    Draining,
}

/// Who configured a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The configuration file, or the command line.
    Configuration,
    /// An operator, until the service ends.
    Operator,
}

/// The counters that answers depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EpochsDocument {
    /// Increases when roots change, and with each start.
    pub roots: u64,
    /// Increases with edits.
    pub text: u64,
    /// Increases when files are created or removed.
    pub fs: u64,
    /// Increases when diagnostics change.
    pub diagnostics: u64,
}

/// The result of a `PUT` of a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PutDocument {
    /// What was done.
    pub change: Change,
    /// The workspace after the change.
    pub workspace: WorkspaceDocument,
}

/// What a `PUT` did to a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The workspace was created.
    Created,
    /// The workspace was opened again: `rootsEpoch` increased, so older cursors are stale, and its language servers restart.
    Replaced,
    /// The new values were applied to the running workspace.
    Retuned,
    /// The configuration was the same before.
    Unchanged,
}

/// The result of removing a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovalDocument {
    /// The workspace's name.
    pub name: String,
    /// Whether the removal is complete. If not, the workspace is draining; calls in flight will finish.
    pub finished: bool,
    /// Calls that were in flight.
    pub calls: Option<usize>,
    /// Calls that did not end in time and were cancelled.
    pub calls_cut: Option<usize>,
    /// The language servers, and how each ended.
    pub servers: Vec<StoppedDocument>,
    /// What had not ended in time and still runs. Its language servers have been ended.
    #[serde(default)]
    pub stuck: Vec<String>,
    /// The duration in milliseconds.
    pub took_ms: Option<u64>,
}

/// A language server that was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedDocument {
    /// The workspace.
    pub workspace: String,
    /// The server's name in paths.
    pub id: String,
    /// The server's kind.
    pub kind: String,
    /// What ended it: `none` (it wasn't running), `exit`, `terminate` or `kill`.
    pub ended_by: String,
}

/// A language server that restarts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestartDocument {
    /// The workspace.
    pub workspace: String,
    /// The server's name in paths.
    pub id: String,
    /// The server's kind.
    pub kind: String,
}

/// The retained results of all workspaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotList {
    /// The open workspaces. A workspace that isn't open retains nothing.
    pub workspaces: Vec<SnapshotDocument>,
    /// Always empty: the results of busy workspaces are listed as well.
    pub not_answering: Vec<String>,
}

/// The retained results of one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotDocument {
    /// The workspace.
    pub workspace: String,
    /// The number of retained results.
    pub count: usize,
    /// Their bytes, bookkeeping included.
    pub bytes: usize,
    /// The limit of these bytes.
    pub limit_bytes: usize,
    /// Age of the oldest result in seconds.
    pub oldest_s: Option<u64>,
    /// Results that were evicted.
    pub evictions: u64,
    /// Retained results by tool.
    pub by_tool: BTreeMap<String, usize>,
}
