//! Answers whole queries: from a query as a catalog has decoded it to its answer (rows 5 and 7 to 11 of `docs/internals/architecture.md`).
//!
//! [`answer`] is the only way in, and [`wait_status`] says meanwhile what it waits for. Queries of the code index, of one workspace or a
//! group, go through [`code`]; all others through [`language_servers`]. The caller has admitted the query, has asked for permission, and
//! enforces the deadline. Invariant: dropping the future cancels everything that it waits for, but for an execution that goes on after the
//! deadline of its call ([`long_questions`](crate::workspace::long_questions)).

mod blocking_work;
mod code;
mod code_answers;
mod code_group_answers;
mod code_refusals;
mod confirm;
mod language_servers;
mod path_check;
pub mod wait_status;

use std::sync::Arc;

use actix_rt::ArbiterHandle;

pub use self::code::{CodeIndexQuery, MemberAdmission};
use self::wait_status::WaitStatus;
use crate::workspace::handle::WorkspaceHandle;
use codeyard_base::clock::Deadline;
use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::query::Query;
use codeyard_telemetry::CallTrace;

/// A query that was admitted, and the workspaces that it is put to.
pub enum EngineQuery {
    /// A query to one workspace.
    Workspace {
        /// The workspace.
        workspace: Arc<WorkspaceHandle>,
        /// The query. Its path isn't checked yet.
        query: Query<String>,
    },
    /// A query to the code indexes of a group.
    Group(CodeIndexQuery),
}

impl EngineQuery {
    /// The thread that it is answered on: that of its workspace, or of one of the group's.
    pub fn arbiter(&self) -> Option<ArbiterHandle> {
        match self {
            Self::Workspace { workspace, .. } => Some(workspace.arbiter.clone()),
            Self::Group(group) => group.arbiter(),
        }
    }
}

/// Answers `query`. `deadline` isn't enforced here: shortly before it, the partial answer is returned, if there is one.
///
/// # Errors
/// As `docs/internals/architecture.md#the-path-of-a-request` lists them for these rows.
pub async fn answer(
    query: EngineQuery,
    deadline: Deadline,
    status: &WaitStatus,
    call: &CallTrace,
) -> Result<Answer, ToolError> {
    let (workspace, query) = match query {
        EngineQuery::Group(group) => return group.answer(deadline, status, call).await.map(Answer::Code),
        EngineQuery::Workspace { workspace, query } => (workspace, query),
    };
    let (query, sight) = path_check::resolve_document(&workspace, query).await?;
    match query {
        Query::Code(request) => {
            let query = CodeIndexQuery::of_workspace(workspace, request);
            query.answer(deadline, status, call).await.map(Answer::Code)
        }
        query => language_servers::ask(&workspace, Arc::new(query), sight, deadline, status, call).await,
    }
}
