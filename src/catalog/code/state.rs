//! The JSON forms of `health_check`, `index_status` and jobs (`docs/internals/reference/contract-code.md#answers`).
//!
//! Invariant: `active_job`, `interrupted_recovery_report` and a check's `message` are null if there is none; any other unknown value is
//! omitted.

use std::collections::BTreeMap;

use serde::Serialize;

use codeyard_model::code::{
    ActiveJob, AnswerMetadata, Completeness, Freshness, GrammarStatus, HealthReport, IndexStatus, IndexingStatus,
    InterruptedJob, JobAnswer, JobRecord, ProjectHealth, SchemaStatus, StartupCheck, WarmsetStatus,
};

use super::shape::{self, MetadataShape};

/// The payload of `health_check`.
#[derive(Serialize)]
pub(super) struct HealthShape<'a> {
    status: &'static str,
    version: &'static str,
    uptime_seconds: u64,
    tantivy_ok: bool,
    sqlite_ok: bool,
    grammars: GrammarsShape<'a>,
    active_job: Option<ActiveJobShape<'a>>,
    interrupted_recovery_report: Option<ReportShape<'a>>,
    workspace_warmset: WarmsetShape<'a>,
    prewarm_status: &'static str,
    startup_checks: ChecksShape<'a>,
    projects: Vec<ProjectShape<'a>>,
    metadata: MetadataShape<'a>,
}

/// The payload of `index_status`.
#[derive(Serialize)]
pub(super) struct StatusShape<'a> {
    #[serde(flatten)]
    project: ProjectShape<'a>,
    left_out: BTreeMap<&'static str, u64>,
    active_job: Option<ActiveJobShape<'a>>,
    recent_jobs: Vec<RecordShape<'a>>,
    startup_checks: ChecksShape<'a>,
    metadata: MetadataShape<'a>,
}

/// The payload of `index_repo` and `sync_repo`.
#[derive(Serialize)]
pub(super) struct JobShape<'a> {
    job_id: &'a str,
    status: &'static str,
    mode: &'static str,
    metadata: MetadataShape<'a>,
}

#[derive(Serialize)]
struct GrammarsShape<'a> {
    available: &'a [&'static str],
    missing: &'a [&'static str],
}

#[derive(Serialize)]
struct WarmsetShape<'a> {
    enabled: bool,
    capacity: usize,
    members: &'a [String],
}

#[derive(Serialize)]
struct ChecksShape<'a> {
    index: CheckShape<'a>,
}

#[derive(Serialize)]
struct CheckShape<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_schema_version: Option<u32>,
    required_schema_version: u32,
    message: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct ProjectShape<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a str>,
    project_id: &'a str,
    repo_root: &'a str,
    index_status: &'static str,
    schema_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_schema_version: Option<u32>,
    required_schema_version: u32,
    freshness_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_indexed_at: Option<&'a str>,
    #[serde(rename = "ref")]
    reference: &'a str,
    file_count: u64,
    symbol_count: u64,
}

#[derive(Serialize)]
pub(super) struct ActiveJobShape<'a> {
    job_id: &'a str,
    project_id: &'a str,
    mode: &'static str,
    status: &'static str,
    changed_files: u64,
    started_at: &'a str,
    progress: ProgressShape,
}

#[derive(Serialize)]
struct ProgressShape {
    phase: &'static str,
    done_files: u64,
    done_bytes: u64,
}

#[derive(Serialize)]
struct ReportShape<'a> {
    interrupted_jobs: Vec<InterruptedShape<'a>>,
    message: &'static str,
}

#[derive(Serialize)]
struct InterruptedShape<'a> {
    job_id: &'a str,
    project_id: &'a str,
    mode: &'static str,
    started_at: &'a str,
}

#[derive(Serialize)]
struct RecordShape<'a> {
    job_id: &'a str,
    mode: &'static str,
    status: &'static str,
    #[serde(rename = "ref")]
    reference: &'a str,
    changed_files: u64,
    started_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// The message about jobs that were interrupted by the end of their process.
const INTERRUPTED: &str =
    "These jobs were interrupted. What was published before them is served; sync_repo does their work again.";

/// `health` with its first `projects` projects.
pub(super) fn health<'a>(health: &'a HealthReport, projects: usize, metadata: &'a AnswerMetadata) -> HealthShape<'a> {
    let GrammarStatus { available, missing } = &health.grammars;
    let WarmsetStatus { enabled, capacity, members } = &health.warmset;
    let report =
        ReportShape { interrupted_jobs: health.interrupted.iter().map(interrupted).collect(), message: INTERRUPTED };
    HealthShape {
        status: health.status.as_str(),
        version: health.version,
        uptime_seconds: health.uptime_seconds,
        tantivy_ok: health.tantivy_ok,
        sqlite_ok: health.sqlite_ok,
        grammars: GrammarsShape { available, missing },
        active_job: health.active_job.as_ref().map(active_job),
        interrupted_recovery_report: (!health.interrupted.is_empty()).then_some(report),
        workspace_warmset: WarmsetShape { enabled: *enabled, capacity: *capacity, members },
        prewarm_status: health.prewarm.as_str(),
        startup_checks: checks(&health.startup),
        projects: health.projects.iter().take(projects).map(project).collect(),
        metadata: shape::metadata(metadata, 0),
    }
}

/// What the projects of `health` say together: of each word the worst, and the branch of the first.
pub(super) fn health_metadata(health: &HealthReport) -> AnswerMetadata {
    let Some(first) = health.projects.first() else { return AnswerMetadata::default() };
    let worst_of =
        |words: &[Freshness]| words.iter().copied().find(|word| health.projects.iter().any(|p| p.freshness == *word));
    let freshness = worst_of(&[Freshness::Stale, Freshness::Syncing]).unwrap_or(Freshness::Fresh);
    let states = [IndexingStatus::Failed, IndexingStatus::NotIndexed, IndexingStatus::Indexing];
    let indexing = states.into_iter().find(|word| health.projects.iter().any(|project| project.index_status == *word));
    let schemas = [SchemaStatus::CorruptManifest, SchemaStatus::ReindexRequired, SchemaStatus::NotIndexed];
    let schema = schemas.into_iter().find(|word| health.projects.iter().any(|project| project.schema_status == *word));
    AnswerMetadata {
        freshness,
        indexing: indexing.unwrap_or(IndexingStatus::Ready),
        completeness: if health.incomplete.is_empty() { Completeness::Complete } else { Completeness::Partial },
        incomplete: health.incomplete.clone(),
        schema: schema.unwrap_or(SchemaStatus::Compatible),
        reference: first.reference.clone(),
        ..AnswerMetadata::default()
    }
}

/// The payload of `status` with its newest `jobs` jobs.
pub(super) fn status<'a>(status: &'a IndexStatus, jobs: usize, metadata: &'a AnswerMetadata) -> StatusShape<'a> {
    StatusShape {
        project: project(&status.project),
        left_out: status.left_out.iter().copied().collect(),
        active_job: status.active_job.as_ref().map(active_job),
        recent_jobs: status.recent_jobs.iter().take(jobs).map(record).collect(),
        startup_checks: checks(&status.startup),
        metadata: shape::metadata(metadata, 0),
    }
}

/// The payload of a job that was started.
pub(super) fn job(job: &JobAnswer) -> JobShape<'_> {
    JobShape {
        job_id: &job.job_id,
        status: job.status.as_str(),
        mode: job.mode.as_str(),
        metadata: shape::metadata(&job.metadata, 0),
    }
}

fn checks(check: &StartupCheck) -> ChecksShape<'_> {
    ChecksShape {
        index: CheckShape {
            status: check.status.as_str(),
            current_schema_version: check.current_schema_version,
            required_schema_version: check.required_schema_version,
            message: check.message.as_deref(),
        },
    }
}

pub(super) fn project(project: &ProjectHealth) -> ProjectShape<'_> {
    ProjectShape {
        workspace: project.workspace.as_ref().map(|name| name.short()),
        project_id: &project.project_id,
        repo_root: &project.repo_root,
        index_status: project.index_status.as_str(),
        schema_status: project.schema_status.as_str(),
        current_schema_version: project.current_schema_version,
        required_schema_version: project.required_schema_version,
        freshness_status: project.freshness.as_str(),
        last_indexed_at: project.last_indexed_at.as_deref(),
        reference: &project.reference,
        file_count: project.file_count,
        symbol_count: project.symbol_count,
    }
}

pub(super) fn active_job(job: &ActiveJob) -> ActiveJobShape<'_> {
    let ActiveJob { phase, done_files, done_bytes, .. } = *job;
    ActiveJobShape {
        job_id: &job.job_id,
        project_id: &job.project_id,
        mode: job.mode.as_str(),
        status: job.status.as_str(),
        changed_files: job.changed_files,
        started_at: &job.started_at,
        progress: ProgressShape { phase, done_files, done_bytes },
    }
}

fn interrupted(job: &InterruptedJob) -> InterruptedShape<'_> {
    InterruptedShape {
        job_id: &job.job_id,
        project_id: &job.project_id,
        mode: job.mode.as_str(),
        started_at: &job.started_at,
    }
}

fn record(job: &JobRecord) -> RecordShape<'_> {
    RecordShape {
        job_id: &job.job_id,
        mode: job.mode.as_str(),
        status: job.status.as_str(),
        reference: &job.reference,
        changed_files: job.changed_files,
        started_at: &job.started_at,
        ended_at: job.ended_at.as_deref(),
        message: job.message.as_deref(),
    }
}
