//! The path check of a query (row 5 of `docs/architecture.md`).
//!
//! Invariant: a resolved query names an existing file inside the roots, or no file.

use codeyard_engine::workspace::handle::WorkspaceHandle;
use codeyard_files::gate::FileStamp;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::query::{GatedQuery, Query};

/// Resolves the query's document through the path gate. `stamp` receives the document's stamp, so that the engine needs
/// no second `stat`.
pub(super) fn resolve_document(
    workspace: &WorkspaceHandle,
    query: Query<String>,
    stamp: &mut Option<FileStamp>,
) -> Result<GatedQuery, ToolError> {
    if workspace.gate.root_set().allowed().next().is_none() {
        return Err(no_workspace());
    }
    let names_path = matches!(query, Query::Lsp(_));
    query.try_map_uri(|uri| {
        let (uri, current) = if names_path {
            workspace.gate.agent_path_stamped(&uri)?
        } else {
            workspace.gate.document_stamped(&uri)?
        };
        *stamp = current;
        Ok(uri)
    })
}

/// The error of a call that no workspace can answer.
pub(super) fn no_workspace() -> ToolError {
    ToolError::new(
        ErrorCode::WorkspaceDenied,
        "no workspace is configured here; start codeyard with --root or add a [[workspace]]",
    )
}
