//! Schedules and runs the jobs of the indexer.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::heap_trim;
use crate::indexer::actor::{Indexer, PendingEdit, ms};
use crate::indexer::health;
use crate::indexer::indexes::size;
use crate::indexer::messages::{BeginJob, JobBegun};
use crate::limits;
use crate::low_priority;
use crate::status::index_status::IndexHealth;
use crate::status::registry::IndexSize;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_index::JobError;
use codeyard_index::project::JobTicket;
use codeyard_model::code::{ActiveJob, JobMode, JobStatus, PrewarmStatus, SchemaStatus};

/// The result of a job.
struct JobEnd {
    /// Whether it published an index of the working tree.
    is_indexed: bool,
    /// Why it failed; `None` if it was stopped.
    failure: Option<JobError>,
    took: Duration,
    mode: JobMode,
    status: JobStatus,
    /// The size and the health of the index afterwards.
    index: Option<(IndexSize, IndexHealth)>,
}

impl Indexer {
    /// Schedules an update of the root's index after its files were unchanged for a short time.
    pub(super) fn schedule(&mut self, at: usize, ctx: &mut Context<Self>) {
        let is_stopping = self.stopping.is_some();
        let was_indexed = self.state.was_indexed(at);
        let Some(unit) = self.units.get_mut(at).filter(|_| was_indexed && !is_stopping) else { return };
        let now = Instant::now();
        let since = match unit.edit.take() {
            Some(edit) => {
                ctx.cancel_future(edit.timer);
                edit.since
            }
            None => now,
        };
        let due = (now + ms(limits::EDIT_QUIET_MS)).min(since + ms(limits::EDIT_DELAY_MS)).max(unit.rests_until);
        let timer = ctx.run_later(due.saturating_duration_since(now), move |indexer, ctx| {
            let Some(unit) = indexer.units.get_mut(at) else { return };
            unit.edit = None;
            if unit.running > 0 {
                unit.wanted.insert(None);
            } else {
                indexer.start_job(at, None, ctx);
            }
        });
        unit.edit = Some(PendingEdit { since, timer });
    }

    /// Schedules or starts an update after a query was answered from an outdated index.
    pub(super) fn catch_up(&mut self, at: usize, reference: Option<String>, ctx: &mut Context<Self>) {
        let is_stopping = self.stopping.is_some();
        let Some(unit) = self.units.get_mut(at).filter(|_| !is_stopping) else { return };
        let is_live = reference.is_none();
        if unit.running > 0 {
            // The end of the current job checks whether the working tree has changed since.
            if !is_live {
                unit.wanted.insert(reference);
            }
        } else if is_live && unit.edit.is_some() {
            // A job is scheduled already.
        } else if unit.rests_until <= Instant::now() {
            self.start_job(at, reference, ctx);
        } else if is_live {
            self.schedule(at, ctx);
        }
    }

    /// Begins a job on every root, and sends the result for the first root.
    pub(super) fn begin_job(
        &mut self,
        order: BeginJob,
        sender: oneshot::Sender<Result<JobBegun, ActiveJob>>,
        ctx: &mut Context<Self>,
    ) {
        if self.stopping.is_some() || self.units.is_empty() {
            return;
        }
        let BeginJob { reference, is_forced } = order;
        let others = reference.clone();
        self.prepare(0, reference, is_forced, ctx, move |indexer, begun, ctx| {
            if begun.is_ok() {
                for at in 1..indexer.units.len() {
                    indexer.prepare(at, others.clone(), is_forced, ctx, |_, _, _| {});
                }
            }
            // The caller may be gone.
            drop(sender.send(begun));
        });
    }

    /// Begins a job without a waiting caller.
    pub(super) fn start_job(&mut self, at: usize, reference: Option<String>, ctx: &mut Context<Self>) {
        self.prepare(at, reference, false, ctx, |_, _, _| {});
    }

    fn prepare(
        &mut self,
        at: usize,
        reference: Option<String>,
        is_forced: bool,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, Result<JobBegun, ActiveJob>, &mut Context<Self>) + 'static,
    ) {
        if let Some(edit) = self.units[at].edit.take_if(|_| reference.is_none()) {
            ctx.cancel_future(edit.timer);
        }
        self.units[at].running += 1;
        self.working += 1;
        let project = self.units[at].project.clone();
        let queries = self.queries.clone();
        let is_live = reference.as_deref().is_none_or(|reference| reference == "live");
        let prepared = blocking::spawn(move || {
            let _running = queries.begin()?;
            // An unreadable index is rebuilt only on request.
            let is_lost = matches!(project.schema().0, SchemaStatus::ReindexRequired | SchemaStatus::CorruptManifest);
            (is_forced || !is_lost).then(|| project.prepare(reference.as_deref(), is_forced))
        });
        let prepared = prepared.into_actor(self).map(move |prepared, indexer, ctx| match prepared {
            Ok(Some(Ok(ticket))) => {
                let begun = JobBegun { id: ticket.id().to_owned(), status: JobStatus::Queued, mode: ticket.mode };
                then(indexer, Ok(begun), ctx);
                indexer.run(at, ticket, is_live, ctx);
            }
            Ok(Some(Err(active))) => {
                then(indexer, Err(active), ctx);
                indexer.ended(at, None, ctx);
            }
            // It panicked, or no job is possible, also because the files hang; the dropped sender reports that to the caller.
            Ok(None) | Err(_) => {
                // Otherwise those who wait for the first index would ask for it again at once.
                indexer.units[at].rests_until = Instant::now() + ms(limits::FAILED_INDEX_REST_MS);
                indexer.ended(at, None, ctx);
            }
        });
        ctx.spawn(prepared);
    }

    /// Runs a job on a low-priority thread of its own.
    fn run(&mut self, at: usize, ticket: JobTicket, is_live: bool, ctx: &mut Context<Self>) {
        let project = self.units[at].project.clone();
        let began = Instant::now();
        let mode = ticket.mode;
        let turn = self.turn(mode);
        let work = low_priority::run("codeyard-index", move || {
            let done = project.run(&ticket);
            let health = health::for_operators(&project);
            let size = size(&project, &health);
            // Load it, so that the first query is fast.
            if done.is_ok() && is_live && project.prewarm().is_err() {
                tracing::debug!(project = project.id(), "the published index can't be loaded into memory");
            }
            drop(ticket);
            if mode == JobMode::Full {
                // It used much memory for a short time, which the allocator keeps.
                heap_trim::now();
            }
            (done, (size, health))
        });
        let run = async move {
            let _turn = turn.await;
            work.await
        };
        ctx.spawn(run.into_actor(self).map(move |done, indexer, ctx| {
            let (done, index) = done.map_or((None, None), |(done, index)| (Some(done), Some(index)));
            let status = match &done {
                Some(Ok(_)) => JobStatus::Published,
                Some(Err(JobError::Stopped)) => JobStatus::Interrupted,
                _ => JobStatus::Failed,
            };
            let failure = match done {
                Some(Ok(_)) | Some(Err(JobError::Stopped)) => None,
                Some(Err(error)) => Some(error),
                None => Some(JobError::Index("the job ended by a fault of ours".to_owned())),
            };
            let is_indexed = is_live && failure.is_none() && indexer.stopping.is_none();
            indexer.ended(at, Some(JobEnd { is_indexed, failure, took: began.elapsed(), mode, status, index }), ctx);
        }));
    }

    /// Waits for the turn of a job. Jobs that read all files take turns, and so do updates, over all workspaces and in the order in which
    /// they were requested. The wait ends with the indexer, and after [`limits::MAX_INDEX_TURN_WAIT_MS`] or, for an update,
    /// [`limits::MAX_UPDATE_TURN_WAIT_MS`], so that hung jobs of others don't prevent this one.
    fn turn(&self, mode: JobMode) -> impl Future<Output = Option<OwnedSemaphorePermit>> + 'static {
        let (turns, most) = match mode {
            JobMode::Full => (self.indexes.full_jobs.clone(), limits::MAX_INDEX_TURN_WAIT_MS),
            JobMode::Incremental => (self.indexes.updates.clone(), limits::MAX_UPDATE_TURN_WAIT_MS),
        };
        let mut stopped = self.stopped.subscribe();
        async move {
            let wait = tokio::time::timeout(ms(most), turns.acquire_owned());
            tokio::select! {
                turn = wait => turn.ok()?.ok(),
                _ = stopped.wait_for(|stopped| *stopped) => None,
            }
        }
    }

    /// Handles the end of a job; `None`: it did not start.
    fn ended(&mut self, at: usize, ended: Option<JobEnd>, ctx: &mut Context<Self>) {
        self.working -= 1;
        let unit = &mut self.units[at];
        unit.running -= 1;
        if let Some(ended) = ended {
            self.reporting.metrics.index_job(ended.mode.as_str(), ended.status.as_str(), ended.took);
            if let Some((size, health)) = ended.index {
                self.reporting.status.set_index(at, size);
                self.reporting.status.index_board.publish(at, health);
            }
            let rest = match &ended.failure {
                None => ended.took.saturating_sub(ms(limits::EDIT_DELAY_MS)).min(ms(limits::MAX_INDEX_REST_MS)),
                Some(error) => {
                    tracing::warn!(project = unit.project.id(), %error, "a job of the code index failed");
                    ms(limits::FAILED_INDEX_REST_MS)
                }
            };
            unit.rests_until = Instant::now() + rest;
            if ended.is_indexed {
                self.state.indexed[at].store(true, Ordering::Relaxed);
            }
        }
        self.state.jobs.send_modify(|jobs| *jobs += 1);
        if self.stopping.is_some() {
            return self.end_if_idle(ctx);
        }
        if self.units[at].running > 0 {
            return;
        }
        match self.units[at].wanted.pop_first() {
            Some(reference) => self.start_job(at, reference, ctx),
            // Changes during the job; without a watcher they are unknown.
            None if self.state.is_watched.load(Ordering::Relaxed) && self.units[at].project.is_stale() => {
                self.schedule(at, ctx);
            }
            None => {}
        }
    }

    /// Loads the indexes into memory.
    pub(super) fn warm_up(&mut self, ctx: &mut Context<Self>) {
        *self.state.prewarm.lock() = PrewarmStatus::Warming;
        self.working += 1;
        let projects: Vec<_> = self.units.iter().map(|unit| unit.project.clone()).collect();
        let indexes = self.indexes.clone();
        let state = self.state.clone();
        let warmed = low_priority::run("codeyard-warm", move || {
            if !projects.iter().any(|project| project.is_indexed()) {
                return PrewarmStatus::Skipped;
            }
            let mut outcome = PrewarmStatus::Complete;
            for project in &projects {
                if let Err(error) = project.prewarm() {
                    tracing::warn!(project = project.id(), %error, "a code index can't be read into memory");
                    outcome = PrewarmStatus::Failed;
                }
            }
            if indexes.warmset.record_use(&state.warm) {
                indexes.write_warmset();
            }
            outcome
        });
        ctx.spawn(warmed.into_actor(self).map(|outcome, indexer, ctx| {
            *indexer.state.prewarm.lock() = outcome.unwrap_or(PrewarmStatus::Failed);
            indexer.working -= 1;
            indexer.end_if_idle(ctx);
        }));
    }

    /// Stops the actor if that was requested and no thread runs.
    pub(super) fn end_if_idle(&mut self, ctx: &mut Context<Self>) {
        if self.working == 0
            && let Some(waiting) = &mut self.stopping
        {
            for sender in waiting.drain(..) {
                // The caller may be gone.
                let _ = sender.send(());
            }
            ctx.stop();
        }
    }
}
