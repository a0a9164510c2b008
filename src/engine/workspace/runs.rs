//! The runs of the workspace: started, opened on demand, resumed after a restart, stopped at the end.
//!
//! Invariants: a run is open at most once; a run that nobody uses and that does nothing may be closed, one that works may not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};

use crate::limits::{MAX_OPEN_RUNS, OPEN_RUN_POLL_MS, OPEN_RUN_WAIT_MS};
use crate::run::{ApplyCommand, OpenRunError, RunActor, RunHandle, RunService, RunWatch};
use crate::workspace::actor::Workspace;
use crate::workspace::messages::{OpenRun, ResumeRuns, StartRun, StartRunError, StartedRun};
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_runs::event::TraceContext;
use codeyard_runs::live_run::LiveRun;
use codeyard_runs::machine::{Advance, Command};
use codeyard_runs::run_host::{OpenError, Started};
use codeyard_runs::run_id::RunId;
use codeyard_runs::run_store::RunSummary;

type Opening = Shared<BoxFuture<'static, Result<RunHandle, OpenRunError>>>;

/// The open runs.
#[derive(Default)]
pub(super) struct OpenRuns {
    handles: BTreeMap<RunId, RunHandle>,
    opening: BTreeMap<RunId, Opening>,
}

/// A run was read from disk.
#[derive(Message)]
#[rtype(result = "Result<RunHandle, OpenRunError>")]
struct RunRead {
    id: RunId,
    read: Result<Arc<LiveRun>, OpenRunError>,
    watch: Arc<RunWatch>,
    /// Whether it isn't tried again if somebody else still has the run open.
    is_last: bool,
}

impl OpenRuns {
    /// The handle of an open run; otherwise `live` becomes open.
    fn insert(&mut self, live: Arc<LiveRun>, watch: &RunWatch, owner: &RunOwner<'_>) -> RunHandle {
        let id = live.id().clone();
        if let Some(open) = self.handles.get(&id) {
            return open.clone();
        }
        self.close_idle();
        let handle = RunActor::open(live, owner.name.clone(), owner.service, watch);
        self.handles.insert(id, handle.clone());
        handle
    }

    /// Closes the first runs that do nothing and that nobody uses, if there are many.
    fn close_idle(&mut self) {
        while self.handles.len() >= MAX_OPEN_RUNS {
            let idle = self.handles.iter().find(|(_, run)| run.is_unused()).map(|(id, _)| id.clone());
            let Some(id) = idle else { return };
            self.handles.remove(&id);
        }
    }

    /// Interrupts all runs; the future resolves when none of their threads works.
    pub(super) fn stop(&mut self) -> BoxFuture<'static, ()> {
        let stops = std::mem::take(&mut self.handles).into_values().map(|run| async move { run.stop().await });
        futures::future::join_all(stops).map(drop).boxed()
    }
}

/// What a run needs of its workspace.
struct RunOwner<'a> {
    name: &'a codeyard_base::ids::WorkspaceName,
    service: &'a Arc<RunService>,
}

impl Workspace {
    fn run_service(&self) -> Result<Arc<RunService>, OpenRunError> {
        if self.draining {
            return Err(OpenRunError::Unavailable("the workspace is being stopped".into()));
        }
        self.setup.shared.runs.clone().map_err(OpenRunError::Unavailable)
    }

    fn add_run(&mut self, live: Arc<LiveRun>, watch: &RunWatch, service: &Arc<RunService>) -> RunHandle {
        let name = self.setup.name.clone();
        self.runs.insert(live, watch, &RunOwner { name: &name, service })
    }

    fn open_run(&mut self, id: RunId, ctx: &Context<Self>) -> Opening {
        let service = match self.run_service() {
            Ok(service) => service,
            Err(error) => return futures::future::ready(Err(error)).boxed().shared(),
        };
        if let Some(open) = self.runs.handles.get(&id) {
            return futures::future::ready(Ok(open.clone())).boxed().shared();
        }
        if let Some(opening) = self.runs.opening.get(&id) {
            return opening.clone();
        }
        let actor = ctx.address();
        let workspace = self.setup.name.to_string();
        let key = id.clone();
        let opening = async move {
            let until = Instant::now() + Duration::from_millis(OPEN_RUN_WAIT_MS);
            loop {
                let watch = RunWatch::new(&service);
                let host = service.clone();
                let wanted = id.clone();
                let owner = workspace.clone();
                let observer = watch.clone();
                let read = blocking::spawn(move || read_run(&host, &wanted, &owner, observer)).await;
                let read = read.unwrap_or_else(|_| Err(OpenRunError::Unavailable("reading the run failed".into())));
                let is_last = Instant::now() >= until;
                let stopped = |_| Err(OpenRunError::Unavailable("the workspace is being stopped".into()));
                let opened = actor.send(RunRead { id: id.clone(), read, watch, is_last }).await.unwrap_or_else(stopped);
                // An earlier workspace of this name ends its work, or the run is just being created.
                match opened {
                    Err(OpenRunError::InUse) if !is_last => {
                        tokio::time::sleep(Duration::from_millis(OPEN_RUN_POLL_MS)).await
                    }
                    opened => return opened,
                }
            }
        };
        // The task goes on when the call that asked for the run ends.
        let task = tokio::spawn(opening);
        let opening: Opening = async move {
            task.await.unwrap_or_else(|_| Err(OpenRunError::Unavailable("opening the run failed".into())))
        }
        .boxed()
        .shared();
        self.runs.opening.insert(key, opening.clone());
        opening
    }
}

fn read_run(
    service: &RunService,
    id: &RunId,
    workspace: &str,
    observer: Arc<RunWatch>,
) -> Result<Arc<LiveRun>, OpenRunError> {
    let found = service.host().find(id.as_str(), workspace).map_err(|error| OpenRunError::List(error.to_string()))?;
    let id = found.ok_or(OpenRunError::NotFound)?;
    service.host().open_run(&id, observer).map_err(|error| match error {
        OpenError::InUse => OpenRunError::InUse,
        OpenError::Run(error) => OpenRunError::Run(Arc::new(error)),
    })
}

impl Handler<OpenRun> for Workspace {
    type Result = ResponseFuture<Result<RunHandle, OpenRunError>>;

    fn handle(&mut self, message: OpenRun, ctx: &mut Self::Context) -> Self::Result {
        match RunId::parse(&message.0) {
            Some(id) => Box::pin(self.open_run(id, ctx)),
            None => Box::pin(async { Err(OpenRunError::NotFound) }),
        }
    }
}

impl Handler<RunRead> for Workspace {
    type Result = Result<RunHandle, OpenRunError>;

    fn handle(&mut self, message: RunRead, _: &mut Self::Context) -> Self::Result {
        if let Some(open) = self.runs.handles.get(&message.id).cloned() {
            self.runs.opening.remove(&message.id);
            return Ok(open);
        }
        if !matches!(message.read, Err(OpenRunError::InUse)) || message.is_last {
            self.runs.opening.remove(&message.id);
        }
        let service = self.run_service()?;
        Ok(self.add_run(message.read?, &message.watch, &service))
    }
}

impl Handler<StartRun> for Workspace {
    type Result = ResponseActFuture<Self, Result<StartedRun, StartRunError>>;

    fn handle(&mut self, message: StartRun, _: &mut Self::Context) -> Self::Result {
        let service = match self.run_service() {
            Ok(service) => service,
            Err(error) => return Box::pin(fut::ready(Err(StartRunError::Open(error)))),
        };
        let StartRun { mut start, key, trace } = message;
        start.workspace = self.setup.name.to_string();
        let watch = RunWatch::new(&service);
        let host = service.clone();
        let observer = watch.clone();
        let span = trace.clone();
        let name = self.setup.name.clone();
        let created = blocking::spawn(move || {
            let admit = || host.queue().admit(&name);
            host.host().start(start, key.as_ref(), &span, observer, &admit)
        });
        Box::pin(created.into_actor(self).map(move |created, workspace, _| {
            let failed = || OpenRunError::Unavailable("creating the run failed".into());
            match created.map_err(|_| StartRunError::Open(failed()))?? {
                Started::Replayed(id) => Ok(StartedRun { id, is_replayed: true }),
                Started::New(live) => {
                    let id = live.id().clone();
                    let run = workspace.add_run(live, &watch, &service);
                    run.begin(ApplyCommand { command: Command::Resume, trace });
                    Ok(StartedRun { id, is_replayed: false })
                }
            }
        }))
    }
}

/// The span that resumed work belongs to: that of the call that asked for it. A new trace if nobody knows it.
async fn asked_trace(run: &RunHandle, service: &RunService) -> TraceContext {
    let live = run.live().clone();
    let asked = blocking::spawn(move || RunWatch::last_asked(&live)).await.ok().flatten();
    asked.unwrap_or_else(|| TraceContext { trace_id: service.new_trace(), ..TraceContext::default() })
}

impl Handler<ResumeRuns> for Workspace {
    type Result = ();

    fn handle(&mut self, _: ResumeRuns, ctx: &mut Self::Context) {
        let Ok(service) = self.run_service() else { return };
        let name = self.setup.name.to_string();
        let actor = ctx.address();
        let resume = async move {
            let host = service.clone();
            let unfinished = blocking::spawn(move || {
                host.remove_old_work();
                host.host().store().unfinished()
            })
            .await;
            let unfinished: Vec<RunSummary> = match unfinished {
                Ok(Ok(runs)) => runs.into_iter().filter(|run| run.workspace == name).collect(),
                Ok(Err(error)) => {
                    return tracing::error!(%error, "the runs of a workspace can't be listed, so none is resumed");
                }
                Err(_) => return,
            };
            for run in unfinished {
                match actor.send(OpenRun(run.run_id.clone())).await {
                    Ok(Ok(open)) if open.status().view.progress.advance == Advance::Auto => {
                        tracing::info!(run = run.run_id, "a run is resumed");
                        let trace = asked_trace(&open, &service).await;
                        open.begin(ApplyCommand { command: Command::Resume, trace });
                    }
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => tracing::error!(run = run.run_id, %error, "a run can't be resumed"),
                    Err(_) => return,
                }
            }
        };
        tokio::spawn(resume);
    }
}
