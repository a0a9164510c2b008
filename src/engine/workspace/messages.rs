//! Messages of the workspace actor and the answers to them.

use std::path::PathBuf;
use std::sync::Arc;

use actix::prelude::*;
use futures::future::{BoxFuture, Shared};
use serde::Serialize;

use crate::indexer::handle::IndexHandle;
use crate::indexer::health::IndexHealth;
use crate::query::messages::SharedExecution;
use crate::query::watch_slot::FirstWalk;
use crate::server::child_key::ChildKey;
use crate::server::messages::ServerHealth;
use crate::status::state_watch;
use crate::workspace::setup::Policy;
use codeyard_base::clock::Deadline;
use codeyard_files::gate::FileStamp;
use codeyard_model::error::ToolError;
use codeyard_model::query::GatedQuery;
use codeyard_paging::{Snapshot, SnapshotStats};
use codeyard_telemetry::CallTrace;

/// A query begins (row 7 of `docs/architecture.md#the-path-of-a-request`).
#[derive(Message)]
#[rtype(result = "Result<Begun, ToolError>")]
pub struct Begin {
    /// The query, with gated paths.
    pub query: Arc<GatedQuery>,
    /// The stamp of the query's document, if the gate has read it for this call.
    pub seen: Option<FileStamp>,
    /// The deadline of the call.
    pub deadline: Deadline,
    /// The call.
    pub call: CallTrace,
}

/// The result of [`Begin`].
pub enum Begun {
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
        /// The request key.
        request_key: String,
    },
    /// Wait, then send [`Begin`] again.
    Wait(Wait),
}

/// What a query waits for before it can run.
#[derive(Clone)]
pub enum Wait {
    /// The watcher's first walk, or lookups of programs.
    Preparing(Shared<BoxFuture<'static, ()>>),
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

/// Stops all language servers, then the actor; returns how each server ended.
#[derive(Message)]
#[rtype(result = "Vec<StoppedServer>")]
pub struct Drain;

/// Stops this server to free memory.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopChild(pub ChildKey);

/// Returns the workspace's health.
#[derive(Message)]
#[rtype(result = "Option<WorkspaceHealth>")]
pub struct GetWorkspaceHealth;

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
    /// Its code indexes, one per root; empty before the first query that needs them.
    pub indexes: Vec<IndexHealth>,
}

/// Restarts the language server with this id. `false`: there is none.
#[derive(Message)]
#[rtype(result = "bool")]
pub struct RestartChild(pub String);

/// Stops the language server with this id and waits until it has ended; the next query starts it again. `None`: there is none.
#[derive(Message)]
#[rtype(result = "Option<StoppedServer>")]
pub struct HaltChild(pub String);

/// Returns the figures of the retained results.
#[derive(Message)]
#[rtype(result = "SnapshotStats")]
pub struct GetSnapshots;

/// Returns the problems of the workspace. It sends no message to a server, so it is cheap.
#[derive(Message)]
#[rtype(result = "Vec<WorkspaceProblem>")]
pub struct GetProblems;

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
pub struct BeginCode {
    /// The call.
    pub call: CallTrace,
    /// Whether it can wait for the watcher's first walk.
    pub is_patient: bool,
}

/// The result of [`BeginCode`].
pub enum BegunCode {
    /// The index is open.
    Open(IndexHandle),
    /// It is being opened; then send [`BeginCode`] again.
    Opening(FirstWalk),
    /// The watcher's first walk is in progress; after it the freshness of the index is known better.
    Walking(FirstWalk),
}

/// Reads the index into memory.
#[derive(Message)]
#[rtype(result = "()")]
pub struct WarmIndex;
