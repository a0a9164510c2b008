//! How an execution ends, and the message that hands its result to the workspace.

use std::sync::Arc;

use actix::prelude::*;
use futures::future::{BoxFuture, Shared, WeakShared};

use crate::query::known_files::ObservedFile;
use codeyard_model::epoch::Epochs;
use codeyard_model::error::ToolError;
use codeyard_model::query::GatedQuery;
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::{CanonicalResult, Snapshot};

/// How an execution ended.
#[derive(Debug, Clone)]
pub enum ExecutionOutcome {
    /// The result is whole, and retained under `key` where it fits.
    Done {
        /// The result.
        snapshot: Arc<Snapshot>,
        /// The snapshot key.
        key: String,
    },
    /// The workspace changed meanwhile: begin again.
    Changed,
    /// It can't be answered.
    Failed(ToolError),
}

/// A running execution, shared by all who ask the same.
pub type Run = Shared<BoxFuture<'static, ExecutionOutcome>>;

/// The workspace's own hold on an execution; it doesn't keep it alive.
pub type WeakRun = WeakShared<BoxFuture<'static, ExecutionOutcome>>;

/// Row 10: an execution ends.
#[derive(Message)]
#[rtype(result = "ExecutionOutcome")]
pub struct Finish {
    /// The question.
    pub query: Arc<GatedQuery>,
    /// The snapshot key it ran under.
    pub snapshot_key: String,
    /// What was known to have changed when it began.
    pub seen: Epochs,
    /// The whole canonical result.
    pub result: CanonicalResult,
    /// How the result's files looked on disk.
    pub observed: Vec<(CanonicalUri, ObservedFile)>,
}
