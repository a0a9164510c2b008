//! Index jobs. A job builds the next generation of an index: it reads changed files, publishes their text, parses them
//! and publishes their symbols.
//!
//! A job runs on its caller's thread and on threads of its own, and holds the index's lock while it writes. All of its
//! input is in its [`JobSpec`].
//!
//! Invariants: queries are answered from the last published generation while a job runs; a job can be stopped, or its
//! process can end, between any two steps, and the next job continues from what was published; content numbers depend
//! on the files and their order only, not on threads.

mod blobs;
mod gc;
mod parsing;
mod progress;
mod reading;
mod result_window;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, SystemTime};

use super::index_dir::{IndexDir, IndexOpenError};
use super::lock::WriterLock;
use super::ranked::SymbolIndexError;
use super::scan;
use super::settings::IndexSettings;
use super::stop_signal::StopSignal;
use super::store::{FileOrigin, IndexStore, LIVE, ListedFile, ManifestHead, ManifestKey, StoreError, StoredJob};
use codeyard_files::walk::{Walk, WalkFailure, WalkedFile};
use codeyard_git::{GitError, GitRepository, NoRepository};
use codeyard_model::code::{JobMode, JobStatus};

pub use gc::GcReport;
pub(super) use gc::{collect_garbage, is_unreachable};
pub use progress::{JobPhase, JobProgress, ProgressSnapshot};
use reading::PlannedFile;

/// Time between two attempts to take the lock.
pub(super) const LOCK_POLL: Duration = Duration::from_millis(50);

/// If a job parses at most this many contents, it publishes the files and their symbols together.
const MAX_PUBLISHED_AT_ONCE: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct JobSpec {
    pub id: String,
    /// The root of the working tree.
    pub root: PathBuf,
    /// A branch, a tag or a commit; `None`: the working tree.
    pub reference: Option<String>,
    /// Read every file, even if its stamp hasn't changed.
    pub is_forced: bool,
    /// Working tree only: the paths that have changed since the last job. `None`: any path may have changed.
    pub only: Option<BTreeSet<String>>,
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    #[error("the index job was stopped; run `codeyard index` to continue")]
    Stopped,
    /// The branch, tag or commit doesn't exist.
    #[error("no branch, tag or commit '{0}' in this repository; list the branches with `git branch --all`")]
    NoSuchRef(String),
    /// A commit was requested, but the root is in no git repository.
    #[error("this root is not in a readable git repository; leave `ref` out to index the working tree")]
    NoGit,
    /// The same, because the git directory lies outside of the root.
    #[error(
        "the git directory of this root lies outside of it and doesn't point back; allow its folder with [index] git_dirs, or leave `ref` out"
    )]
    GitOutside,
    /// The commit that a reference names can't be read.
    #[error("'{0}' can't be indexed: {1}")]
    UnreadableRef(String, GitError),
    /// The working tree was requested, and the root is a bare repository.
    #[error(
        "this root is a bare git repository, which has no working tree; index a branch with `codeyard index --ref BRANCH` or `ref`"
    )]
    Bare,
    /// The root doesn't exist or can't be read.
    #[error("the root does not exist or is not readable; check its path and permissions")]
    NoRoot,
    /// The index can't be read or written.
    #[error("{0}")]
    Index(String),
}

impl JobError {
    /// Whether the next job fails in the same way unless something outside of codeyard changes, such as a full disk.
    pub(crate) fn is_lasting(&self) -> bool {
        matches!(self, Self::NoRoot | Self::Index(_))
    }
}

impl From<NoRepository> for JobError {
    fn from(why: NoRepository) -> Self {
        match why {
            NoRepository::Outside => Self::GitOutside,
            NoRepository::Missing | NoRepository::Invalid => Self::NoGit,
        }
    }
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
    pub changed: u64,
    /// Symbols in the manifest's files.
    pub symbols: u64,
    /// Files beyond the limit, files whose names aren't UTF-8, and folders without read permission.
    pub skipped: u64,
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The id of this process, as stored in its jobs.
pub(super) fn process_id() -> String {
    std::process::id().to_string()
}

/// The stored job for a spec, before it starts.
pub(super) fn queued_job(spec: &JobSpec, mode: JobMode) -> StoredJob {
    StoredJob {
        id: spec.id.clone(),
        place: spec.root.to_string_lossy().into_owned(),
        reference: spec.reference.clone().unwrap_or_else(|| LIVE.to_owned()),
        mode,
        status: JobStatus::Queued,
        changed: 0,
        started_at: now(),
        ended_at: None,
        message: None,
        holder: process_id(),
    }
}

/// Runs a job. Stores its state at each step, reports its progress in `progress`, and ends early if `stop` is set.
pub(super) fn run(
    index_dir: &Arc<IndexDir>,
    settings: &IndexSettings,
    spec: &JobSpec,
    progress: &JobProgress,
    stop: &StopSignal,
) -> Result<JobSummary, JobError> {
    let mut store = index_dir.writer()?;
    let mut job = queued_job(spec, JobMode::Full);
    let git = GitRepository::containing(&spec.root, &settings.git_dirs);
    let key = ManifestKey::of(&spec.root, spec.reference.as_deref(), git.as_ref().ok());
    let before = key.as_ref().map(|key| store.manifest(key)).transpose()?.flatten();
    if before.is_some_and(|head| head.is_whole) && !spec.is_forced {
        job.mode = JobMode::Incremental;
    }
    progress.begin(&job);
    fail_unfinished_jobs(&mut store, &job)?;
    store.write(|transaction| transaction.put_job(&job))?;
    let done = wait_for_lock(index_dir, stop).and_then(|_lock| {
        let key = key.ok_or_else(|| git.as_ref().err().map_or(JobError::NoGit, |why| JobError::from(*why)))?;
        let job_run = JobRun { index_dir, settings, spec, key, progress, stop, git, reader_ends: AtomicU32::new(0) };
        job_run.run(&mut store, &mut job)
    });
    let done = done.map_err(|error| match error {
        // A failed write may not say that the disk is full.
        JobError::Index(_) if index_dir.is_full() => StoreError::Full.into(),
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

/// Marks unfinished jobs of this process and root as failed. A root has one job at a time, so their end couldn't be stored, or is being
/// stored at this moment; then that counts.
fn fail_unfinished_jobs(store: &mut IndexStore, begun: &StoredJob) -> Result<(), StoreError> {
    let is_unfinished = |job: &StoredJob| job.holder == begun.holder && job.place == begun.place && job.id != begun.id;
    for job in store.unfinished_jobs()?.into_iter().filter(is_unfinished) {
        store.write(|transaction| transaction.fail_job(&job.id, now(), "the end of the job could not be stored"))?;
    }
    Ok(())
}

fn wait_for_lock(index_dir: &IndexDir, stop: &StopSignal) -> Result<WriterLock, JobError> {
    loop {
        if let Some(lock) = index_dir.lock()? {
            return Ok(lock);
        }
        if stop.wait(LOCK_POLL) {
            return Err(JobError::Stopped);
        }
    }
}

/// Fails if a scan is incomplete, so that missing files don't count as deleted.
fn check_complete(walk: &Walk) -> Result<(), JobError> {
    match walk.failure {
        None => Ok(()),
        Some(WalkFailure::Root) => Err(JobError::NoRoot),
        Some(WalkFailure::Busy) => Err(out_of_descriptors("folder")),
    }
}

/// The failure of a job that couldn't read a file or a folder for a reason that passes. Nothing is stored about the file.
fn out_of_descriptors(kind: &str) -> JobError {
    JobError::Index(format!(
        "could not read a {kind} of the working tree: file descriptors or memory ran out; see `codeyard doctor`, then run `codeyard index`"
    ))
}

struct JobRun<'j> {
    index_dir: &'j Arc<IndexDir>,
    settings: &'j IndexSettings,
    spec: &'j JobSpec,
    key: ManifestKey,
    progress: &'j JobProgress,
    stop: &'j StopSignal,
    git: Result<GitRepository, NoRepository>,
    /// Blobs at which every reader ended.
    reader_ends: AtomicU32,
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
        let (planned_files, commit, walked_at) = self.planned_files(head.as_ref(), &before)?;
        let read = reading::read(self, store, &before, planned_files)?;
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
        let unparsed = parsing::unparsed(self, store, &read.listing)?;
        // A content that couldn't be read when it was to be parsed is parsed now.
        if is_same && unparsed.is_empty() {
            // Publishes nothing, so that processes with the manifest in memory don't reload it.
            store.write(|transaction| transaction.mark_checked(&self.key, walked_at))?;
            return Ok(self.summary(&head, read.changed));
        }
        // Few edits are published once, together with their symbols. Many are published twice, so that their text is
        // searchable early.
        let at_once = was_whole && unparsed.len() <= MAX_PUBLISHED_AT_ONCE;
        if is_same {
            store.write(|transaction| transaction.mark_checked(&self.key, walked_at))?;
        } else if !at_once {
            store.write(|transaction| transaction.put_manifest(&head, &read.listing))?;
        }
        parsing::parse(self, store, &unparsed, !at_once)?;
        job.status = JobStatus::Validating;
        self.progress.status(JobStatus::Validating);
        (head.symbols, head.is_whole) = (parsing::count_symbols(store, &read.listing)?, true);
        store.write(|transaction| match at_once {
            true => transaction.put_manifest(&head, &read.listing),
            false => transaction.mark_complete(&self.key, head.symbols),
        })?;
        gc::after_job(self, store)?;
        Ok(self.summary(&head, read.changed))
    }

    /// The failure of a job whose reader of the repository ended. Nothing is stored about the blob that it was reading.
    fn reader_ended(&self, how: &'static str) -> JobError {
        let reference = self.spec.reference.clone().unwrap_or_else(|| LIVE.to_owned());
        JobError::UnreadableRef(reference, GitError::ReaderEnded(how))
    }

    fn summary(&self, head: &ManifestHead, changed: u64) -> JobSummary {
        let skipped = self.progress.snapshot().skipped as u64;
        JobSummary { files: head.files, changed, symbols: head.symbols, skipped }
    }

    /// The files to index, the commit, and the time of the scan in seconds since 1970.
    fn planned_files(
        &self,
        head: Option<&ManifestHead>,
        before: &[ListedFile],
    ) -> Result<(Vec<PlannedFile>, Option<String>, u64), JobError> {
        self.progress.phase(JobPhase::Listing);
        let at = now();
        if let Some(reference) = &self.spec.reference {
            let git = self.git.as_ref().map_err(|why| JobError::from(*why))?;
            let failed = |error: GitError| match error {
                GitError::Missing => JobError::NoSuchRef(reference.clone()),
                error => JobError::UnreadableRef(reference.clone(), error),
            };
            let commit = git.resolve(reference).map_err(failed)?;
            let files = git.files(&commit).map_err(failed)?;
            let planned_files = files
                .into_iter()
                .map(|blob| PlannedFile { path: blob.path.into(), origin: FileOrigin::Blob(blob.oid) });
            return Ok((planned_files.collect(), Some(commit), at));
        }
        if !self.spec.root.is_dir() {
            return Err(JobError::NoRoot);
        }
        if self.git.as_ref().is_ok_and(GitRepository::is_bare) {
            return Err(JobError::Bare);
        }
        let commit = self.git.as_ref().ok().and_then(|git| git.head().commit);
        let of = |found: WalkedFile| PlannedFile { path: found.path, origin: FileOrigin::Disk(found.stamp) };
        if let (Some(only), Some(_)) = (&self.spec.only, head) {
            let scanned = scan::scan_paths(&self.spec.root, only, self.stop).ok_or(JobError::Stopped)?;
            check_complete(&scanned)?;
            // The other files are assumed unchanged.
            let kept = before.iter().filter(|file| !only.contains(&*file.path));
            let mut planned_files: Vec<PlannedFile> =
                kept.map(|file| PlannedFile { path: file.path.clone(), origin: file.origin }).collect();
            planned_files.extend(scanned.files.into_iter().map(of));
            planned_files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
            return Ok((planned_files, commit, at));
        }
        let walked = scan::scan_tree(&self.spec.root, self.settings.threads, self.stop).ok_or(JobError::Stopped)?;
        self.progress.skipped(walked.skipped);
        check_complete(&walked)?;
        Ok((walked.files.into_iter().map(of).collect(), commit, at))
    }
}
