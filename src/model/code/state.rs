//! State of the index and its jobs: `health_check`, `index_status`, `index_repo` and `sync_repo`.

use super::group::IncompleteWorkspace;
use super::metadata::{AnswerMetadata, Freshness, IndexingStatus, SchemaStatus};
use super::query::words;
use codeyard_base::ids::WorkspaceName;

words! {
    /// `health_check.status`: the last value here that applies.
    HealthStatus {
        /// No job is running, and no project failed.
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
        /// Not started.
        #[default]
        Pending = "pending",
        /// Running.
        Warming = "warming",
        /// Done.
        Complete = "complete",
        /// Failed.
        Failed = "failed",
        /// Disabled.
        Skipped = "skipped",
    }
}
words! {
    /// The state of a job.
    JobStatus {
        /// Waiting.
        #[default]
        Queued = "queued",
        /// Reading and parsing files.
        Running = "running",
        /// Checking its result.
        Validating = "validating",
        /// Finished; queries use its result.
        Published = "published",
        /// Failed.
        Failed = "failed",
        /// Its process ended before it finished.
        Interrupted = "interrupted",
    }
}
words! {
    /// Which files a job reads.
    JobMode {
        /// All files.
        #[default]
        Full = "full",
        /// Changed files.
        Incremental = "incremental",
    }
}

/// `health_check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthReport {
    /// Overall status.
    pub status: HealthStatus,
    pub version: &'static str,
    /// Seconds since the start of the process.
    pub uptime_seconds: u64,
    /// Whether a query of the symbol index succeeded.
    pub tantivy_ok: bool,
    /// Whether a query of the database succeeded.
    pub sqlite_ok: bool,
    /// The languages that can be parsed.
    pub grammars: GrammarStatus,
    pub active_job: Option<ActiveJob>,
    /// Jobs that were found interrupted at the start.
    pub interrupted: Vec<InterruptedJob>,
    pub warmset: WarmsetStatus,
    /// Progress of reading the index into memory.
    pub prewarm: PrewarmStatus,
    /// The check of the first project that isn't compatible, otherwise of the first project.
    pub startup: StartupCheck,
    /// One per root.
    pub projects: Vec<ProjectHealth>,
    /// Of a group: the workspaces whose projects are missing.
    pub incomplete: Vec<IncompleteWorkspace>,
}

/// The languages that can be parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrammarStatus {
    /// Available languages, sorted.
    pub available: Vec<&'static str>,
    /// Languages whose grammar is missing, sorted.
    pub missing: Vec<&'static str>,
}

/// The workspaces whose indexes are read into memory at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WarmsetStatus {
    /// Whether the warm set is enabled.
    pub enabled: bool,
    /// Maximum number of workspaces.
    pub capacity: usize,
    /// Roots of this workspace that are in the warm set.
    pub members: Vec<String>,
}

/// Whether the index could be read at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartupCheck {
    /// Whether this build can read the index.
    pub status: SchemaStatus,
    /// Schema version of the index.
    pub current_schema_version: Option<u32>,
    /// Schema version that this build reads.
    pub required_schema_version: u32,
    pub message: Option<String>,
}

/// One project in `health_check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectHealth {
    /// Project id: 16 hexadecimal digits.
    pub project_id: String,
    /// Absolute path of the root.
    pub repo_root: String,
    /// Its workspace, in answers of a group.
    pub workspace: Option<WorkspaceName>,
    /// Whether an index exists.
    pub index_status: IndexingStatus,
    /// Whether this build can read the index.
    pub schema_status: SchemaStatus,
    /// Schema version of the index.
    pub current_schema_version: Option<u32>,
    /// Schema version that this build reads.
    pub required_schema_version: u32,
    /// Whether the index matches the disk or the branch.
    pub freshness: Freshness,
    /// Time when the last job was published: UTC, RFC 3339, whole seconds.
    pub last_indexed_at: Option<String>,
    /// The branch, tag or commit, as in `AnswerMetadata::reference`.
    pub reference: String,
    /// Files in the manifest.
    pub file_count: u64,
    /// Symbols in these files.
    pub symbol_count: u64,
}

/// A running job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveJob {
    pub job_id: String,
    pub project_id: String,
    /// Which files it reads.
    pub mode: JobMode,
    pub status: JobStatus,
    /// Files that it has to read.
    pub changed_files: u64,
    /// Start time: UTC, RFC 3339, whole seconds.
    pub started_at: String,
    /// Its current phase, in a word or two.
    pub phase: &'static str,
    pub done_files: u64,
    pub done_bytes: u64,
}

/// A job that the end of its process interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedJob {
    pub job_id: String,
    pub project_id: String,
    /// Which files it reads.
    pub mode: JobMode,
    /// Start time: UTC, RFC 3339, whole seconds.
    pub started_at: String,
}

/// A job in `index_status.recent_jobs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    pub job_id: String,
    /// Which files it reads.
    pub mode: JobMode,
    pub status: JobStatus,
    /// The branch, tag or commit, as in `AnswerMetadata::reference`.
    pub reference: String,
    /// Files that it read.
    pub changed_files: u64,
    /// Start time: UTC, RFC 3339, whole seconds.
    pub started_at: String,
    /// End time in the same format. `None` while it is running.
    pub ended_at: Option<String>,
    pub message: Option<String>,
}

/// `index_repo` and `sync_repo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAnswer {
    pub job_id: String,
    pub status: JobStatus,
    /// Which files it reads.
    pub mode: JobMode,
    pub metadata: AnswerMetadata,
}

/// `index_status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStatus {
    /// The project of the first root.
    pub project: ProjectHealth,
    pub active_job: Option<ActiveJob>,
    /// The newest first, at most 10.
    pub recent_jobs: Vec<JobRecord>,
    /// Whether the index could be read at the start.
    pub startup: StartupCheck,
    /// Number of files left out, by reason, sorted.
    pub left_out: Vec<(&'static str, u64)>,
    pub metadata: AnswerMetadata,
}

impl IndexStatus {
    /// The reasons of `left_out` for which files are searched and not parsed.
    pub const UNPARSED: [&str; 3] = ["minified", "too_large_to_parse", "too_complex"];
}
