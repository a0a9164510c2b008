//! The engine's part of a call as one future (rows 7 to 11 of `docs/architecture.md`): queries of the code index go through
//! [`code`], all others through [`language_servers`].
//!
//! It has no deadline of its own. Invariant: dropping the future cancels everything it waits for.

use std::sync::Arc;

use super::wait_status::WaitStatus;
use super::{code, language_servers};
use codeyard_base::clock::Deadline;
use codeyard_engine::workspace::handle::WorkspaceHandle;
use codeyard_files::gate::FileStamp;
use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_telemetry::CallTrace;

/// Answers `query`. `stamp` is the document's stamp from the path check. `deadline` isn't enforced here: the engine uses it to
/// return what it has shortly before.
pub(crate) async fn answer(
    workspace: &WorkspaceHandle,
    (query, stamp): (Arc<GatedQuery>, Option<FileStamp>),
    deadline: Deadline,
    status: &WaitStatus,
    call: &CallTrace,
) -> Result<Answer, ToolError> {
    match &*query {
        Query::Code(code_query) => code::answer(workspace, code_query, deadline, status, call).await.map(Answer::Code),
        _ => language_servers::ask(workspace, (query, stamp), deadline, status, call).await,
    }
}
