//! Who stands in for language servers that aren't there, or aren't ready: the embedded one, which answers by name.
//!
//! It chooses nobody; `providers` does. Invariants: where a language has a server of its own that is ready, nobody stands in for it; an
//! answer of a stand-in is marked with the languages that it stands in for, and holds nothing of others.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::execution::Provider;
use crate::providers::Plan;
use crate::server_state::{ServerState, Unavailable};
use crate::workspace_setup::Servers;
use codeyard_lsp::convert::RawAnswer;
use codeyard_model::query::{GatedQuery, Query};

/// For whom somebody stands in.
pub struct StandsFor {
    /// Language ids.
    pub languages: BTreeSet<String>,
    /// Says of which language a file is.
    pub servers: Arc<Servers>,
}

impl StandsFor {
    /// Leaves out what is of other languages, where an answer may hold such.
    pub fn keep_own(&self, answer: &mut RawAnswer) {
        if let RawAnswer::WorkspaceSymbols(symbols) = answer {
            symbols.retain(|symbol| {
                // A file's language is told by its name, which stands at the end of a URI as of a path.
                let language = self.servers.index.language_of(Path::new(&*symbol.uri));
                language.is_some_and(|language| self.languages.contains(language))
            });
        }
    }
}

/// Whether nobody can stand in for who answers this: what is wrong with code isn't seen by names, and what was found by name isn't
/// confirmed by name.
pub(crate) fn is_beyond_names(query: &GatedQuery) -> bool {
    matches!(query, Query::DocumentDiagnostics { .. } | Query::WorkspaceDiagnostics { .. } | Query::Declarations { .. })
}

/// The plan without those who stand in.
pub(crate) fn without(plan: &Arc<Plan>) -> Arc<Plan> {
    if !plan.choices.iter().any(|choice| choice.stands_in()) && plan.standbys.is_empty() {
        return plan.clone();
    }
    let mut plan = Plan::clone(plan);
    plan.choices.retain(|choice| !choice.stands_in());
    (plan.by_name, plan.standbys) = Default::default();
    Arc::new(plan)
}

/// Without stand-ins that aren't ready, where somebody answers who is no stand-in; and why they don't.
pub(crate) fn without_late(providers: Vec<Provider>) -> (Vec<Provider>, Vec<Unavailable>) {
    let is_late = |provider: &Provider| provider.stands_for.is_some() && provider.state.borrow().is_pending();
    if providers.iter().all(|provider| provider.stands_for.is_some()) {
        return (providers, vec![]);
    }
    let (late, rest): (Vec<_>, Vec<_>) = providers.into_iter().partition(is_late);
    (rest, late.iter().map(not_ready).collect())
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
