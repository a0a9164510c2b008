//! How the index is, and what it works on: `health_check`, `index_status` and the jobs.

use super::metadata::{AnswerMetadata, Freshness, IndexingStatus, SchemaStatus};
use super::query::words;

words! {
    /// `health_check.status`; the first that applies, from the bottom up (decisions §5).
    HealthStatus {
        /// All is well.
        #[default]
        Ready = "ready",
        /// A job is running, or a project has no index yet.
        Indexing = "indexing",
        /// The index is being read into memory.
        Warming = "warming",
        /// A project failed.
        Error = "error",
    }
}
words! {
    /// Reading the index into memory at the start.
    PrewarmStatus {
        /// Not begun.
        #[default]
        Pending = "pending",
        /// Under way.
        Warming = "warming",
        /// Done.
        Complete = "complete",
        /// It failed.
        Failed = "failed",
        /// Not wanted.
        Skipped = "skipped",
    }
}
words! {
    /// How a job is.
    JobStatus {
        /// It waits.
        #[default]
        Queued = "queued",
        /// It reads and parses.
        Running = "running",
        /// It checks what it made.
        Validating = "validating",
        /// Questions are answered from what it made.
        Published = "published",
        /// It gave up.
        Failed = "failed",
        /// Its process ended.
        Interrupted = "interrupted",
    }
}
words! {
    /// How much a job reads.
    JobMode {
        /// Everything.
        #[default]
        Full = "full",
        /// What differs.
        Incremental = "incremental",
    }
}

/// `health_check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthReport {
    /// See there.
    pub status: HealthStatus,
    /// codeyard's version.
    pub version: &'static str,
    /// Since the process began.
    pub uptime_seconds: u64,
    /// A real query of the symbol index went well.
    pub tantivy_ok: bool,
    /// A real query of the database went well.
    pub sqlite_ok: bool,
    /// See there.
    pub grammars: GrammarStatus,
    /// The job that runs.
    pub active_job: Option<ActiveJob>,
    /// Jobs that an end of the process interrupted, found at the start.
    pub interrupted: Vec<InterruptedJob>,
    /// See there.
    pub warmset: WarmsetStatus,
    /// See there.
    pub prewarm: PrewarmStatus,
    /// Of the first project that isn't compatible, else of the first.
    pub startup: StartupCheck,
    /// One a root.
    pub projects: Vec<ProjectHealth>,
}

/// Which languages can be parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrammarStatus {
    /// Those that can; sorted.
    pub available: Vec<&'static str>,
    /// Those that should and can't; sorted.
    pub missing: Vec<&'static str>,
}

/// The workspaces that are read into memory at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WarmsetStatus {
    /// Whether that is done.
    pub enabled: bool,
    /// How many at most.
    pub capacity: usize,
    /// Roots of the endpoint's own workspace that are among them.
    pub members: Vec<String>,
}

/// Whether the index could be read at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartupCheck {
    /// See there.
    pub status: SchemaStatus,
    /// What the index is of.
    pub current_schema_version: Option<u32>,
    /// What this build reads.
    pub required_schema_version: u32,
    /// What to do.
    pub message: Option<String>,
}

/// One project in `health_check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectHealth {
    /// 16 hexadecimal digits.
    pub project_id: String,
    /// Absolute.
    pub repo_root: String,
    /// See there.
    pub index_status: IndexingStatus,
    /// See there.
    pub schema_status: SchemaStatus,
    /// What the index is of.
    pub current_schema_version: Option<u32>,
    /// What this build reads.
    pub required_schema_version: u32,
    /// See there.
    pub freshness: Freshness,
    /// When the last job was published: UTC, RFC 3339, whole seconds.
    pub last_indexed_at: Option<String>,
    /// As in the metadata.
    pub reference: String,
    /// Files in the manifest.
    pub file_count: u64,
    /// Symbols in them.
    pub symbol_count: u64,
}

/// A job that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveJob {
    /// Its name.
    pub job_id: String,
    /// Its project.
    pub project_id: String,
    /// See there.
    pub mode: JobMode,
    /// See there.
    pub status: JobStatus,
    /// Files that it must read.
    pub changed_files: u64,
    /// UTC, RFC 3339, whole seconds.
    pub started_at: String,
    /// What it does right now, in a word or two.
    pub phase: &'static str,
    /// Files done, and bytes of source.
    pub done_files: u64,
    /// Bytes of source done.
    pub done_bytes: u64,
}

/// A job that the end of its process interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedJob {
    /// Its name.
    pub job_id: String,
    /// Its project.
    pub project_id: String,
    /// See there.
    pub mode: JobMode,
    /// UTC, RFC 3339, whole seconds.
    pub started_at: String,
}

/// A job in `index_status.recent_jobs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Its name.
    pub job_id: String,
    /// See there.
    pub mode: JobMode,
    /// See there.
    pub status: JobStatus,
    /// As in the metadata.
    pub reference: String,
    /// Files that it read.
    pub changed_files: u64,
    /// UTC, RFC 3339, whole seconds.
    pub started_at: String,
    /// The same, once it has ended.
    pub ended_at: Option<String>,
    /// Why it failed.
    pub message: Option<String>,
}

/// `index_repo` and `sync_repo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAnswer {
    /// Its name.
    pub job_id: String,
    /// See there.
    pub status: JobStatus,
    /// See there.
    pub mode: JobMode,
    /// See there.
    pub metadata: AnswerMetadata,
}

/// `index_status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStatus {
    /// The project asked about: the first root's.
    pub project: ProjectHealth,
    /// The job that runs.
    pub active_job: Option<ActiveJob>,
    /// The newest first, at most 10.
    pub recent_jobs: Vec<JobRecord>,
    /// See there.
    pub startup: StartupCheck,
    /// Files that were left out, by the reason's word; sorted.
    pub left_out: Vec<(&'static str, u64)>,
    /// See there.
    pub metadata: AnswerMetadata,
}
