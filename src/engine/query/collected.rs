//! The raw answers of all providers of one query, before they are made canonical.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::status::server_state::{UNSUPPORTED, Unavailable};
use codeyard_base::ids::ServerKind;
use codeyard_model::coverage::ServerCoverage;
use codeyard_model::error::ToolError;
use codeyard_paging::CanonicalResult;

/// The raw answers of the providers that gave one, in the registry's order.
pub(crate) struct Collected<A> {
    /// The answers.
    pub answers: Vec<A>,
    /// The provider of the answer, where only one provider's answer counts.
    pub answered_by: Option<ServerKind>,
    /// The providers that gave no answer, and why.
    pub skipped: Vec<Unavailable>,
    /// Whether a provider gave no answer only because time ran out.
    pub is_partial: bool,
    /// Whether a server reached its own maximum of entries and may have more.
    pub is_cut: bool,
    /// Languages that a fallback answered, which finds symbols by name.
    pub by_name: BTreeSet<String>,
    /// How many files of their projects the providers that answered know.
    pub known_files: Vec<Arc<ServerCoverage>>,
    /// The error of the call if the result is empty: the providers that answered can't prove that nothing exists.
    pub error_if_empty: Option<ToolError>,
}

impl<A> Collected<A> {
    /// Answers that no further provider adds to.
    pub(crate) fn complete(answers: Vec<A>, skipped: Vec<Unavailable>) -> Self {
        Self {
            answers,
            answered_by: None,
            skipped,
            is_partial: false,
            is_cut: false,
            by_name: BTreeSet::new(),
            known_files: vec![],
            error_if_empty: None,
        }
    }
}

/// The error of a query that no provider answered.
pub(crate) fn none_available(skipped: &[Unavailable]) -> ToolError {
    // The failure of a server helps more than what it doesn't offer, and that more than the absence of one.
    let helps = |unavailable: &&Unavailable| match unavailable.reason {
        UNSUPPORTED => 1,
        "not_installed" => 2,
        _ if unavailable.kind.is_empty() => 3,
        _ => 0,
    };
    match skipped.iter().min_by_key(helps) {
        Some(first) => first.to_error(),
        None => ToolError::provider_unavailable(
            "no_server",
            "no language server is known for the files of this workspace",
            "codeyard servers list",
        ),
    }
}

/// Whether a list of a kind in which a failed provider may hide everything is empty.
pub(crate) fn has_nothing(result: &CanonicalResult) -> bool {
    match result {
        CanonicalResult::Lsp(result) => result.found.is_empty(),
        CanonicalResult::WorkspaceSymbols(list) => list.items.is_empty(),
        _ => false,
    }
}
