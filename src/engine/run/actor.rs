//! The actor of one open run: carries out commands and executes the stages that they begin.
//!
//! Blocking work is done on other threads, so no message waits for a stage. Invariants: one stage of the run works at a time, in the run's turn;
//! the turn is given up when the run has nothing to do.

use std::collections::VecDeque;
use std::sync::Arc;

use actix::prelude::*;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;

use super::handle::RunHandle;
use super::messages::{ApplyCommand, StopRun};
use super::service::RunService;
use super::spans::RunWatch;
use crate::low_priority;
use codeyard_base::blocking;
use codeyard_base::ids::WorkspaceName;
use codeyard_runs::event::TraceContext;
use codeyard_runs::live_run::{CommandError, LiveRun};
use codeyard_runs::machine::Work;
use codeyard_runs::observer::RunStatus;
use codeyard_runs::stage::StageError;

/// The actor of one open run.
pub(crate) struct RunActor {
    live: Arc<LiveRun>,
    workspace: WorkspaceName,
    service: Arc<RunService>,
    status: watch::Receiver<RunStatus>,
    pending: VecDeque<(Work, TraceContext)>,
    /// Becomes false when no thread works on the run any more.
    working: watch::Sender<bool>,
    stopping: watch::Sender<bool>,
}

impl RunActor {
    /// Starts the actor of a run that `watch` observes.
    pub(crate) fn open(
        live: Arc<LiveRun>,
        workspace: WorkspaceName,
        service: &Arc<RunService>,
        watch: &RunWatch,
    ) -> RunHandle {
        let status = watch.receiver(live.status());
        let actor = Self {
            live: live.clone(),
            workspace,
            service: service.clone(),
            status: status.clone(),
            pending: VecDeque::new(),
            working: watch::Sender::new(false),
            stopping: watch::Sender::new(false),
        };
        RunHandle { live, actor: actor.start(), status, service: service.clone() }
    }

    /// Executes what is pending, in the run's turn, until nothing is left.
    fn work_off(&mut self, ctx: &mut Context<Self>) {
        if *self.stopping.borrow() || *self.working.borrow() {
            return;
        }
        let Some((work, trace)) = self.pending.pop_front() else { return };
        self.working.send_replace(true);
        let mut turn = self.service.queue().enter(&self.workspace, self.live.id());
        let live = self.live.clone();
        let service = self.service.clone();
        let mut stopping = self.stopping.subscribe();
        let mut status = self.status.clone();
        let work = async move {
            // A run that is stopped doesn't wait for its turn, and one that was cancelled makes room for another.
            tokio::select! {
                () = turn.granted() => {}
                _ = stopping.wait_for(|stopping| *stopping) => return,
                Ok(_) = status.wait_for(|status| !status.view.progress.is_active()) => return,
            }
            let mut next = Some(work);
            while let Some(work) = next {
                let live = live.clone();
                let trace = trace.clone();
                let name = format!("run-{}", work.stage);
                let executing = live.clone();
                let ended = low_priority::run_long(&name, move || executing.execute(&trace, work)).await;
                if ended.is_none() {
                    // The thread couldn't be started, or the work panicked where nothing expects it.
                    tracing::error!(run = %live.id(), "the work of a run could not be done; resume the run");
                    blocking::spawn(move || live.abandon()).await.ok();
                    return;
                }
                next = ended.flatten();
            }
            if live.status().view.finished_at.is_some() {
                blocking::spawn(move || service.remove_old_work()).await.ok();
            }
        };
        ctx.spawn(work.into_actor(self).map(|(), run, ctx| {
            run.working.send_replace(false);
            run.work_off(ctx);
        }));
    }
}

impl Actor for RunActor {
    type Context = Context<Self>;
}

impl Handler<ApplyCommand> for RunActor {
    type Result = ResponseActFuture<Self, Result<(), CommandError>>;

    fn handle(&mut self, message: ApplyCommand, _: &mut Self::Context) -> Self::Result {
        let live = self.live.clone();
        let ApplyCommand { command, trace } = message;
        let applied = {
            let trace = trace.clone();
            blocking::spawn(move || live.command(&trace, command))
        };
        Box::pin(applied.into_actor(self).map(move |applied, run, ctx| {
            let failed =
                || CommandError::Stage(StageError::new("INTERNAL", "the command failed; see the server's log"));
            if let Some(work) = applied.map_err(|_| failed())?? {
                run.pending.push_back((work, trace));
                run.work_off(ctx);
            }
            Ok(())
        }))
    }
}

impl Handler<StopRun> for RunActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopRun, ctx: &mut Self::Context) -> Self::Result {
        self.stopping.send_replace(true);
        self.pending.clear();
        self.live.stop();
        let live = self.live.clone();
        let mut working = self.working.subscribe();
        let stop = ctx.address();
        let ended: BoxFuture<'static, ()> = async move {
            // The sender is the actor, which outlives this future.
            working.wait_for(|working| !*working).await.ok();
            // What has waited for its turn doesn't begin any more: whoever waits for it learns that.
            blocking::spawn(move || live.abandon()).await.ok();
            drop(stop);
        }
        .boxed();
        ended
    }
}
