//! The JSON documents of the admin API about language servers.
//!
//! They are part of [`documents`](super::documents). Invariant: an unknown value is omitted or `null`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All language servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerList {
    /// Running, starting and failed language servers, ordered by workspace.
    pub servers: Vec<ServerDocument>,
    /// Always empty: the servers of busy workspaces are listed as well.
    pub not_answering: Vec<String>,
    /// Language servers that were stopped on purpose and haven't been needed since; the latest ones of each workspace.
    #[serde(default)]
    pub stopped: Vec<StoppedServerDocument>,
}

/// One language server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerDocument {
    /// The workspace.
    pub workspace: String,
    /// The server's name in paths. Every server of this kind at this root has the same.
    pub id: String,
    /// The server's kind.
    pub kind: String,
    /// The server's version, if known.
    pub version: Option<String>,
    /// The project root, relative to the workspace's root.
    pub root: String,
    /// `starting`, `restarting`, `indexing`, `ready` or `down`.
    pub state: String,
    /// Seconds in this state.
    pub since_s: u64,
    /// What it does, for people. Absent from a server of an earlier version.
    #[serde(default)]
    pub condition: Option<ConditionDocument>,
    /// Why the server is down or restarting: `crashed`, `quarantined`, `not_installed`, `stopped`.
    pub reason: Option<String>,
    /// The same as a sentence.
    pub message: Option<String>,
    /// How the server's process failed, if that is why it is down or restarting.
    #[serde(default)]
    pub failure: Option<FailureDocument>,
    /// The progress that the server reports.
    pub progress: Option<String>,
    /// Whether the server counts as ready because it reported no work for some time, not because it said so.
    pub assumed_ready: bool,
    /// The process id.
    pub pid: Option<u32>,
    /// Memory of the process tree in bytes. Absent if it was not measured yet.
    pub memory_bytes: Option<u64>,
    /// The most memory that the process tree may use, in bytes (`servers.KIND.memory_limit_mib`). Absent: no limit.
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
    /// Restarts since the first start.
    pub restarts: u64,
    /// Why it was ended or restarted last. Absent: it never was.
    #[serde(default)]
    pub last_end: Option<LastEndDocument>,
    /// Documents that are open in the server.
    pub open_documents: usize,
    /// Requests without an answer yet.
    pub pending: usize,
    /// Seconds since the last request.
    pub unused_s: u64,
    /// The end of its standard error; the list of all servers only has the last lines.
    pub stderr: String,
    /// Its projects, and how many of their files it knows; empty before the first start.
    #[serde(default)]
    pub projects: Vec<ProjectDocument>,
}

impl ServerDocument {
    /// What it does, and the seconds since then; its state if it is a server of an earlier version.
    pub fn shown_state(&self) -> (&str, u64) {
        match &self.condition {
            Some(condition) => (&condition.name, condition.since_s),
            None => (&self.state, self.since_s),
        }
    }
}

/// What a language server does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionDocument {
    /// `starting`, `indexing`, `ready`, `busy`, `hung`, `restarting`, `quarantined`, `stopped` or `unavailable`.
    pub name: String,
    /// Seconds since it began: of a busy server since its oldest request, of a hung one since its last output.
    pub since_s: u64,
    /// Why, as a phrase; empty if the name says all.
    pub why: String,
}

/// A language server that was stopped on purpose and hasn't been needed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedServerDocument {
    /// The workspace.
    pub workspace: String,
    /// The id that it had, and that its successor will have.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its project root, relative to the workspace's root.
    pub root: String,
    /// `idle`, `evicted`, `operator` or `replaced`.
    pub reason: String,
    /// Seconds since it was stopped.
    pub since_s: u64,
}

/// Why a language server was ended or restarted last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastEndDocument {
    /// The label `codeyard_reason` of `codeyard_server_restarts_total`, such as `crashed`, `memory_limit` or `operator`.
    pub reason: String,
    /// When it ended.
    pub at: String,
}

/// A project of a language server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectDocument {
    /// The project's root, relative to the workspace's root.
    pub root: String,
    /// The languages of its files, for people.
    pub languages: String,
    /// `found`, `inferred`, `not_needed`, or `missing`: the server knows only open documents.
    pub project_file: String,
    /// The path of the project file that was found, relative to the workspace's root.
    pub path: Option<String>,
    /// What an inferred project was inferred from.
    pub inferred_from: Option<String>,
    /// Files of the server's languages in the project.
    pub files: usize,
    /// How many of them the server knows. Unknown: `null`.
    pub known_files: Option<usize>,
    /// Why the server doesn't know all of them.
    pub reason: Option<String>,
    /// What mends it.
    pub remedy: Option<String>,
    /// Imports and includes that can't be resolved.
    pub unresolved: Vec<UnresolvedDocument>,
}

/// Imports and includes that can't be resolved for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnresolvedDocument {
    /// What is missing.
    pub reason: String,
    /// The number of different names.
    pub names: usize,
    /// A few of them.
    pub examples: Vec<String>,
    /// The command that mends it.
    pub command: Option<String>,
}

/// How the process of a language server failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureDocument {
    /// The failure in words: `exited with code 1 after 0.3 s`.
    pub summary: String,
    /// The exit code, if the process exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it. Without both, it was still running, or its end is unknown.
    pub signal: Option<i32>,
    /// How long it ran, in milliseconds; 0 if it could not be started.
    pub ran_ms: u64,
    /// When it failed.
    pub at: String,
    /// The last lines of its standard error, without paths outside the roots.
    pub lines: Vec<String>,
}
