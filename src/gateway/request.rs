//! The actor of one call: runs the pipeline, ends it at its deadline, ends it when nobody waits any more, and tells
//! progress.
//!
//! Stopping the actor drops the pipeline, and that cancels everything below. There is one reply, sent once.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::admission::Place;
use super::pipeline::{self, Board};
use super::service::{Progress, ProgressSink};
use codeyard_base::clock::Deadline;
use codeyard_engine::directory::WorkspaceHandle;
use codeyard_files::gate::FileStamp;
use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::query::GatedQuery;
use codeyard_telemetry::CallTrace;

/// How often progress is told.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Row 6: everything a call needs.
pub(crate) struct Job {
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

/// See the module.
pub(crate) struct Request {
    job: Option<Job>,
    board: Board,
}

impl Request {
    /// Starts an actor for `job` on the thread of its workspace. If that thread is gone, the reply's other end hears so.
    pub(crate) fn start_for(job: Job) {
        let arbiter = job.workspace.arbiter.clone();
        let request = Self { job: Some(job), board: Board::default() };
        arbiter.spawn_fn(move || drop(request.start()));
    }
}

impl Actor for Request {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let Some(job) = self.job.take() else { return ctx.stop() };
        let Job { query, seen, workspace, deadline, place, progress, call, mut reply } = job;
        if reply.is_closed() {
            return ctx.stop();
        }
        let board = self.board.clone();
        // One future that waits for the answer, the caller's leaving and the deadline: whatever comes first drops the rest.
        let work = async move {
            let result = tokio::select! {
                biased;
                result = pipeline::answer(&workspace, (query, seen), deadline, &board, &call) => result,
                () = reply.closed() => return,
                () = tokio::time::sleep_until(deadline.instant()) => Err(board.timeout()),
            };
            drop(place);
            drop(reply.send(result));
        };
        ctx.spawn(work.into_actor(self).map(|(), _, ctx| ctx.stop()));
        if let Some(sink) = progress {
            let mut told = 0.0;
            ctx.run_interval(PROGRESS_INTERVAL, move |request, _| {
                told += 1.0;
                let (phase, progress) = request.board.read();
                let message = progress.unwrap_or_else(|| phase.as_str().to_owned());
                sink.send(Progress { progress: told, total: None, message: Some(message) });
            });
        }
    }
}
