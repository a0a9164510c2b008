//! One call at work, a task of its own: runs the pipeline, ends it at its deadline, ends it when nobody waits any more, and
//! tells progress.
//!
//! Its end drops the pipeline, and that cancels everything below. There is one reply, sent once; a task that panics leaves
//! none, and its reply's other end hears so.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::admission::Place;
use super::pipeline::{self, Board};
use super::service::{Progress, ProgressSink};
use crate::base::clock::Deadline;
use crate::engine::directory::WorkspaceHandle;
use crate::gate::FileStamp;
use crate::model::answer::Answer;
use crate::model::error::ToolError;
use crate::model::query::GatedQuery;
use crate::telemetry::CallTrace;

/// How often progress is told.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Row 6: everything a call needs.
pub struct Job {
    /// The question, through the gate.
    pub query: Arc<GatedQuery>,
    /// What the gate saw of its document just now.
    pub seen: Option<FileStamp>,
    /// Where it is asked.
    pub workspace: Arc<WorkspaceHandle>,
    /// By when it must be answered.
    pub deadline: Deadline,
    /// Its place among the calls in flight.
    pub place: Place,
    /// Where progress goes.
    pub progress: Option<ProgressSink>,
    /// What is told of it.
    pub call: CallTrace,
    /// Where the answer goes; when the other end is dropped, the call is cancelled.
    pub reply: oneshot::Sender<Result<Answer, ToolError>>,
}

/// Starts `job` on the thread of its workspace. If that thread is gone, the reply's other end hears so.
pub fn start(job: Job) {
    let arbiter = job.workspace.arbiter.clone();
    arbiter.spawn(run(job));
}

/// Waits for the answer, the caller's leaving and the deadline: whatever comes first drops the rest.
async fn run(job: Job) {
    let Job { query, seen, workspace, deadline, place, progress, call, mut reply } = job;
    if reply.is_closed() {
        return;
    }
    let board = Board::default();
    let result = tokio::select! {
        biased;
        result = pipeline::answer(&workspace, (query, seen), deadline, &board, &call) => result,
        () = reply.closed() => return,
        () = tokio::time::sleep_until(deadline.instant()) => Err(board.timeout()),
        () = tell(progress, &board) => return,
    };
    drop(place);
    drop(reply.send(result));
}

/// Tells how far the call is, for as long as it is polled; never ends.
async fn tell(progress: Option<ProgressSink>, board: &Board) {
    let Some(sink) = progress else { return std::future::pending().await };
    let mut told = 0.0;
    loop {
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        told += 1.0;
        let (phase, progress) = board.read();
        let message = progress.unwrap_or_else(|| phase.as_str().to_owned());
        sink.send(Progress { progress: told, total: None, message: Some(message) });
    }
}
