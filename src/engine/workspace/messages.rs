//! Messages of the workspace actor and the answers to them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::future::{BoxFuture, Shared};
use serde::Serialize;

use crate::indexer::handle::IndexHandle;
use crate::query::file_looks::{Look, Sight};
use crate::query::messages::SharedExecution;
use crate::run::{OpenRunError, RunHandle};
use crate::server::program::isolation::WorkspaceIsolation;
use crate::status::index_status::IndexHealth;
use crate::status::server_status::{LanguageServerStatus, ServerHealth};
use crate::status::state_watch;
use crate::status::stopped_servers::{StopReason, StoppedServerHealth};
use crate::status::watch_slot::FirstWalk;
use crate::workspace::long_questions::AwaitedExecution;
use crate::workspace::setup::Policy;
use codeyard_base::clock::Deadline;
use codeyard_lsp::client::lifecycle::StopPace;
use codeyard_model::error::ToolError;
use codeyard_model::query::GatedQuery;
use codeyard_paging::Snapshot;
use codeyard_runs::durable_run::RunStart;
use codeyard_runs::event::TraceContext;
use codeyard_runs::run_host::{StartError, StartKey};
use codeyard_runs::run_id::RunId;
use codeyard_telemetry::CallTrace;

/// A query begins (row 7 of `docs/internals/architecture.md#the-path-of-a-request`).
#[derive(Message)]
#[rtype(result = "Result<Begun, ToolError>")]
pub(crate) struct Begin {
    /// The query, with gated paths.
    pub query: Arc<GatedQuery>,
    /// What the call has seen of its document at the path check, and of the files that earlier answers asked it to look at
    /// ([`Begun::Look`]).
    pub sights: Vec<Sight>,
    /// The `since` of the first [`Wait::Planning`] of this query.
    pub planned: Option<u64>,
    /// The deadline of the call.
    pub deadline: Deadline,
    /// The call.
    pub call: CallTrace,
}

/// The result of [`Begin`].
#[expect(clippy::large_enum_variant, reason = "it is moved once a call")]
pub(crate) enum Begun {
    /// Look at files, then send [`Begin`] again with what was seen.
    Look {
        /// The files.
        files: Vec<Look>,
        /// What the call has seen before; to be sent again too.
        sights: Vec<Sight>,
    },
    /// The query has begun.
    Step(QueryStep),
}

/// What a query that has begun does next.
pub(crate) enum QueryStep {
    /// A retained result.
    Hit {
        /// The result.
        snapshot: Arc<Snapshot>,
        /// Where the page starts.
        offset: u64,
        /// The request key.
        request_key: String,
        /// The snapshot key.
        snapshot_key: String,
    },
    /// An execution, which other calls may share.
    Run {
        /// The execution.
        run: SharedExecution,
        /// Whether another call has started it.
        is_shared: bool,
        /// The states of the language servers that it asks: one that fails meanwhile is restarted, and the execution waits for it.
        servers: Vec<state_watch::Receiver>,
        /// Lets the execution go on after the deadline of the call.
        awaited: AwaitedExecution,
        /// The request key.
        request_key: String,
    },
    /// Wait, then send [`Begin`] again.
    Wait(Wait),
}

/// What a query waits for before it can run.
#[derive(Clone)]
pub(crate) enum Wait {
    /// The watcher's first walk.
    Preparing(Shared<BoxFuture<'static, ()>>),
    /// Plans, projects and lookups of programs.
    Planning {
        /// The revision of the plans when the wait began.
        since: u64,
        /// Their end.
        ended: Shared<BoxFuture<'static, ()>>,
    },
    /// All of these language servers, which are starting or indexing.
    Servers(Vec<state_watch::Receiver>),
    /// One of these language servers.
    Any(Vec<state_watch::Receiver>),
}

/// Applies a new policy; nothing is restarted.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Retune(pub Policy);

/// Starts the servers that run before the first query.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Warm;

/// The watcher has seen changes.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Wake;

/// Stops all language servers, then the actor. The time of the stop is bounded.
#[derive(Message)]
#[rtype(result = "Drained")]
pub struct Drain(pub StopPace);

/// How the parts of a workspace ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drained {
    /// Its language servers, with how each ended.
    pub servers: Vec<StoppedServer>,
    /// What had not ended in time and was left to itself.
    pub stuck: Vec<String>,
}

/// Stops the language server with this status to free memory; the next query starts it again.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopChild(pub Arc<LanguageServerStatus>, pub StopReason);

/// The last pass measured the language server with this status over its memory limit.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CheckChildMemory(pub Arc<LanguageServerStatus>);

/// The health of a workspace, as doctor and admin show it.
#[derive(Debug, Clone, Serialize)]
pub struct WorkspaceHealth {
    /// Its name.
    pub name: String,
    /// Its roots and extra roots.
    pub roots: Vec<PathBuf>,
    /// Roots, text, fs and diagnostics epochs.
    pub epochs: [u64; 4],
    /// `idle`, `starting`, `watching`, or the reason why files are not watched.
    pub watching: String,
    /// Number of source files, after the first walk.
    pub source_files: Option<usize>,
    /// Retained snapshots and their bytes.
    pub snapshots: (usize, usize),
    /// Its language servers.
    pub servers: Vec<ServerHealth>,
    /// Its language servers that were stopped on purpose and haven't been needed since.
    pub stopped: Vec<StoppedServerHealth>,
    /// Its code indexes, one per root; empty before the first query that needs them.
    pub indexes: Vec<IndexHealth>,
    /// What its servers may do.
    #[serde(skip)]
    pub isolation: Arc<WorkspaceIsolation>,
    /// What it is busy with; `None`: it would begin with a query at once.
    pub activity: Option<WorkspaceActivity>,
    /// The age of this state: the time since the thread of the workspace last ran.
    pub age: Duration,
}

/// What a workspace is busy with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkspaceActivity {
    /// What a query would wait for.
    pub waits_for: String,
    /// Since how many seconds; `None`: this isn't known.
    pub since_s: Option<u64>,
}

/// Restarts the language server with this id. `false`: there is none.
#[derive(Message)]
#[rtype(result = "bool")]
pub struct RestartChild(pub String);

/// Stops the language server with this id and waits until it has ended; the next query starts it again. `None`: there is none.
#[derive(Message)]
#[rtype(result = "Option<StoppedServer>")]
pub struct HaltChild(pub String);

/// The report of a stopped language server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedServer {
    /// Its id within the workspace.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// The step that ended it: `none` (it was not running), `exit`, `terminate` or `kill`.
    pub ended_by: &'static str,
}

/// A problem of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceProblem {
    /// Its files are not watched: answers are correct, but no result is retained.
    Unwatched,
    /// A language server of this kind failed too often and is not restarted for a while.
    Quarantined(String),
}

/// A query of the catalog `code` begins.
#[derive(Message)]
#[rtype(result = "Result<BegunCode, ToolError>")]
pub(crate) struct BeginCode {
    /// The call.
    pub call: CallTrace,
    /// Whether it can wait for a first walk of the watcher.
    pub is_patient: bool,
}

/// The result of [`BeginCode`].
pub(crate) enum BegunCode {
    /// The index is open.
    Open(IndexHandle),
    /// It is being opened; then send [`BeginCode`] again.
    Opening(FirstWalk),
    /// There is no index yet, and a first walk of the watcher is in progress: an index that is made after it is known to be fresh.
    Walking(FirstWalk),
}

/// Opens a run of the workspace.
#[derive(Message)]
#[rtype(result = "Result<RunHandle, OpenRunError>")]
pub struct OpenRun(pub String);

/// Starts a run; it is durable when the answer comes, and goes on by itself.
#[derive(Message)]
#[rtype(result = "Result<StartedRun, StartRunError>")]
pub struct StartRun {
    /// What it is started with. The workspace is filled in.
    pub start: RunStart,
    /// Makes repeated starts one run.
    pub key: Option<StartKey>,
    /// The span that asks for it.
    pub trace: TraceContext,
}

/// The result of [`StartRun`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedRun {
    /// The run.
    pub id: RunId,
    /// Whether an earlier start with the same key has created it.
    pub is_replayed: bool,
}

/// Why a run can't be started.
#[derive(Debug, thiserror::Error)]
pub enum StartRunError {
    /// The server has no runs.
    #[error(transparent)]
    Open(OpenRunError),
    /// Too many runs wait, the key is used, or the run can't be written.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Resumes the runs that a restart has interrupted.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ResumeRuns;

/// Reads the index into memory.
#[derive(Message)]
#[rtype(result = "()")]
pub struct WarmIndex;
