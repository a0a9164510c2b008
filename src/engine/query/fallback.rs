//! Who stands in for language servers that aren't there, or aren't ready: the embedded one, which answers by name.
//!
//! It chooses nobody; `providers` does. Invariants: where a language has a server of its own that is ready, nobody stands in for it; an
//! answer of a stand-in is marked with the languages that it stands in for, and holds nothing of others.

use std::sync::Arc;

use crate::query::plan::Plan;
use crate::query::provider::Provider;
use crate::status::server_state::{ServerState, Unavailable};
use codeyard_model::query::{GatedQuery, Query};

/// Whether nobody can stand in for who answers this: what is wrong with code isn't seen by names, and what was found by name isn't
/// confirmed by name.
pub(crate) fn has_no_fallback(query: &GatedQuery) -> bool {
    matches!(query, Query::DocumentDiagnostics { .. } | Query::WorkspaceDiagnostics { .. } | Query::Declarations { .. })
}

/// The plan without those who stand in.
pub(crate) fn without_fallbacks(plan: &Arc<Plan>) -> Arc<Plan> {
    if !plan.choices.iter().any(|choice| choice.is_fallback()) && plan.fallbacks.is_empty() {
        return plan.clone();
    }
    let mut plan = Plan::clone(plan);
    plan.choices.retain(|choice| !choice.is_fallback());
    (plan.by_name, plan.fallbacks) = Default::default();
    Arc::new(plan)
}

/// Without stand-ins that aren't ready, where somebody answers who is no stand-in; and why they don't.
pub(crate) fn without_pending_fallbacks(providers: Vec<Provider>) -> (Vec<Provider>, Vec<Unavailable>) {
    let is_pending_fallback =
        |provider: &Provider| provider.fallback_for.is_some() && provider.state.borrow().is_pending();
    if providers.iter().all(|provider| provider.fallback_for.is_some()) {
        return (providers, vec![]);
    }
    let (pending, rest): (Vec<_>, Vec<_>) = providers.into_iter().partition(is_pending_fallback);
    (rest, pending.iter().map(not_ready).collect())
}

/// What to say of a provider that isn't ready.
pub(crate) fn not_ready(provider: &Provider) -> Unavailable {
    let (reason, message) = match &*provider.state.borrow() {
        ServerState::Restarting(down) => return Unavailable::down(provider.kind.as_str(), down),
        ServerState::Indexing { .. } => ("indexing", "the language server is still indexing"),
        _ => ("starting", "the language server is still starting"),
    };
    Unavailable::new(provider.kind.as_str(), reason, message, "codeyard doctor")
}
