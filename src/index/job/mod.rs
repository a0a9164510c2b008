//! Making the next generation of an index: read what differs, publish its text, parse it, publish its symbols.
//!
//! A job runs on the thread that called it and on threads of its own, and holds the index's lock while it writes. It asks nobody: what
//! it is to index is in its [`JobSpec`]. Invariants: questions are answered from the last published generation while it runs; it may
//! be stopped, or its process may end, between any two steps, and the next job goes on from what was published; numbers depend on the
//! files and their order only, not on threads.

mod parsing;
mod progress;
mod reading;
mod gc;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::lock::WriterLock;
use super::project::settings::IndexSettings;
use super::ranked::SymbolIndexError;
use super::index_dir::{IndexOpenError, IndexDir};
use super::scan;
use super::store::{StoredJob, LIVE, ListedFile, ManifestHead, ManifestKey, FileOrigin, IndexStore, StoreError};
use codeyard_git::GitRepository;
use codeyard_model::code::{JobMode, JobStatus};

pub use progress::{ProgressSnapshot, JobPhase, JobProgress, StopSignal};
use reading::Wanted;
pub use gc::GcReport;
pub(super) use gc::{collect_garbage, is_unreachable};

/// How often a job that waits for the lock asks for it.
pub(super) const LOCK_POLL: Duration = Duration::from_millis(50);

/// Contents to parse, at most, that a job publishes together with the files that show them.
const PUBLISHED_AT_ONCE: usize = 64;

/// What a job is to do.
#[derive(Debug, Clone)]
pub(super) struct JobSpec {
    /// Its name.
    pub id: String,
    /// The root.
    pub root: PathBuf,
    /// A branch, a tag or a commit; `None`: the working tree.
    pub reference: Option<String>,
    /// Read everything, whatever stamps say.
    pub is_forced: bool,
    /// Of the working tree: only these paths have changed since the last job. `None`: anything may have.
    pub only: Option<BTreeSet<String>>,
}

/// Why a job gave up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// It was asked to.
    #[error("the job was stopped; run `codeyard index` to go on")]
    Stopped,
    /// The branch, tag or commit isn't there.
    #[error("'{0}' is no branch, tag or commit of this repository; `git branch --all` lists the branches")]
    NoSuchRef(String),
    /// A commit was asked for and there is no repository.
    #[error("this root lies in no git repository that can be read; leave `ref` out to index the working tree")]
    NoGit,
    /// The root isn't there.
    #[error("the root isn't there, or isn't readable")]
    NoRoot,
    /// The index can't be used.
    #[error("{0}")]
    Index(String),
}

impl From<StoreError> for JobError {
    fn from(error: StoreError) -> Self {
        Self::Index(error.to_string())
    }
}

impl From<IndexOpenError> for JobError {
    fn from(error: IndexOpenError) -> Self {
        Self::Index(error.to_string())
    }
}

impl From<SymbolIndexError> for JobError {
    fn from(error: SymbolIndexError) -> Self {
        Self::Index(error.to_string())
    }
}

impl From<std::io::Error> for JobError {
    fn from(error: std::io::Error) -> Self {
        StoreError::from(error).into()
    }
}

/// What a job published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobSummary {
    /// Files of the manifest that are searched.
    pub files: u64,
    /// Files that were read.
    pub changed: u64,
    /// Symbols in the manifest's files.
    pub symbols: u64,
    /// Files beyond the most that are indexed, or whose names aren't UTF-8, and folders that may not be read.
    pub passed_over: u64,
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// This process, as jobs are marked with it.
pub(super) fn holder() -> String {
    std::process::id().to_string()
}

/// The job that will do what `order` says.
pub(super) fn planned(order: &JobSpec, mode: JobMode) -> StoredJob {
    StoredJob {
        id: order.id.clone(),
        place: order.root.to_string_lossy().into_owned(),
        reference: order.reference.clone().unwrap_or_else(|| LIVE.to_owned()),
        mode,
        status: JobStatus::Queued,
        changed: 0,
        started_at: now(),
        ended_at: None,
        message: None,
        holder: holder(),
    }
}

/// Does what `order` says. The job is written down from its beginning to its end; told of in `progress`; ended by `stop`.
pub(super) fn run(
    repository: &Arc<IndexDir>,
    settings: &IndexSettings,
    order: &JobSpec,
    progress: &JobProgress,
    stop: &StopSignal,
) -> Result<JobSummary, JobError> {
    let mut store = repository.writer()?;
    let mut job = planned(order, JobMode::Full);
    let key = ManifestKey::of(&order.root, order.reference.as_deref());
    if store.manifest(&key)?.is_some_and(|head| head.is_whole) && !order.is_forced {
        job.mode = JobMode::Incremental;
    }
    progress.begin(&job);
    forget_unended(&mut store, &job)?;
    store.write(|transaction| transaction.put_job(&job))?;
    let done = locked(repository, stop).and_then(|_lock| {
        let work = JobRun { repository, settings, order, key, progress, stop };
        work.run(&mut store, &mut job)
    });
    let done = done.map_err(|error| match error {
        // A writer that failed needn't say why.
        JobError::Index(_) if repository.is_full() => StoreError::Full.into(),
        error => error,
    });
    job.ended_at = Some(now());
    match &done {
        Ok(_) => job.status = JobStatus::Published,
        Err(error) => {
            job.status = if *error == JobError::Stopped { JobStatus::Interrupted } else { JobStatus::Failed };
            job.message = Some(error.to_string());
        }
    }
    progress.end(job.status);
    let written = store.write(|transaction| transaction.put_job(&job));
    done.and_then(|published| Ok(written.map(|()| published)?))
}

/// A root has one job at a time: one of this process that isn't written down as ended couldn't write that.
fn forget_unended(store: &mut IndexStore, begun: &StoredJob) -> Result<(), StoreError> {
    let is_over = |job: &StoredJob| job.holder == begun.holder && job.place == begun.place && job.id != begun.id;
    for mut job in store.open_jobs()?.into_iter().filter(is_over) {
        (job.status, job.ended_at) = (JobStatus::Failed, Some(now()));
        job.message = Some("how it ended couldn't be written down".to_owned());
        store.write(|transaction| transaction.put_job(&job))?;
    }
    Ok(())
}

fn locked(repository: &IndexDir, stop: &StopSignal) -> Result<WriterLock, JobError> {
    loop {
        if let Some(lock) = repository.lock()? {
            return Ok(lock);
        }
        if stop.wait(LOCK_POLL) {
            return Err(JobError::Stopped);
        }
    }
}

/// A walk that didn't see everything must not pass for one that did.
fn failed(walked: &scan::ScanResult) -> Result<(), JobError> {
    match walked.failure {
        None => Ok(()),
        Some(scan::ScanFailure::Root) => Err(JobError::NoRoot),
        Some(scan::ScanFailure::Io(kind)) => Err(JobError::Index(format!(
            "a folder of the working tree can't be read ({kind}); see `codeyard doctor`, then run `codeyard index`"
        ))),
    }
}

/// One job at work.
struct JobRun<'j> {
    repository: &'j Arc<IndexDir>,
    settings: &'j IndexSettings,
    order: &'j JobSpec,
    key: ManifestKey,
    progress: &'j JobProgress,
    stop: &'j StopSignal,
}

impl JobRun<'_> {
    fn run(&self, store: &mut IndexStore, job: &mut StoredJob) -> Result<JobSummary, JobError> {
        job.status = JobStatus::Running;
        self.progress.status(JobStatus::Running);
        store.write(|transaction| transaction.put_job(job))?;
        let head = store.manifest(&self.key)?;
        let before = match &head {
            Some(head) => store.listing(head.id)?,
            None => Vec::new(),
        };
        let (wanted, commit, walked_at) = self.wanted(head.as_ref(), &before)?;
        let read = reading::read(self, store, &before, wanted)?;
        job.changed = read.changed;
        self.progress.changed(read.changed);
        store.write(|transaction| transaction.put_job(job))?;
        let was_whole = head.as_ref().is_some_and(|head| head.is_whole);
        let is_same = was_whole && head.as_ref().is_some_and(|head| head.commit == commit) && read.listing == before;
        let mut head = ManifestHead {
            id: 0,
            key: self.key.clone(),
            commit,
            published_at: walked_at,
            files: read.listing.iter().filter(|file| file.is_searched()).count() as u64,
            symbols: head.map_or(0, |head| head.symbols),
            is_whole: false,
        };
        let open = parsing::open(self, store, &read.listing)?;
        // A content whose bytes couldn't be read when it was to be parsed is tried again.
        if is_same && open.is_empty() {
            // Nothing is published: whoever has the manifest in memory needn't read it again.
            store.write(|transaction| transaction.looked(&self.key, walked_at))?;
            return Ok(self.published(&head, read.changed));
        }
        // A few edits are published once, with their symbols; more of them twice, so that their text needn't wait.
        let at_once = was_whole && open.len() <= PUBLISHED_AT_ONCE;
        if is_same {
            store.write(|transaction| transaction.looked(&self.key, walked_at))?;
        } else if !at_once {
            store.write(|transaction| transaction.put_manifest(&head, &read.listing))?;
        }
        parsing::parse(self, store, &open, !at_once)?;
        job.status = JobStatus::Validating;
        self.progress.status(JobStatus::Validating);
        (head.symbols, head.is_whole) = (parsing::count(store, &read.listing)?, true);
        store.write(|transaction| match at_once {
            true => transaction.put_manifest(&head, &read.listing),
            false => transaction.complete(&self.key, head.symbols),
        })?;
        gc::after_job(self, store)?;
        Ok(self.published(&head, read.changed))
    }

    fn published(&self, head: &ManifestHead, changed: u64) -> JobSummary {
        let passed_over = self.progress.snapshot().passed_over as u64;
        JobSummary { files: head.files, changed, symbols: head.symbols, passed_over }
    }

    /// The files to index, the commit, and the time of the look.
    fn wanted(
        &self,
        head: Option<&ManifestHead>,
        before: &[ListedFile],
    ) -> Result<(Vec<Wanted>, Option<String>, u64), JobError> {
        self.progress.phase(JobPhase::Listing);
        let at = now();
        let git = GitRepository::containing(&self.order.root);
        if let Some(reference) = &self.order.reference {
            let git = git.ok_or(JobError::NoGit)?;
            let missing = || JobError::NoSuchRef(reference.clone());
            let commit = git.resolve(reference).ok_or_else(missing)?;
            let files = git.files(&commit).ok_or_else(missing)?;
            let wanted =
                files.into_iter().map(|blob| Wanted { path: blob.path.into(), origin: FileOrigin::Blob(blob.oid) });
            return Ok((wanted.collect(), Some(commit), at));
        }
        if !self.order.root.is_dir() {
            return Err(JobError::NoRoot);
        }
        let commit = git.and_then(|git| git.head().commit);
        let of = |found: scan::ScannedFile| Wanted { path: found.path, origin: FileOrigin::Disk(found.stamp) };
        if let (Some(only), Some(_)) = (&self.order.only, head) {
            let looked = scan::scan_paths(&self.order.root, only, self.stop).ok_or(JobError::Stopped)?;
            failed(&looked)?;
            // The others are taken to be as they were.
            let kept = before.iter().filter(|file| !only.contains(&*file.path));
            let mut wanted: Vec<Wanted> =
                kept.map(|file| Wanted { path: file.path.clone(), origin: file.origin }).collect();
            wanted.extend(looked.files.into_iter().map(of));
            wanted.sort_unstable_by(|one, other| one.path.cmp(&other.path));
            return Ok((wanted, commit, at));
        }
        let walked = scan::scan_tree(&self.order.root, self.settings.threads, self.stop).ok_or(JobError::Stopped)?;
        self.progress.passed_over(walked.skipped);
        failed(&walked)?;
        Ok((walked.files.into_iter().map(of).collect(), commit, at))
    }
}
