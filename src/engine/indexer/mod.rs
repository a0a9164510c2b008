//! The actor that keeps the code indexes of one workspace: one project a root, and the jobs that build them.
//!
//! It answers no question: those read the projects themselves, on threads that may block ([`ask`]). What changes on disk is told to the
//! projects by the workspace before a later question is answered; here it only decides when a job runs. Invariants: a root has one job
//! at a time, and what is wanted meanwhile is merged into one that follows; long jobs that nobody asked for take no more than about every
//! second moment; once it has stopped no thread of its is left, and nothing is written any more.

pub mod ask;
pub mod health;
mod jobs;
mod merge;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use actix::prelude::*;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot, watch};

use crate::census::{IndexSize, WorkspaceCell};
use crate::limits;
use crate::workspace_setup::IndexPolicy;
use codeyard_base::clock::Instant;
use codeyard_index::Project;
use codeyard_model::code::{ActiveJob, JobMode, JobStatus, PrewarmStatus};
use codeyard_state::{INDEX_FOLDER, StoreHandle, Warmset};
use codeyard_telemetry::Metrics;

/// What the indexes of all workspaces of a process share.
pub struct Indexes {
    folder: PathBuf,
    /// Which workspaces used theirs last.
    pub warmset: Warmset,
    /// Bounds the questions that are at work.
    pub places: Arc<Semaphore>,
    /// Questions that wait for a place.
    waiting: AtomicUsize,
    began: Instant,
}

/// A question waits for a place as long as this is kept.
pub struct Waits<'i>(&'i Indexes);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Indexes {
    /// Those in the state directory at `state`.
    pub fn in_state(state: &Path, store: StoreHandle) -> Self {
        Self {
            folder: state.join(INDEX_FOLDER),
            warmset: Warmset::open(store),
            places: Arc::new(Semaphore::new(limits::MAX_CODE_QUESTIONS)),
            waiting: AtomicUsize::new(0),
            began: Instant::now(),
        }
    }

    /// A question waits for a place from now on.
    pub fn waits(&self) -> Waits<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waits(self)
    }

    /// Questions that wait for a place.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Seconds since the process began to serve.
    pub fn uptime_s(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    /// Writes down which workspaces used theirs last. Blocks.
    pub fn write_warmset(&self) {
        if let Err(error) = self.warmset.save() {
            tracing::warn!(%error, "which workspaces used their code index last can't be written down");
        }
    }

    /// Opens the projects of a workspace, and writes down which jobs the end of a process cut short. Blocks.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn open(&self, roots: &[PathBuf], policy: &IndexPolicy) -> io::Result<Opened> {
        let mut opened = Opened { projects: Vec::new(), indexed: Vec::new(), sizes: Vec::new() };
        for root in roots {
            let project = Project::new(&self.folder, root, roots.len() > 1, policy.settings.clone())?;
            if let Err(error) = project.reconcile() {
                tracing::warn!(%error, project = project.id(), "interrupted jobs of the code index can't be written down");
            }
            opened.indexed.push(project.health(None).last_indexed_at.is_some());
            opened.sizes.push(health::size(&project));
            opened.projects.push(Arc::new(project));
        }
        Ok(opened)
    }
}

/// Projects that were just opened.
pub struct Opened {
    projects: Vec<Arc<Project>>,
    /// Whether the working tree of each was ever indexed.
    indexed: Vec<bool>,
    sizes: Vec<IndexSize>,
}

/// What questions need of an indexer. Cheap to clone.
#[derive(Clone)]
pub struct Indexed {
    /// One a root, in the roots' order.
    pub projects: Arc<[Arc<Project>]>,
    /// Who builds them.
    pub indexer: Addr<Indexer>,
    /// How it is.
    pub state: Arc<IndexState>,
}

/// How an indexer is, for whoever looks.
pub struct IndexState {
    /// Whether the working tree of each root was ever indexed.
    indexed: Box<[AtomicBool]>,
    is_watched: AtomicBool,
    prewarm: Mutex<PrewarmStatus>,
    jobs: watch::Sender<u64>,
}

impl IndexState {
    /// Whether every root's working tree was ever indexed.
    pub fn is_indexed(&self) -> bool {
        self.indexed.iter().all(|indexed| indexed.load(Ordering::Relaxed))
    }

    /// How reading it into memory went.
    pub fn prewarm(&self) -> PrewarmStatus {
        *self.prewarm.lock()
    }

    fn was_indexed(&self, at: usize) -> bool {
        self.indexed.get(at).is_some_and(|indexed| indexed.load(Ordering::Relaxed))
    }
}

/// One root.
struct Unit {
    project: Arc<Project>,
    /// Jobs that are being prepared or run; more than one only while one of them waits to be refused.
    running: usize,
    /// What is wanted once the present job has ended: the working tree, or a branch, a tag, a commit.
    wanted: BTreeSet<Option<String>>,
    /// A job that nobody asked for doesn't begin before.
    rests_until: Instant,
    edit: Option<Edit>,
}

/// An edit that waits for a job.
struct Edit {
    since: Instant,
    timer: SpawnHandle,
}

/// Who counts what an indexer does.
pub struct Told {
    /// The workspace's cell.
    pub cell: Arc<WorkspaceCell>,
    /// Where jobs are measured.
    pub metrics: Arc<dyn Metrics>,
}

/// See the module.
pub struct Indexer {
    units: Vec<Unit>,
    policy: IndexPolicy,
    indexes: Arc<Indexes>,
    roots: Vec<PathBuf>,
    state: Arc<IndexState>,
    told: Told,
    /// Threads that work for it.
    working: usize,
    /// Who waits for its end.
    stopping: Option<Vec<oneshot::Sender<()>>>,
}

/// Files changed below these roots; the projects know already.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Edited(pub Vec<usize>);

/// An answer was given from an index that is behind: bring it up to date soon.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CatchUp {
    /// Which roots.
    pub roots: Vec<usize>,
    /// A branch, a tag or a commit; `None`: the working tree.
    pub reference: Option<String>,
}

/// Begins a job on every root. `None`: there can be none, because the index can't be read or the workspace is being stopped.
#[derive(Message)]
#[rtype(result = "Option<Result<JobBegun, ActiveJob>>")]
pub struct BeginJob {
    /// A branch, a tag or a commit; `None`: the working tree.
    pub reference: Option<String>,
    /// Read everything anew.
    pub is_forced: bool,
}

/// The first root's job that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobBegun {
    /// Its name.
    pub id: String,
    /// How it is.
    pub status: JobStatus,
    /// What it reads.
    pub mode: JobMode,
}

/// Begins to index the roots that never were. What is answered changes whenever a job ends; `None`: none is under way.
#[derive(Message)]
#[rtype(result = "Option<watch::Receiver<u64>>")]
pub struct FirstIndex;

/// Reads the indexes into memory.
#[derive(Message)]
#[rtype(result = "()")]
pub struct WarmUp;

/// From now on with this policy.
#[derive(Message)]
#[rtype(result = "()")]
pub struct RetuneIndex(pub IndexPolicy);

/// Stops all jobs, and answers when no thread is left.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopIndexing;

impl Indexer {
    /// Starts one on the present thread. `is_wanted_warm`: it is going to be asked to [`WarmUp`].
    pub fn begin(
        opened: Opened,
        roots: &[PathBuf],
        policy: IndexPolicy,
        indexes: Arc<Indexes>,
        told: Told,
        is_wanted_warm: bool,
    ) -> Indexed {
        let prewarm = if is_wanted_warm { PrewarmStatus::Pending } else { PrewarmStatus::Skipped };
        let state = Arc::new(IndexState {
            indexed: opened.indexed.into_iter().map(AtomicBool::new).collect(),
            is_watched: AtomicBool::new(false),
            prewarm: Mutex::new(prewarm),
            jobs: watch::Sender::new(0),
        });
        for (at, size) in opened.sizes.into_iter().enumerate() {
            told.cell.set_index(at, size);
        }
        let now = Instant::now();
        let unit = |project: &Arc<Project>| Unit {
            project: project.clone(),
            running: 0,
            wanted: BTreeSet::new(),
            rests_until: now,
            edit: None,
        };
        let units = opened.projects.iter().map(unit).collect();
        let (working, stopping, roots) = (0, None, roots.to_vec());
        let indexer = Self { units, policy, indexes, roots, state: state.clone(), told, working, stopping };
        Indexed { projects: opened.projects.into(), indexer: indexer.start(), state }
    }
}

impl Indexed {
    /// Whether somebody tells from now on what changes in the working trees.
    pub fn set_watched(&self, is_watched: bool) {
        if self.state.is_watched.swap(is_watched, Ordering::Relaxed) == is_watched {
            return;
        }
        for project in self.projects.iter() {
            if is_watched { project.watch() } else { project.unwatch() }
        }
        if is_watched {
            self.edited((0..self.projects.len()).collect());
        }
    }

    /// Files below these roots have changed, and the projects know it.
    pub fn edited(&self, roots: Vec<usize>) {
        // A full mailbox holds the same already, and the next question finds the index behind.
        drop(self.indexer.try_send(Edited(roots)));
    }
}

impl Actor for Indexer {
    type Context = Context<Self>;
}

impl Drop for Indexer {
    fn drop(&mut self) {
        // Whatever ended it, its jobs end too.
        self.units.iter().for_each(|unit| unit.project.stop());
        self.told.cell.close_index();
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
        let (tell, told) = oneshot::channel();
        self.begin_job(order, tell, ctx);
        Box::pin(async move { told.await.ok() })
    }
}

impl Handler<FirstIndex> for Indexer {
    type Result = MessageResult<FirstIndex>;

    fn handle(&mut self, _: FirstIndex, ctx: &mut Self::Context) -> Self::Result {
        // Whoever waits must hear of a job that ends at once.
        let told = self.state.jobs.subscribe();
        let now = Instant::now();
        for at in 0..self.units.len() {
            let unit = &self.units[at];
            let is_due = unit.running == 0 && unit.rests_until <= now && self.policy.auto;
            if is_due && !self.state.was_indexed(at) && self.stopping.is_none() {
                self.start_job(at, None, ctx);
            }
        }
        let is_under_way = |at: usize| self.units[at].running > 0 && !self.state.was_indexed(at);
        MessageResult((0..self.units.len()).any(is_under_way).then_some(told))
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
        let (tell, told) = oneshot::channel();
        self.stopping.get_or_insert_default().push(tell);
        self.end_if_idle(ctx);
        // One that is gone has no thread left.
        Box::pin(async move { told.await.unwrap_or_default() })
    }
}

/// A time of the configuration of this build.
fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
