//! The jobs of a project. Only one runs at a time in this process, and only one process writes an index.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Project;
use super::unindexed_changes::TakenChanges;
use crate::job::{self, JobError, JobProgress, JobSpec, JobSummary};
use crate::stop_signal::StopSignal;
use crate::store::{LIVE, StoreError, StoredJob};
use codeyard_base::clock::utc;
use codeyard_base::digest::sha256hex;
use codeyard_model::code::{ActiveJob, InterruptedJob, JobMode, JobStatus, SchemaStatus};

/// A prepared job. Its id is valid from now on.
pub struct JobTicket {
    order: JobSpec,
    taken: TakenChanges,
    pub progress: Arc<JobProgress>,
    /// Whether it reads all files or the changed ones only.
    pub mode: JobMode,
}

impl JobTicket {
    /// The job's id.
    pub fn id(&self) -> &str {
        &self.order.id
    }
}

/// Digits that tell the jobs of a second apart.
const JOB_ID_DIGITS: usize = 12;

/// The number of the next job of this process.
static JOBS: AtomicU64 = AtomicU64::new(1);

/// An id that no other job has. It doesn't tell how many jobs other tenants have begun.
fn new_id() -> String {
    let number = JOBS.fetch_add(1, Ordering::Relaxed);
    let mixed = sha256hex(format!("{} {number}", std::process::id()));
    format!("job-{:x}-{}", job::now(), &mixed[..JOB_ID_DIGITS])
}

impl Project {
    /// Prepares a job. A forced job resets an index that can't be read.
    ///
    /// # Errors
    /// Another job is running; the error is that job.
    pub fn prepare(&self, reference: Option<&str>, is_forced: bool) -> Result<JobTicket, ActiveJob> {
        if let Some(active) = self.running_job() {
            return Err(active);
        }
        let reference = reference.filter(|reference| *reference != LIVE);
        // Others read the progress on threads that must not block, so nothing is read from the repository while it is locked.
        let git = reference.and_then(|_| self.git().ok());
        let found = self.find_manifest(reference, git.as_ref()).ok().flatten();
        let is_known = found.is_some_and(|(_, head)| head.is_whole);
        let mut current = self.progress.lock();
        if let Some(active) = current.as_ref().and_then(|progress| progress.active(&self.id)) {
            return Err(active);
        }
        let taken = self.unindexed_changes.take();
        let only = taken.paths.clone().filter(|_| reference.is_none() && !is_forced);
        let mode = if is_known && !is_forced { JobMode::Incremental } else { JobMode::Full };
        let order = JobSpec {
            id: new_id(),
            root: self.root.clone(),
            reference: reference.map(str::to_owned),
            is_forced,
            only: only.filter(|only| only.iter().all(|path| !path.ends_with(crate::scan::IGNORE_FILE))),
        };
        let progress = Arc::new(JobProgress::default());
        // The job counts as running from now on, so that no second one is prepared.
        progress.begin(&job::queued_job(&order, mode));
        *current = Some(progress.clone());
        Ok(JobTicket { order, taken, progress, mode })
    }

    /// Runs a job to its end. Blocks.
    ///
    /// # Errors
    /// The reason why the job failed.
    pub fn run(&self, ticket: &JobTicket) -> Result<JobSummary, JobError> {
        let done = self.try_run(ticket);
        // Nobody waits for the job after this point, whatever its result.
        ticket.progress.end(if done.is_ok() { JobStatus::Published } else { JobStatus::Failed });
        if done.is_ok() && ticket.order.reference.is_none() {
            self.unindexed_changes.done(&ticket.taken);
        }
        *self.failure.lock() = done.as_ref().err().filter(|error| **error != JobError::Stopped).cloned();
        done
    }

    fn try_run(&self, ticket: &JobTicket) -> Result<JobSummary, JobError> {
        if ticket.order.is_forced && !matches!(self.schema().0, SchemaStatus::Compatible | SchemaStatus::NotIndexed) {
            self.reset()?;
        }
        job::run(&self.index_dir, &self.settings(), &ticket.order, &ticket.progress, &self.stop)
    }

    fn reset(&self) -> Result<(), JobError> {
        loop {
            if self.index_dir.lock()?.is_some() {
                self.forget_views();
                return Ok(self.index_dir.reset()?);
            }
            if self.stop.wait(job::LOCK_POLL) {
                return Err(JobError::Stopped);
            }
        }
    }

    /// Stops the running job and all later ones. For the end of the process.
    pub fn stop(&self) {
        self.stop.set();
    }

    /// The signal that stops this project's jobs.
    pub fn stop_signal(&self) -> StopSignal {
        self.stop.clone()
    }

    /// The job that runs in this process. Reads only memory.
    pub fn running_job(&self) -> Option<ActiveJob> {
        self.progress.lock().as_ref().and_then(|progress| progress.active(&self.id))
    }

    /// The job that runs in this process, or one that runs in another process.
    pub fn active_job(&self) -> Option<ActiveJob> {
        if let Some(active) = self.running_job() {
            return Some(active);
        }
        if !self.index_dir.exists() {
            return None;
        }
        let place = self.root.to_string_lossy();
        let open = self.index_dir.reader().and_then(|store| store.unfinished_jobs()).unwrap_or_default();
        let other =
            open.into_iter().find(|job| job.place == place && job.holder != job::process_id() && is_alive(job))?;
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

    /// Marks jobs as interrupted whose process has ended. Called once, at the start.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn reconcile(&self) -> Result<(), StoreError> {
        if !self.index_dir.exists() {
            return Ok(());
        }
        let place = self.root.to_string_lossy();
        let open: Vec<StoredJob> = self.index_dir.reader()?.unfinished_jobs()?;
        let dead: Vec<StoredJob> = open.into_iter().filter(|job| job.place == place && !is_alive(job)).collect();
        if dead.is_empty() {
            return Ok(());
        }
        let mut store = self.index_dir.writer()?;
        let mut found = Vec::new();
        for mut job in dead {
            job.status = JobStatus::Interrupted;
            job.ended_at = Some(job::now());
            job.message = Some("the process that ran the job has ended".to_owned());
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

/// Whether the process of a job is alive. A job with this process's id that this process doesn't know is of an earlier
/// process with the same id.
fn is_alive(job: &StoredJob) -> bool {
    let Some(pid) = job.holder.parse().ok().and_then(rustix::process::Pid::from_raw) else { return false };
    job.holder != job::process_id()
        && !matches!(rustix::process::test_kill_process(pid), Err(error) if error == rustix::io::Errno::SRCH)
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        Self::other(error.to_string())
    }
}
