//! Whether a call can be put to the workspace of its endpoint at all: it has a root, and the call names no other workspace. Which endpoints
//! there are instead of an unknown one.
//!
//! Pure. Paths are compared as text, so an error reveals nothing about files outside the roots.

use codeyard_access::Principal;
use codeyard_base::ids::WorkspaceName;
use codeyard_catalog::CatalogId;
use codeyard_engine::supervisor::directory::Directory;
use codeyard_engine::workspace::handle::WorkspaceHandle;
use codeyard_model::code::{CodeError, CodeQuery, CodeRefusal, CodeRequest};
use codeyard_model::error::{ErrorCode, ToolError};

/// Workspaces that the refusal of an endpoint names.
const MAX_ADVISED_WORKSPACES: usize = 10;

/// Which endpoints there are, for a client that has asked for one that there isn't; `None` without a workspace.
pub(super) fn endpoint_advice<'w>(workspaces: impl Iterator<Item = &'w WorkspaceName>) -> Option<String> {
    let mut paths: Vec<String> =
        workspaces.take(MAX_ADVISED_WORKSPACES + 1).map(|name| format!("/mcp/{}", name.short())).collect();
    let first = paths.first()?.clone();
    if let Some(beyond) = paths.get_mut(MAX_ADVISED_WORKSPACES) {
        *beyond = "others".to_owned();
    }
    let catalogs = CatalogId::ALL.map(CatalogId::as_str).join(", ");
    Some(format!("use {}, alone or with a catalog, as in {first}/agent; catalogs are {catalogs}", paths.join(", ")))
}

/// The error of a call whose `workspace` is neither the name nor a root of the workspace `here` (`docs/internals/reference/contract-code.md#errors`).
pub(super) fn other_workspace(
    directory: &Directory,
    principal: &Principal,
    here: &WorkspaceHandle,
    request: &CodeRequest,
) -> Option<CodeRefusal> {
    if request.workspace.as_ref().is_some_and(|name| *name != here.name.short()) {
        let message = format!(
            "This endpoint serves the workspace '{}' only. Ask without `workspace`, or at /mcp/@all/code.",
            here.name.short()
        );
        return Some(CodeRefusal::new(CodeError::WorkspaceNotAllowed, message));
    }
    let CodeQuery::Health { workspace: Some(path) } = &request.query else { return None };
    if has_root(here, path) {
        return None;
    }
    let is_elsewhere = directory.all_seen(principal).iter().any(|other| has_root(other, path));
    Some(if is_elsewhere {
        let message =
            "This endpoint serves another workspace. Ask without `workspace`, or at that workspace's endpoint.";
        CodeRefusal::new(CodeError::WorkspaceNotAllowed, message)
    } else {
        let message = "No workspace has this root. Ask without `workspace`; an operator can add one with `codeyard workspaces put`.";
        CodeRefusal::new(CodeError::WorkspaceNotRegistered, message)
    })
}

fn has_root(workspace: &WorkspaceHandle, path: &str) -> bool {
    workspace.gate.root_set().position(path).is_some()
}

/// Refuses a call to a workspace without roots.
pub(super) fn check_roots(workspace: &WorkspaceHandle) -> Result<(), ToolError> {
    workspace.gate.root_set().allowed().next().map(drop).ok_or_else(no_workspace)
}

/// The error of a call that no workspace can answer.
pub(super) fn no_workspace() -> ToolError {
    ToolError::new(
        ErrorCode::WorkspaceDenied,
        "no workspace is configured here; start codeyard with --root or add a [[workspace]]",
    )
}
