//! The JSON forms of the answers of a group that have one entry for each workspace (`docs/internals/reference/contract-code.md#groups`).
//!
//! Invariant: an entry has its workspace, and either the members of a single workspace's answer or `error`.

use serde::Serialize;

use codeyard_model::code::{AnswerMetadata, BegunJob, GroupJobs, GroupStatus, IndexStatus, WorkspaceError};

use super::shape::{self, MetadataShape};
use super::state::{self, ActiveJobShape, ProjectShape};

/// The payload of `index_repo` and `sync_repo` of a group.
#[derive(Serialize)]
pub(super) struct JobsShape<'a> {
    jobs: Vec<EntryShape<'a, BegunShape<'a>>>,
    metadata: MetadataShape<'a>,
}

/// The payload of `index_status` of a group.
#[derive(Serialize)]
pub(super) struct StatusesShape<'a> {
    workspaces: Vec<EntryShape<'a, WorkspaceShape<'a>>>,
    metadata: MetadataShape<'a>,
}

#[derive(Serialize)]
struct EntryShape<'a, T> {
    workspace: &'a str,
    #[serde(flatten)]
    found: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorShape<'a>>,
}

#[derive(Serialize)]
struct ErrorShape<'a> {
    code: &'static str,
    message: &'a str,
}

#[derive(Serialize)]
struct BegunShape<'a> {
    job_id: &'a str,
    status: &'static str,
    mode: &'static str,
}

#[derive(Serialize)]
struct WorkspaceShape<'a> {
    #[serde(flatten)]
    project: ProjectShape<'a>,
    active_job: Option<ActiveJobShape<'a>>,
}

/// The first `shown` jobs.
pub(super) fn jobs<'a>(begun: &'a GroupJobs, shown: usize, metadata: &'a AnswerMetadata) -> JobsShape<'a> {
    let entry =
        |job: &'a BegunJob| BegunShape { job_id: &job.job_id, status: job.status.as_str(), mode: job.mode.as_str() };
    let entries = begun.jobs.iter().take(shown);
    let jobs = entries.map(|(name, job)| of_workspace(name.short(), job.as_ref().map(entry))).collect();
    JobsShape { jobs, metadata: shape::metadata(metadata, 0) }
}

/// The first `shown` statuses.
pub(super) fn statuses<'a>(found: &'a GroupStatus, shown: usize, metadata: &'a AnswerMetadata) -> StatusesShape<'a> {
    let entry = |status: &'a IndexStatus| WorkspaceShape {
        project: state::project(&status.project),
        active_job: status.active_job.as_ref().map(state::active_job),
    };
    let entries = found.workspaces.iter().take(shown);
    let workspaces = entries.map(|(name, status)| of_workspace(name.short(), status.as_deref().map(entry))).collect();
    StatusesShape { workspaces, metadata: shape::metadata(metadata, 0) }
}

fn of_workspace<'a, T>(workspace: &'a str, result: Result<T, &'a WorkspaceError>) -> EntryShape<'a, T> {
    let (found, error) = match result {
        Ok(found) => (Some(found), None),
        Err(error) => (None, Some(ErrorShape { code: error.code.as_str(), message: &error.message })),
    };
    EntryShape { workspace, found, error }
}
