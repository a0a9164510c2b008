//! All runs of one workflow in a state directory: creates, opens and lists them.
//!
//! It executes nothing, and keeps no run open. All methods block. Invariants: one process works with the folder of runs at a time; a key leads to
//! one run, however many clients start at once; a run that was acknowledged is in the list and has a log.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeyard_base::clock;
use codeyard_base::file_lock::FileLock;
use codeyard_state::{StateError, StoreHandle};
use parking_lot::Mutex;

use crate::durable_run::{RunError, RunStart};
use crate::event::TraceContext;
use crate::event_log::EventLog;
use crate::fair_queue::QueueFull;
use crate::live_run::LiveRun;
use crate::observer::{PassedPart, RunObserver, WorkPart};
use crate::run_folder::RunFolder;
use crate::run_id::RunId;
use crate::run_lease::RunLeases;
use crate::run_store::{Claim, IdempotencyKey, RunStore, RunSummary};
use crate::run_view::RunView;
use crate::stage::StageCode;

/// All runs of one workflow.
pub struct RunHost {
    code: Arc<dyn StageCode>,
    runs: PathBuf,
    store: RunStore,
    /// Starts with a key happen one after the other, so that a key that was just claimed belongs to a run that exists.
    starts: Mutex<()>,
    leases: RunLeases,
    _lock: FileLock,
}

/// What makes repeated starts one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartKey {
    pub key: IdempotencyKey,
    /// The digest of the configuration that was asked for: equal for equal starts.
    pub config_sha256: String,
}

/// The result of a start.
pub enum Started {
    New(Arc<LiveRun>),
    /// The run that an earlier start with this key has created.
    Replayed(RunId),
}

/// Why a run can't be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The key belongs to a run with another configuration.
    #[error("the idempotency key belongs to the run {run_id}, which has another configuration; use a new key")]
    KeyReused { run_id: String },
    /// The run can't be written.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The database can't be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// Too many runs wait.
    #[error(transparent)]
    Full(#[from] QueueFull),
}

/// Why a run can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Somebody else in this process has it open.
    #[error("the run is still open elsewhere, because its workspace was changed; call again")]
    InUse,
    /// It can't be read.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Why the folder of runs can't be used.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Another process uses it.
    #[error(
        "another codeyard process works with the runs in {}; connect to it, or choose another state directory", folder.display()
    )]
    InUse { folder: PathBuf },
    #[error("the folder of runs {} can't be used: {source}; check its permissions", folder.display())]
    Io { folder: PathBuf, source: io::Error },
    /// The database can't be read or written.
    #[error(transparent)]
    State(#[from] StateError),
}

impl RunHost {
    /// The runs in the folder `runs`, which is created if it is missing. Runs that the list lacks are added to it; records of runs that were
    /// never created are removed.
    ///
    /// # Errors
    /// If another process uses the folder, or it can't be read or written.
    pub fn open(code: Arc<dyn StageCode>, runs: &Path, store: StoreHandle) -> Result<Self, HostError> {
        let failed = |source| HostError::Io { folder: runs.to_owned(), source };
        fs::create_dir_all(runs).map_err(failed)?;
        let lock = FileLock::try_acquire(&runs.join("lock")).map_err(failed)?;
        let lock = lock.ok_or_else(|| HostError::InUse { folder: runs.to_owned() })?;
        let host = Self {
            code,
            runs: runs.to_owned(),
            store: RunStore::new(store),
            starts: Mutex::new(()),
            leases: RunLeases::default(),
            _lock: lock,
        };
        host.mend_list()?;
        Ok(host)
    }

    /// The list of runs.
    pub fn store(&self) -> &RunStore {
        &self.store
    }

    /// Creates a run, durable when this returns, or finds the one that `key` leads to. A new run is created if `admit` allows it.
    ///
    /// # Errors
    /// If it isn't admitted, the key belongs to another configuration, or the run can't be written.
    pub fn start(
        &self,
        start: RunStart,
        key: Option<&StartKey>,
        trace: &TraceContext,
        observer: Arc<dyn RunObserver>,
        admit: &dyn Fn() -> Result<(), QueueFull>,
    ) -> Result<Started, StartError> {
        let mut id = RunId::new(clock::wall_s(), rand::random());
        let create = |id: RunId| {
            admit()?;
            self.create(id, start, trace, observer).map(Started::New)
        };
        let Some(key) = key else { return create(id) };
        let _one_by_one = self.starts.lock();
        match self.store.claim(&key.key, &id, &key.config_sha256, clock::wall_s())? {
            Claim::New => {}
            Claim::Reused { run_id } => return Err(StartError::KeyReused { run_id }),
            Claim::Replayed { run_id } if self.store.get(&run_id)?.is_some() => return Ok(Started::Replayed(run_id)),
            // A crash came between the claim and the creation.
            Claim::Replayed { run_id } => id = run_id,
        }
        create(id.clone()).inspect_err(|_| {
            if let Err(error) = self.store.release(&key.key, &id) {
                tracing::warn!(%error, "the key of a run that could not be created stays claimed");
            }
        })
    }

    fn create(
        &self,
        id: RunId,
        start: RunStart,
        trace: &TraceContext,
        observer: Arc<dyn RunObserver>,
    ) -> Result<Arc<LiveRun>, StartError> {
        let workflow = self.code.workflow();
        // Nobody else knows the identifier yet, unless a crash came between a claim and the creation.
        let lease = self.leases.take(&id).ok_or_else(|| RunError::Io {
            path: RunFolder::new(&self.runs, &id).top().to_owned(),
            source: io::Error::new(io::ErrorKind::ResourceBusy, "it is being created"),
        })?;
        self.store.put(&RunSummary {
            run_id: id.as_str().to_owned(),
            workspace: start.workspace.clone(),
            workflow: workflow.name.to_owned(),
            subject: start.subject.clone(),
            state: workflow.first().name.to_owned(),
            started_at: id.started_at(),
            finished_at: None,
        })?;
        let created = LiveRun::create(self.code.clone(), &self.runs, &id, start, trace, observer);
        match created {
            Ok(live) => Ok(Arc::new(live.holding(lease))),
            Err(error) => {
                if let Err(error) = self.store.remove(&id) {
                    tracing::warn!(%error, "the record of a run that could not be created stays in the list");
                }
                // What is left of the folder holds no event.
                fs::remove_dir_all(RunFolder::new(&self.runs, &id).top()).ok();
                Err(error.into())
            }
        }
    }

    /// Whether there is a run of this name that belongs to the workspace.
    ///
    /// # Errors
    /// If the database can't be read.
    pub fn find(&self, run_id: &str, workspace: &str) -> Result<Option<RunId>, StateError> {
        let Some(id) = RunId::parse(run_id) else { return Ok(None) };
        Ok(self.store.get(&id)?.filter(|run| run.workspace == workspace).map(|_| id))
    }

    /// Opens a run.
    ///
    /// # Errors
    /// If it can't be read, or its log is damaged. [`OpenError::InUse`] if it is open already, or being created: it is to be tried again.
    pub fn open_run(&self, id: &RunId, observer: Arc<dyn RunObserver>) -> Result<Arc<LiveRun>, OpenError> {
        let lease = self.leases.take(id).ok_or(OpenError::InUse)?;
        let live = Arc::new(LiveRun::open(self.code.clone(), &self.runs, id, observer)?.holding(lease));
        // A crash can come between the last event of a run and its record in the list.
        let view = live.status().view;
        let is_listed = self.store.get(id).map(|listed| listed == Some(self.summary(id, &view)));
        if let Err(error) = is_listed.and_then(|is_listed| if is_listed { Ok(()) } else { self.list(id, &view) }) {
            tracing::warn!(run = %id, %error, "the list of runs can't be mended");
        }
        Ok(live)
    }

    /// Stores what the list shows of a run now.
    ///
    /// # Errors
    /// If the database can't be written.
    pub fn list(&self, id: &RunId, view: &RunView) -> Result<(), StateError> {
        self.store.put(&self.summary(id, view))?;
        if view.finished_at.is_some() { self.store.run_ended(id, clock::wall_s()) } else { Ok(()) }
    }

    /// Removes the working copies of runs that ended more than `keep_s` seconds before `now`; events, artifacts and drafts stay. Returns how many runs
    /// had some.
    ///
    /// # Errors
    /// If the list can't be read.
    pub fn remove_old_work(&self, keep_s: u64, now: u64) -> Result<usize, StateError> {
        let is_old = |run: &RunSummary| {
            let ended = run.finished_at.as_deref().and_then(clock::seconds);
            ended.is_some_and(|ended| ended.saturating_add(keep_s) <= now)
        };
        let old = self.store.all()?.into_iter().filter(is_old).filter_map(|run| RunId::parse(&run.run_id));
        let removed = old.filter(|id| match fs::remove_dir_all(RunFolder::new(&self.runs, id).work()) {
            Ok(()) => true,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(run = %id, %error, "the working copies of an old run can't be removed");
                }
                false
            }
        });
        Ok(removed.count())
    }

    fn summary(&self, id: &RunId, view: &RunView) -> RunSummary {
        RunSummary {
            run_id: id.as_str().to_owned(),
            workspace: view.workspace.clone(),
            workflow: self.code.workflow().name.to_owned(),
            subject: view.subject.clone(),
            state: view.progress.state.name.to_owned(),
            started_at: id.started_at(),
            finished_at: view.finished_at.clone(),
        }
    }

    /// Makes the list agree with the folders: a crash can come between the two, and the database can be lost.
    fn mend_list(&self) -> Result<(), HostError> {
        let failed = |source| HostError::Io { folder: self.runs.clone(), source };
        let mut folders = BTreeSet::new();
        for entry in fs::read_dir(&self.runs).map_err(failed)? {
            folders.extend(entry.map_err(failed)?.file_name().to_str().and_then(RunId::parse));
        }
        let listed = self.store.all()?;
        for run in &listed {
            let id = RunId::parse(&run.run_id);
            let has_log = |id: &RunId| EventLog::has_events(&RunFolder::new(&self.runs, id).events());
            if let Some(id) = id.filter(|id| !has_log(id)) {
                tracing::info!(run = %id, "a run was never created; its record is removed");
                self.store.remove(&id)?;
            }
        }
        let known: BTreeSet<&str> = listed.iter().map(|run| run.run_id.as_str()).collect();
        for id in folders.iter().filter(|id| !known.contains(id.as_str())) {
            match LiveRun::open(self.code.clone(), &self.runs, id, Arc::new(Unobserved)) {
                Ok(live) => self.list(id, &live.status().view)?,
                Err(error) => tracing::warn!(run = %id, %error, "a folder of a run can't be listed"),
            }
        }
        let has_log = |id: &RunId| EventLog::has_events(&RunFolder::new(&self.runs, id).events());
        let exists = |run_id: &str| RunId::parse(run_id).is_some_and(|id| has_log(&id));
        self.store.remove_keys_of_lost_runs(&exists)?;
        Ok(())
    }
}

/// Observes nothing.
struct Unobserved;

impl RunObserver for Unobserved {
    fn changed(&self, _: &RunId, _: &crate::observer::RunStatus) {}

    fn item_began(
        &self,
        _: &RunId,
        _: &crate::work_item::WorkItemId,
        _: &crate::work_item::WorkItemSpec,
        parent: &TraceContext,
    ) -> TraceContext {
        parent.clone()
    }

    fn part_began(&self, _: &RunId, _: WorkPart<'_>, parent: &TraceContext) -> TraceContext {
        parent.clone()
    }

    fn part_passed(&self, _: &RunId, _: WorkPart<'_>, _: &PassedPart, _: &TraceContext) {}

    fn item_ended(&self, _: &RunId, _: &TraceContext, _: Option<&'static str>) {}
}

#[cfg(test)]
mod tests;
