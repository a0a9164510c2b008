//! Jobs of a project: one at a time in this process, and never two writers of one index.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Project;
use super::pending_changes::TakenChanges;
use crate::job::{self, JobError, JobSpec, JobProgress, JobSummary, StopSignal};
use crate::store::{StoredJob, LIVE, StoreError};
use codeyard_base::clock::utc;
use codeyard_model::code::{ActiveJob, InterruptedJob, JobMode, JobStatus, SchemaStatus};

/// A job that may be run: it is known by its name from now on.
pub struct JobTicket {
    order: JobSpec,
    taken: TakenChanges,
    /// How far it is.
    pub progress: Arc<JobProgress>,
    /// What it will read.
    pub mode: JobMode,
}

impl JobTicket {
    /// Its name.
    pub fn id(&self) -> &str {
        &self.order.id
    }
}

/// Numbers the jobs of this process.
static JOBS: AtomicU64 = AtomicU64::new(1);

fn new_id() -> String {
    format!("job-{:x}-{:x}-{:x}", job::now(), std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed))
}

impl Project {
    /// Prepares a job; `Err` holds the one that runs already. `is_forced` begins anew where the index can't be read.
    ///
    /// # Errors
    /// See there.
    pub fn prepare(&self, reference: Option<&str>, is_forced: bool) -> Result<JobTicket, ActiveJob> {
        let mut current = self.progress.lock();
        if let Some(active) = current.as_ref().and_then(|progress| progress.active(&self.id)) {
            return Err(active);
        }
        let reference = reference.filter(|reference| *reference != LIVE);
        let taken = self.dirty.take();
        let only = taken.paths.clone().filter(|_| reference.is_none() && !is_forced);
        let is_known = self.find(reference, None).ok().flatten().is_some_and(|(_, head)| head.is_whole);
        let mode = if is_known && !is_forced { JobMode::Incremental } else { JobMode::Full };
        let order = JobSpec {
            id: new_id(),
            root: self.root.clone(),
            reference: reference.map(str::to_owned),
            is_forced,
            only: only.filter(|only| only.iter().all(|path| !path.ends_with(crate::scan::IGNORE_FILE))),
        };
        let progress = Arc::new(JobProgress::default());
        // It counts as running from here on, so that no second one is prepared.
        progress.begin(&job::planned(&order, mode));
        *current = Some(progress.clone());
        Ok(JobTicket { order, taken, progress, mode })
    }

    /// Runs a job to its end. Blocks.
    ///
    /// # Errors
    /// Why it gave up.
    pub fn run(&self, ticket: &JobTicket) -> Result<JobSummary, JobError> {
        let done = self.try_run(ticket);
        // Whatever happened, nobody waits for it any more.
        ticket.progress.end(if done.is_ok() { JobStatus::Published } else { JobStatus::Failed });
        if done.is_ok() && ticket.order.reference.is_none() {
            self.dirty.done(&ticket.taken);
        }
        *self.failure.lock() = done.as_ref().err().filter(|error| **error != JobError::Stopped).cloned();
        done
    }

    fn try_run(&self, ticket: &JobTicket) -> Result<JobSummary, JobError> {
        if ticket.order.is_forced && !matches!(self.schema().0, SchemaStatus::Compatible | SchemaStatus::NotIndexed) {
            self.reset()?;
        }
        job::run(&self.repository, &self.settings(), &ticket.order, &ticket.progress, &self.stop)
    }

    fn reset(&self) -> Result<(), JobError> {
        loop {
            if self.repository.lock()?.is_some() {
                self.views.lock().clear();
                return Ok(self.repository.reset()?);
            }
            if self.stop.wait(job::LOCK_POLL) {
                return Err(JobError::Stopped);
            }
        }
    }

    /// CancelCheck the job that runs, and every later one. For the end of the process.
    pub fn stop(&self) {
        self.stop.set();
    }

    /// What ends this project's jobs.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// The job that runs in this process, else one that another process runs.
    pub fn active_job(&self) -> Option<ActiveJob> {
        if let Some(active) = self.progress.lock().as_ref().and_then(|progress| progress.active(&self.id)) {
            return Some(active);
        }
        if !self.repository.exists() {
            return None;
        }
        let place = self.root.to_string_lossy();
        let open = self.repository.reader().and_then(|store| store.open_jobs()).unwrap_or_default();
        let other = open.into_iter().find(|job| job.place == place && job.holder != job::holder() && is_alive(job))?;
        Some(ActiveJob {
            job_id: other.id,
            project_id: self.id.clone(),
            mode: other.mode,
            status: other.status,
            changed_files: other.changed,
            started_at: utc(other.started_at),
            phase: "elsewhere",
            done_files: 0,
            done_bytes: 0,
        })
    }

    /// Finds jobs that the end of their process cut short, and writes them down as that. Called once, at the start.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn reconcile(&self) -> Result<(), StoreError> {
        if !self.repository.exists() {
            return Ok(());
        }
        let place = self.root.to_string_lossy();
        let open: Vec<StoredJob> = self.repository.reader()?.open_jobs()?;
        let dead: Vec<StoredJob> = open.into_iter().filter(|job| job.place == place && !is_alive(job)).collect();
        if dead.is_empty() {
            return Ok(());
        }
        let mut store = self.repository.writer()?;
        let mut found = Vec::new();
        for mut job in dead {
            job.status = JobStatus::Interrupted;
            job.ended_at = Some(job::now());
            job.message = Some("the process that ran it ended".to_owned());
            store.write(|transaction| transaction.put_job(&job))?;
            found.push(InterruptedJob {
                job_id: job.id,
                project_id: self.id.clone(),
                mode: job.mode,
                started_at: utc(job.started_at),
            });
        }
        *self.interrupted.lock() = found;
        Ok(())
    }
}

/// Whether the process that a job belongs to is there. One of this process that isn't known here belongs to an earlier one with the
/// same number.
fn is_alive(job: &StoredJob) -> bool {
    let Some(pid) = job.holder.parse().ok().and_then(rustix::process::Pid::from_raw) else { return false };
    job.holder != job::holder()
        && !matches!(rustix::process::test_kill_process(pid), Err(error) if error == rustix::io::Errno::SRCH)
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        Self::other(error.to_string())
    }
}
