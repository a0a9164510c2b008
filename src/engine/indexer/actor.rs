//! The indexer actor: it decides when the jobs run that build the indexes of a workspace's projects.
//!
//! It answers no query: [`code_query`](super::code_query) reads the projects on threads that may block. The workspace passes changes on disk to
//! the projects before a later query is answered. Invariants: a root has one job at a time, and further requests are merged into the next
//! job; long jobs that no caller requested take at most about half of the time; after the stop no thread runs and nothing is written.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use actix::prelude::*;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use crate::indexer::handle::IndexHandle;
use crate::indexer::health::PublishedProjects;
use crate::indexer::indexes::{Indexes, Opened};
use crate::indexer::messages::{BeginJob, CatchUp, Edited, FirstIndex, JobBegun, RetuneIndex, StopIndexing, WarmUp};
use crate::indexer::policy::IndexPolicy;
use crate::indexer::running_queries::RunningQueries;
use crate::indexer::state::IndexState;
use crate::status::registry::WorkspaceStatus;
use codeyard_base::clock::Instant;
use codeyard_index::Project;
use codeyard_model::code::{ActiveJob, PrewarmStatus};
use codeyard_state::WarmWorkspace;
use codeyard_telemetry::Metrics;

/// One root.
pub(super) struct IndexedRoot {
    pub(super) project: Arc<Project>,
    /// Number of jobs that are prepared or run; more than one only until the second is refused.
    pub(super) running: usize,
    /// References to index after the current job: `None` is the working tree, otherwise a branch, tag or commit.
    pub(super) wanted: BTreeSet<Option<String>>,
    /// No job that no caller requested begins before this time.
    pub(super) rests_until: Instant,
    pub(super) edit: Option<PendingEdit>,
}

/// Edits that wait for a job.
pub(super) struct PendingEdit {
    pub(super) since: Instant,
    pub(super) timer: SpawnHandle,
}

/// Where an indexer reports its figures.
pub struct IndexReporting {
    /// The workspace's entry in the status registry.
    pub status: Arc<WorkspaceStatus>,
    /// Where jobs are measured.
    pub metrics: Arc<dyn Metrics>,
}

/// The indexer actor.
pub struct Indexer {
    pub(super) units: Vec<IndexedRoot>,
    pub(super) policy: IndexPolicy,
    pub(super) indexes: Arc<Indexes>,
    pub(super) state: Arc<IndexState>,
    pub(super) reporting: IndexReporting,
    /// The queries of the workspace that run. Preparing a job reads the same files.
    pub(super) queries: Arc<RunningQueries>,
    /// Number of threads that work for it.
    pub(super) working: usize,
    /// Whether it was told to stop, for jobs that wait for their turn.
    pub(super) stopped: watch::Sender<bool>,
    /// Callers that wait for its end.
    pub(super) stopping: Option<Vec<oneshot::Sender<()>>>,
}

impl Indexer {
    /// Starts one on the present thread. `is_wanted_warm`: it is going to be asked to [`WarmUp`].
    pub fn begin(
        opened: Opened,
        warm: WarmWorkspace,
        policy: IndexPolicy,
        indexes: Arc<Indexes>,
        reporting: IndexReporting,
        is_wanted_warm: bool,
    ) -> IndexHandle {
        let prewarm = if is_wanted_warm { PrewarmStatus::Pending } else { PrewarmStatus::Skipped };
        let state = Arc::new(IndexState {
            warm,
            indexed: opened.indexed.into_iter().map(AtomicBool::new).collect(),
            is_watched: AtomicBool::new(false),
            prewarm: Mutex::new(prewarm),
            jobs: watch::Sender::new(0),
        });
        for (at, size) in opened.sizes.into_iter().enumerate() {
            reporting.status.set_index(at, size);
        }
        let projects: Arc<[Arc<Project>]> = opened.projects.into();
        reporting.status.index_board.open(Arc::new(PublishedProjects(projects.clone())), opened.healths);
        let now = Instant::now();
        let unit = |project: &Arc<Project>| IndexedRoot {
            project: project.clone(),
            running: 0,
            wanted: BTreeSet::new(),
            rests_until: now,
            edit: None,
        };
        let units = projects.iter().map(unit).collect();
        let stopped = watch::Sender::new(false);
        let queries = Arc::new(RunningQueries::new(indexes.queries.clone()));
        let indexer = Self {
            units,
            policy,
            indexes,
            state: state.clone(),
            reporting,
            queries: queries.clone(),
            working: 0,
            stopped,
            stopping: None,
        };
        IndexHandle { projects, indexer: indexer.start(), queries, state }
    }
}

impl Actor for Indexer {
    type Context = Context<Self>;
}

impl Drop for Indexer {
    fn drop(&mut self) {
        // Its jobs end with it, whatever the reason.
        self.units.iter().for_each(|unit| unit.project.stop());
        self.reporting.status.close_index();
    }
}

impl Handler<Edited> for Indexer {
    type Result = ();

    fn handle(&mut self, edited: Edited, ctx: &mut Self::Context) {
        for at in edited.0 {
            self.schedule(at, ctx);
        }
    }
}

impl Handler<CatchUp> for Indexer {
    type Result = ();

    fn handle(&mut self, message: CatchUp, ctx: &mut Self::Context) {
        for at in message.roots {
            self.catch_up(at, message.reference.clone(), ctx);
        }
    }
}

impl Handler<BeginJob> for Indexer {
    type Result = ResponseFuture<Option<Result<JobBegun, ActiveJob>>>;

    fn handle(&mut self, order: BeginJob, ctx: &mut Self::Context) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.begin_job(order, sender, ctx);
        Box::pin(async move { receiver.await.ok() })
    }
}

impl Handler<FirstIndex> for Indexer {
    type Result = MessageResult<FirstIndex>;

    fn handle(&mut self, _: FirstIndex, ctx: &mut Self::Context) -> Self::Result {
        // Subscribe first: a job may end at once.
        let receiver = self.state.jobs.subscribe();
        let now = Instant::now();
        for at in 0..self.units.len() {
            let unit = &self.units[at];
            let is_due = unit.running == 0 && unit.rests_until <= now && self.policy.auto;
            if is_due && !self.state.was_indexed(at) && self.stopping.is_none() {
                self.start_job(at, None, ctx);
            }
        }
        let is_under_way = |at: usize| self.units[at].running > 0 && !self.state.was_indexed(at);
        MessageResult((0..self.units.len()).any(is_under_way).then_some(receiver))
    }
}

impl Handler<WarmUp> for Indexer {
    type Result = ();

    fn handle(&mut self, _: WarmUp, ctx: &mut Self::Context) {
        if self.stopping.is_none() {
            self.warm_up(ctx);
        }
    }
}

impl Handler<RetuneIndex> for Indexer {
    type Result = ();

    fn handle(&mut self, message: RetuneIndex, _: &mut Self::Context) {
        self.policy = message.0;
        self.units.iter().for_each(|unit| unit.project.set_settings(self.policy.settings.clone()));
    }
}

impl Handler<StopIndexing> for Indexer {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: StopIndexing, ctx: &mut Self::Context) -> Self::Result {
        self.units.iter().for_each(|unit| unit.project.stop());
        self.stopped.send_replace(true);
        let (sender, receiver) = oneshot::channel();
        self.stopping.get_or_insert_default().push(sender);
        self.end_if_idle(ctx);
        // An actor that ended has no thread.
        Box::pin(async move { receiver.await.unwrap_or_default() })
    }
}

/// A duration in milliseconds.
pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
