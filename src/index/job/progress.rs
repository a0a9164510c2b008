//! How far a job is, for whoever looks; and how it is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::store::StoredJob;
use codeyard_base::clock::utc;
use codeyard_model::code::{ActiveJob, JobStatus};

/// CancelCheck a job. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_set: AtomicBool,
    lock: Mutex<()>,
    bell: Condvar,
}

impl StopSignal {
    /// Asks the job to end.
    pub fn set(&self) {
        self.0.is_set.store(true, Ordering::SeqCst);
        let _held = self.0.lock.lock();
        self.0.bell.notify_all();
    }

    /// Whether it was asked to.
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed)
    }

    /// Waits so long, or until it is asked to end; says whether it was.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let mut held = self.0.lock.lock();
        if !self.is_set() {
            self.0.bell.wait_for(&mut held, time);
        }
        self.is_set()
    }
}

/// What a job is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum JobPhase {
    /// It waits for another one.
    #[default]
    Waiting,
    /// It looks which files there are.
    Listing,
    /// It reads them and makes them searchable as text.
    Reading,
    /// It looks for symbols.
    Parsing,
    /// It makes what it found durable.
    Publishing,
}

impl JobPhase {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Listing => "listing",
            Self::Reading => "reading",
            Self::Parsing => "parsing",
            Self::Publishing => "publishing",
        }
    }
}

/// A job's progress; it outlives the job.
#[derive(Debug, Default)]
pub struct JobProgress {
    state: Mutex<State>,
    files: AtomicU64,
    bytes: AtomicU64,
    symbols: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    job: Option<StoredJob>,
    phase: JobPhase,
    /// Of the present phase.
    total: (u64, u64),
    passed_over: usize,
}

/// How far a job is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgressSnapshot {
    /// See there.
    pub phase: JobPhase,
    /// Files of this phase that are done, and how many there are.
    pub files: (u64, u64),
    /// Bytes, likewise.
    pub bytes: (u64, u64),
    /// Symbols found.
    pub symbols: u64,
    /// Files that are too many, or whose names aren't UTF-8.
    pub passed_over: usize,
}

impl JobProgress {
    /// How far the job is.
    pub fn snapshot(&self) -> ProgressSnapshot {
        let state = self.state.lock();
        let done = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ProgressSnapshot {
            phase: state.phase,
            files: (done(&self.files), state.total.0),
            bytes: (done(&self.bytes), state.total.1),
            symbols: done(&self.symbols),
            passed_over: state.passed_over,
        }
    }

    /// The job as answers show it; `None` before it has begun and after it has ended.
    pub fn active(&self, project_id: &str) -> Option<ActiveJob> {
        let state = self.state.lock();
        let job = state.job.as_ref().filter(|job| job.ended_at.is_none())?;
        Some(ActiveJob {
            job_id: job.id.clone(),
            project_id: project_id.to_owned(),
            mode: job.mode,
            status: job.status,
            changed_files: job.changed,
            started_at: utc(job.started_at),
            phase: state.phase.as_str(),
            done_files: self.files.load(Ordering::Relaxed),
            done_bytes: self.bytes.load(Ordering::Relaxed),
        })
    }

    pub(crate) fn begin(&self, job: &StoredJob) {
        self.state.lock().job = Some(job.clone());
    }

    pub(crate) fn status(&self, status: JobStatus) {
        if let Some(job) = &mut self.state.lock().job {
            job.status = status;
        }
    }

    pub(crate) fn end(&self, status: JobStatus) {
        if let Some(job) = &mut self.state.lock().job {
            job.status = status;
            job.ended_at = Some(super::now());
        }
    }

    pub(crate) fn changed(&self, files: u64) {
        if let Some(job) = &mut self.state.lock().job {
            job.changed = files;
        }
    }

    pub(crate) fn phase(&self, phase: JobPhase) {
        self.start(phase, 0, 0);
    }

    pub(crate) fn start(&self, phase: JobPhase, files: u64, bytes: u64) {
        let mut state = self.state.lock();
        (state.phase, state.total) = (phase, (files, bytes));
        self.files.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }

    pub(crate) fn step(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn symbols(&self, found: u64) {
        self.symbols.fetch_add(found, Ordering::Relaxed);
    }

    pub(crate) fn passed_over(&self, files: usize) {
        self.state.lock().passed_over = files;
    }
}
