//! The progress of a job.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::store::StoredJob;
use codeyard_base::clock::utc;
use codeyard_base::words;
use codeyard_model::code::{ActiveJob, JobStatus};

words! {
    /// The phase of a job.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum JobPhase {
        /// Waits for another job.
        #[default]
        Waiting => "waiting",
        /// Lists the files.
        Listing => "listing",
        /// Reads files and indexes their text.
        Reading => "reading",
        /// Parses files for symbols.
        Parsing => "parsing",
        /// Makes the results durable.
        Publishing => "publishing",
    }
    /// The phase as one word.
    fn as_str;
}

/// The progress of a job. It outlives the job.
#[derive(Debug, Default)]
pub struct JobProgress {
    state: Mutex<JobState>,
    files: AtomicU64,
    bytes: AtomicU64,
    symbols: AtomicU64,
}

#[derive(Debug, Default)]
struct JobState {
    job: Option<StoredJob>,
    phase: JobPhase,
    /// The number of files and bytes of the current phase.
    total: (u64, u64),
    skipped: usize,
}

/// The progress of a job at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgressSnapshot {
    pub phase: JobPhase,
    /// Files done and all files of this phase.
    pub files: (u64, u64),
    /// Bytes done and all bytes of this phase.
    pub bytes: (u64, u64),
    /// Symbols found so far.
    pub symbols: u64,
    /// Files beyond the limit, or whose names aren't UTF-8.
    pub skipped: usize,
}

impl JobProgress {
    /// The progress now.
    pub fn snapshot(&self) -> ProgressSnapshot {
        let state = self.state.lock();
        let done = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ProgressSnapshot {
            phase: state.phase,
            files: (done(&self.files), state.total.0),
            bytes: (done(&self.bytes), state.total.1),
            symbols: done(&self.symbols),
            skipped: state.skipped,
        }
    }

    /// The job as answers show it; `None` before its start and after its end.
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

    /// The job, if it has ended.
    pub(crate) fn ended(&self) -> Option<StoredJob> {
        self.state.lock().job.clone().filter(|job| job.ended_at.is_some())
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

    pub(crate) fn skipped(&self, files: usize) {
        self.state.lock().skipped = files;
    }
}
