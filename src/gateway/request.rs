//! The actor of one call: runs the pipeline, ends it at its deadline, ends it when nobody waits any more, tells progress,
//! and closes the call's span with its outcome.
//!
//! Stopping the actor drops the pipeline, and that cancels everything below. There is one reply, sent once.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::admission::Place;
use super::pipeline::{self, Board};
use super::service::{Progress, ProgressSink};
use crate::base::clock::Deadline;
use crate::engine::directory::WorkspaceHandle;
use crate::model::answer::Answer;
use crate::model::error::ToolError;
use crate::model::query::GatedQuery;
use crate::telemetry::{CallSpan, Metrics, Outcome};

/// How often progress is told.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Row 6: everything a call needs.
pub struct Job {
    /// The question, through the gate.
    pub query: Arc<GatedQuery>,
    /// Where it is asked.
    pub workspace: WorkspaceHandle,
    /// By when it must be answered.
    pub deadline: Deadline,
    /// Its place among the calls in flight.
    pub place: Place,
    /// Where progress goes.
    pub progress: Option<ProgressSink>,
    /// Its span.
    pub span: CallSpan,
    /// Counts it.
    pub metrics: Arc<dyn Metrics>,
    /// Where the answer goes; when the other end is dropped, the call is cancelled.
    pub reply: oneshot::Sender<Result<Answer, ToolError>>,
}

/// See the module.
pub struct Request {
    job: Option<Job>,
    reply: Option<oneshot::Sender<Result<Answer, ToolError>>>,
    span: Option<CallSpan>,
    metrics: Arc<dyn Metrics>,
    tool: &'static str,
    board: Board,
}

impl Request {
    /// Starts an actor for `job` on the thread of its workspace. If that thread is gone, the reply's other end hears so.
    pub fn start_for(job: Job) {
        let arbiter = job.workspace.arbiter.clone();
        let tool = job.query.tool();
        let metrics = job.metrics.clone();
        let request = Self { job: Some(job), reply: None, span: None, metrics, tool, board: Board::default() };
        arbiter.spawn_fn(move || drop(request.start()));
    }

    fn finish(&mut self, result: Result<Answer, ToolError>, ctx: &mut Context<Self>) {
        let outcome = result.as_ref().map_or_else(|error| Outcome::Failed(error.code), |_| Outcome::Ok);
        if let Some(reply) = self.reply.take() {
            drop(reply.send(result));
        }
        self.close(outcome);
        ctx.stop();
    }

    fn cancelled(&mut self, ctx: &mut Context<Self>) {
        self.metrics.cancel();
        self.close(Outcome::Cancelled);
        ctx.stop();
    }

    fn close(&mut self, outcome: Outcome) {
        if let Some(span) = self.span.take() {
            span.finish(outcome);
            self.metrics.call(self.tool, outcome);
        }
    }
}

impl Actor for Request {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let Some(job) = self.job.take() else { return ctx.stop() };
        let Job { query, workspace, deadline, place, progress, span, mut reply, .. } = job;
        self.span = Some(span);
        if reply.is_closed() {
            return self.cancelled(ctx);
        }
        let (gone_tx, gone_rx) = oneshot::channel::<()>();
        let (answer_tx, answer_rx) = oneshot::channel();
        self.reply = Some(answer_tx);
        // The caller's end is watched by the future that forwards the answer, so that its drop is seen at once.
        let forward = async move {
            tokio::select! {
                biased;
                result = answer_rx => { if let Ok(result) = result { drop(reply.send(result)); } }
                () = reply.closed() => drop(gone_tx.send(())),
            }
        };
        tokio::spawn(forward);
        ctx.spawn(gone_rx.into_actor(self).map(|gone, request, ctx| {
            if gone.is_ok() {
                request.cancelled(ctx);
            }
        }));
        let board = self.board.clone();
        let work = async move {
            let result = pipeline::answer(&workspace, query, deadline, &board).await;
            drop(place);
            result
        };
        ctx.spawn(work.into_actor(self).map(|result, request, ctx| request.finish(result, ctx)));
        ctx.run_later(deadline.left(), |request, ctx| {
            let error = request.board.timeout();
            request.finish(Err(error), ctx);
        });
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
