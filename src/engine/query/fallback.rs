//! Rules for the fallback: the embedded language server, which answers by name where a language server is missing, not ready, or doesn't
//! support the operation.
//!
//! `workspace::provider_selection` selects the providers. Invariants: a language with a ready server of its own that supports the operation has no fallback; an answer
//! of a fallback is marked with the languages that it was used for, and has no entries of other languages.

use std::sync::Arc;

use crate::query::plan::Plan;
use crate::query::provider::Provider;
use crate::status::server_state::{ServerState, Unavailable};
use codeyard_lsp::registry::ServerSpec;
use codeyard_model::query::{GatedQuery, Query};

/// Whether a fallback can't answer this query: names don't show diagnostics, and a row that was found by name can't be confirmed by name.
pub(crate) fn has_no_fallback(query: &GatedQuery) -> bool {
    matches!(query, Query::DocumentDiagnostics { .. } | Query::WorkspaceDiagnostics { .. } | Query::Declarations { .. })
}

/// Whether a server lists no symbols of the workspace in files of this language, so that another one, or a fallback, must.
pub(crate) fn lists_no_symbols(server: &ServerSpec, language: &str) -> bool {
    let quirks = &server.quirks;
    quirks.no_symbols || quirks.no_symbols_of.iter().any(|id| id == language)
}

/// The plan without fallbacks.
pub(crate) fn without_fallbacks(plan: &Arc<Plan>) -> Arc<Plan> {
    if !plan.choices.iter().any(|choice| choice.is_fallback()) && plan.fallbacks.is_empty() {
        return plan.clone();
    }
    let mut plan = Plan::clone(plan);
    plan.choices.retain(|choice| !choice.is_fallback());
    (plan.by_name, plan.fallbacks) = Default::default();
    Arc::new(plan)
}

/// Removes fallbacks that aren't ready if another provider can answer. Also returns why each removed one gives no answer.
pub(crate) fn without_pending_fallbacks(providers: Vec<Provider>) -> (Vec<Provider>, Vec<Unavailable>) {
    let is_pending_fallback =
        |provider: &Provider| provider.fallback_for.is_some() && provider.state.borrow().is_pending();
    if providers.iter().all(|provider| provider.fallback_for.is_some()) {
        return (providers, vec![]);
    }
    let (pending, rest): (Vec<_>, Vec<_>) = providers.into_iter().partition(is_pending_fallback);
    (rest, pending.iter().map(not_ready).collect())
}

/// The main servers that don't answer a query with this method, if a fallback should answer for them: all those of a document, or each of a
/// search of the workspace.
pub(crate) fn refusing<'a>(providers: &'a [Provider], query: &GatedQuery, method: &str) -> Vec<&'a Provider> {
    let mains: Vec<&Provider> = providers.iter().filter(|provider| provider.is_main()).collect();
    let refuses = |provider: &&Provider| provider.refused.contains(method) || is_name_too_short(provider, query);
    let refusing: Vec<&Provider> = mains.iter().copied().filter(refuses).collect();
    match query.uri().is_some() && refusing.len() < mains.len() {
        true => vec![],
        false => refusing,
    }
}

/// Whether a query searches for symbols by a name that is too short for the server to find any.
fn is_name_too_short(provider: &Provider, query: &GatedQuery) -> bool {
    query.symbol_name().is_some_and(|name| provider.spec.quirks.finds_no_symbols_named(name))
}

/// Why a provider that isn't ready gives no answer.
pub(crate) fn not_ready(provider: &Provider) -> Unavailable {
    let (reason, message) = match &*provider.state.borrow() {
        ServerState::Restarting(down) => return Unavailable::down(provider.kind.as_str(), down),
        ServerState::Indexing { .. } => ("indexing", "the language server is still indexing"),
        _ => ("starting", "the language server is still starting"),
    };
    Unavailable::new(provider.kind.as_str(), reason, message, "codeyard doctor")
}
