//! The path check and the engine's part of a call as one future (rows 5 and 7 to 11 of `docs/internals/architecture.md`): queries of the code
//! index go through [`code`] or, for a group, [`code_group`](super::code_group); calls about runs through [`launch`]; all others through
//! [`language_servers`].
//!
//! It has no deadline of its own. Invariant: dropping the future cancels everything it waits for.

use std::sync::Arc;

use super::request::CallWork;
use super::resolve::resolve_document;
use super::wait_status::WaitStatus;
use super::{code, language_servers, launch};
use codeyard_base::clock::Deadline;
use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::query::Query;
use codeyard_telemetry::CallTrace;

/// Does the work of a call. `deadline` isn't enforced here: the engine uses it to return what it has shortly before.
pub(crate) async fn answer(
    work: CallWork,
    deadline: Deadline,
    status: &WaitStatus,
    call: &CallTrace,
) -> Result<Answer, ToolError> {
    let (workspace, query) = match work {
        CallWork::Group(group) => return group.answer(deadline, status, call).await.map(Answer::Code),
        CallWork::Launch(asked) => return Ok(Answer::Launch(launch::answer(&asked, status, call).await)),
        CallWork::Workspace { workspace, query } => (workspace, query),
    };
    let (query, sight) = resolve_document(&workspace, query).await?;
    match &query {
        Query::Code(request) => code::answer(&workspace, request, deadline, status, call).await.map(Answer::Code),
        _ => language_servers::ask(&workspace, (Arc::new(query), sight), deadline, status, call).await,
    }
}
