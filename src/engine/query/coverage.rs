//! What an answer stands on: the servers that gave it, how many files each of them knows, and whether that matters for the query.
//!
//! `docs/internals/reference/contract-lsp-v1.md#partial-views` says when catalogs show it.

use std::path::Path;
use std::sync::Arc;

use crate::query::provider::Provider;
use codeyard_complete::companions;
use codeyard_model::coverage::{AnswerScope, ServerCoverage, UndecidedName};
use codeyard_model::operation::{LspQuery, Operation};
use codeyard_model::query::{GatedQuery, Query};

/// How many files of its projects a provider knows that gave an answer. Linters and fallbacks have none: a linter's answer concerns one document, and what a
/// fallback finds is marked by the names of its languages.
pub(crate) fn of_provider(provider: &Provider) -> Vec<Arc<ServerCoverage>> {
    if provider.is_linter || provider.fallback_for.is_some() {
        return vec![];
    }
    let asked = provider.projects.asked.as_ref();
    provider.projects.cell.coverage(|root| asked.is_none_or(|asked| asked.contains(root)))
}

/// The same for an answer that may lack these places.
pub(crate) fn of_answer(provider: &Provider, undecided: Option<&UndecidedName>) -> Vec<Arc<ServerCoverage>> {
    let mut all = of_provider(provider);
    if let Some(undecided) = undecided {
        let first = all.first().map(|first| first.as_ref().clone());
        let marked = ServerCoverage {
            undecided: Some(undecided.clone()),
            ..first.unwrap_or_else(|| ServerCoverage::of_no_files(provider.kind.clone()))
        };
        all.splice(..all.len().min(1), [Arc::new(marked)]);
    }
    all
}

/// What the answer to `query` from these providers stands on.
pub(crate) fn scope(query: &GatedQuery, providers: &[Provider]) -> AnswerScope {
    let document = match query {
        Query::DocumentDiagnostics { uri } => {
            return AnswerScope::Diagnostics { is_known: all_know(providers, &uri.to_path()) };
        }
        Query::WorkspaceDiagnostics { .. } => return AnswerScope::Diagnostics { is_known: false },
        Query::Hover { uri, .. } | Query::DocumentSymbols { uri } => Some(uri),
        Query::Declarations { uri } => Some(uri),
        Query::Lsp(LspQuery { operation: Operation::Hover | Operation::DocumentSymbol, subject, .. }) => subject.uri(),
        Query::Definition { .. }
        | Query::References { .. }
        | Query::WorkspaceSymbols { .. }
        | Query::Lsp(_)
        | Query::Code(_)
        | Query::Launch(_) => None,
    };
    match document {
        Some(uri) => AnswerScope::Document { is_known: all_know(providers, &uri.to_path()) },
        None if companions::is_about_uses(query) => AnswerScope::Uses,
        None => AnswerScope::Project,
    }
}

fn all_know(providers: &[Provider], path: &Path) -> bool {
    let mut mains = providers.iter().filter(|provider| !provider.is_linter && provider.fallback_for.is_none());
    mains.all(|provider| provider.projects.cell.knows(path))
}
