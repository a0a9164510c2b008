//! Refusals that name no particular root.

use codeyard_model::code::{CodeError, CodeRefusal};

/// The refusal of a workspace without roots.
pub fn no_root() -> CodeRefusal {
    CodeRefusal::new(
        CodeError::ProjectNotFound,
        "This workspace has no root that could be indexed. Start codeyard with --root, or add a [[workspace]].",
    )
}
