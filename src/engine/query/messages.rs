//! The outcome of an execution, and the message that sends its result to the workspace.

use std::sync::Arc;

use actix::prelude::*;
use futures::future::{BoxFuture, Shared, WeakShared};

use crate::query::file_looks::ObservedFile;
use crate::query::no_answer::NoAnswer;
use codeyard_base::clock::Instant;
use codeyard_lsp::documents::document_input::DocumentNow;
use codeyard_model::epoch::{Epochs, ResultEpochs};
use codeyard_model::query::GatedQuery;
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::{CanonicalResult, Snapshot};

/// A complete result, retained under `key` if it fits.
#[derive(Debug, Clone)]
pub struct FinishedResult {
    /// The result.
    pub snapshot: Arc<Snapshot>,
    /// The snapshot key.
    pub key: String,
}

/// How an execution ended.
pub type ExecutionOutcome = Result<FinishedResult, NoAnswer>;

/// A running execution, shared by all calls with the same query at the same epochs.
pub type SharedExecution = Shared<BoxFuture<'static, ExecutionOutcome>>;

/// The workspace's reference to an execution; it doesn't keep it alive.
pub type WeakExecution = WeakShared<BoxFuture<'static, ExecutionOutcome>>;

/// Sends the result of an execution to the workspace; row 10 of `docs/internals/architecture.md#the-path-of-a-request`.
#[derive(Message)]
#[rtype(result = "ExecutionOutcome")]
pub struct Finish {
    /// The query.
    pub query: Arc<GatedQuery>,
    /// The snapshot key at the start.
    pub snapshot_key: String,
    /// The epochs in that key.
    pub epochs: ResultEpochs,
    /// The epochs of the same scope, seen at the start.
    pub seen: Epochs,
    /// The complete canonical result.
    pub result: CanonicalResult,
    /// When the execution began.
    pub began: Instant,
    /// The stamps of the result's files.
    pub observed: Vec<(CanonicalUri, ObservedFile)>,
    /// The document of the query as it is on disk at the end, if nothing watches the files.
    pub document_now: Option<DocumentNow>,
}
