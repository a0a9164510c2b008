//! Answers of a group of workspaces: `index_repo`, `sync_repo` and `index_status` have one entry for each workspace; the other answers
//! name the workspaces that they don't cover.

use super::metadata::AnswerMetadata;
use super::query::CodeQuery;
use super::refusal::CodeError;
use super::state::{IndexStatus, JobMode, JobStatus};
use codeyard_base::ids::WorkspaceName;

/// A query of the catalog `code` as a caller asks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRequest {
    pub query: CodeQuery,
    /// The argument `workspace`: the name of a workspace, or a pattern of names. `None`: all workspaces of the endpoint.
    pub workspace: Option<String>,
}

impl From<CodeQuery> for CodeRequest {
    fn from(query: CodeQuery) -> Self {
        Self { query, workspace: None }
    }
}

/// A workspace of a group that an answer doesn't cover, or not completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncompleteWorkspace {
    pub workspace: WorkspaceName,
    /// Why: `not_indexed`, `indexing`, `timeout`, or the code of an error.
    pub reason: &'static str,
    /// What is wrong and what to do, in a sentence. Contains no path outside the roots.
    pub message: String,
}

/// `index_repo` and `sync_repo` of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupJobs {
    /// One for each workspace, in the order of their names.
    pub jobs: Vec<(WorkspaceName, Result<BegunJob, WorkspaceError>)>,
    pub metadata: AnswerMetadata,
}

/// A job of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunJob {
    pub job_id: String,
    pub status: JobStatus,
    /// Which files it reads.
    pub mode: JobMode,
}

/// `index_status` of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupStatus {
    /// One for each workspace, in the order of their names: the status of its first root.
    pub workspaces: Vec<(WorkspaceName, Result<Box<IndexStatus>, WorkspaceError>)>,
    pub metadata: AnswerMetadata,
}

/// Why a workspace of a group has no entry of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceError {
    pub code: CodeError,
    /// What is wrong and what to do, in one or two sentences.
    pub message: String,
}
