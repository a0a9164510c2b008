//! The path check of a query (row 5 of `docs/internals/architecture.md`).
//!
//! Invariants: a resolved query names an existing file inside the roots, or no file; the check of a file runs on the blocking pool, within
//! the deadline of its call.

use crate::query::file_looks::{Sight, look_at_checked};
use crate::query::known_files::SharedKnownFiles;
use crate::workspace::handle::WorkspaceHandle;
use codeyard_files::gate::Gate;
use codeyard_model::error::ToolError;
use codeyard_model::query::{GatedQuery, Query};

/// Resolves the query's document through the path gate. With the query comes what the check saw of the document, so that the engine needs
/// no second look at it.
pub(super) async fn resolve_document(
    workspace: &WorkspaceHandle,
    query: Query<String>,
) -> Result<(GatedQuery, Option<Sight>), ToolError> {
    let known = workspace.known.clone();
    match query.uri() {
        Some(_) => workspace.gate.run(move |gate| resolve(gate, &known, query)).await?,
        None => resolve(&workspace.gate, &known, query),
    }
}

fn resolve(
    gate: &Gate,
    known: &SharedKnownFiles,
    query: Query<String>,
) -> Result<(GatedQuery, Option<Sight>), ToolError> {
    let names_path = matches!(query, Query::Lsp(_));
    let mut sight = None;
    let query = query.try_map_uri(|uri| {
        let admitted = if names_path { gate.agent_path_stamped(&uri) } else { gate.document_stamped(&uri) };
        let (uri, stamp) = admitted?;
        sight = Some(look_at_checked(gate, known, &uri, stamp));
        Ok::<_, ToolError>(uri)
    })?;
    Ok((query, sight))
}
