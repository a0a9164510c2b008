//! Messages of the indexer actor.

use actix::prelude::*;
use tokio::sync::watch;

use crate::indexer::policy::IndexPolicy;
use codeyard_model::code::{ActiveJob, JobMode, JobStatus};

/// Files changed below these roots; the projects were notified already.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Edited(pub Vec<usize>);

/// A query was answered from an outdated index: update it soon.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CatchUp {
    /// The positions of the roots.
    pub roots: Vec<usize>,
    /// A branch, a tag or a commit; `None`: the working tree.
    pub reference: Option<String>,
}

/// Begins a job on every root. `None`: no job is possible, because the index or its files can't be read or the workspace is
/// stopping.
#[derive(Message, Debug, Clone)]
#[rtype(result = "Option<Result<JobBegun, ActiveJob>>")]
pub struct BeginJob {
    /// A branch, a tag or a commit; `None`: the working tree.
    pub reference: Option<String>,
    /// Read all files again.
    pub is_forced: bool,
}

/// The job of the first root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobBegun {
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: JobStatus,
    /// Its mode.
    pub mode: JobMode,
}

/// Begins to index the roots that were never indexed. The returned value changes whenever a job ends; `None`: no job runs.
#[derive(Message)]
#[rtype(result = "Option<watch::Receiver<u64>>")]
pub struct FirstIndex;

/// Reads the indexes into memory.
#[derive(Message)]
#[rtype(result = "()")]
pub struct WarmUp;

/// Applies a new policy.
#[derive(Message)]
#[rtype(result = "()")]
pub struct RetuneIndex(pub IndexPolicy);

/// Stops all jobs, and answers when no thread runs.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopIndexing;
