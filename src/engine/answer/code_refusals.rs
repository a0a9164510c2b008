//! Refusals and errors of queries of the catalog `code`, from before an index is asked.

use crate::indexer::group_report;
use crate::limits::HANGING_RETRY_AFTER_MS;
use codeyard_model::code::{ActiveJob, AnswerMetadata, CodeError, CodeRefusal, JobMode, SchemaStatus, WorkspaceError};
use codeyard_model::error::{CallPhase, ToolError};

/// Longest text of a caller that a message repeats, in characters.
const MAX_REPEATED_CHARS: usize = 80;

/// The refusal of a workspace that the group doesn't have.
pub(super) fn no_such_workspace(asked: &str, names: &[&str]) -> Box<CodeRefusal> {
    let message = format!(
        "No workspace of this group matches '{}'. Its workspaces are {}.",
        repeated(asked),
        group_report::listed(names)
    );
    let refusal = CodeRefusal::new(CodeError::WorkspaceNotRegistered, message).with("argument", "workspace");
    Box::new(refusal.with("allowed", group_report::listed(names)))
}

/// The refusal of a text that is neither a name nor a pattern.
pub(super) fn wrong_pattern(asked: &str) -> Box<CodeRefusal> {
    let message = format!(
        "'{}' is neither the name of a workspace nor a pattern with `*` and `?`. health_check lists the workspaces.",
        repeated(asked)
    );
    let refusal = CodeRefusal::new(CodeError::InvalidInput, message);
    Box::new(refusal.with("argument", "workspace").with("reason", "no_name"))
}

pub(super) fn repeated(text: &str) -> String {
    text.chars().take(MAX_REPEATED_CHARS).collect()
}

/// The error of a query whose workspace has queries that hang.
pub(super) fn hangs() -> ToolError {
    ToolError::timeout(CallPhase::Queued, Some(HANGS.to_owned()), HANGING_RETRY_AFTER_MS)
}

/// The entry of a workspace whose queries hang in the answer of a group's job request.
pub(super) fn no_job_began() -> WorkspaceError {
    WorkspaceError { code: CodeError::Timeout, message: format!("No job began: {HANGS}.") }
}

/// Why a workspace whose queries hang isn't asked.
const HANGS: &str = "earlier queries of this workspace still wait for its files: a file system hangs";

/// The error of a job request while another job runs.
pub(super) fn job_in_progress(active: ActiveJob) -> CodeRefusal {
    let (code, what) = match active.mode {
        JobMode::Full => (CodeError::IndexInProgress, "builds the index"),
        JobMode::Incremental => (CodeError::SyncInProgress, "brings the index up to date"),
    };
    let message = format!("The job {} {what}. Call index_status until it shows no active job.", active.job_id);
    CodeRefusal::new(code, message)
        .with("job_id", active.job_id)
        .with("status", active.status.as_str())
        .with("mode", active.mode.as_str())
        .with("changed_files", active.changed_files)
        .with("started_at", active.started_at)
}

/// The error of a job request that the workspace can't accept.
pub(super) fn job_unavailable(metadata: AnswerMetadata) -> CodeRefusal {
    let refusal = match metadata.schema {
        SchemaStatus::ReindexRequired | SchemaStatus::CorruptManifest => CodeRefusal::new(
            CodeError::IndexIncompatible,
            "This build can't read the index. Call index_repo with force, or run `codeyard index --force`.",
        )
        .with("schema_status", metadata.schema.as_str())
        .with("remediation", "codeyard index --force"),
        _ => CodeRefusal::new(CodeError::IndexNotReady, "The workspace is being stopped. Ask again once it is back."),
    };
    refusal.with_metadata(metadata)
}
