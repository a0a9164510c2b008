//! Selects the providers of a plan, and fallbacks for servers that are missing or not ready.

use std::collections::BTreeSet;
use std::sync::Arc;

use actix::prelude::*;

use crate::query::gather::is_symbol_search;
use crate::query::plan::{Choice, Plan};
use crate::query::provider::{FallbackFor, Provider, ProviderProjects};
use crate::query::{fallback, gather, operations};
use crate::status::server_state::{ServerState, Unavailable};
use crate::workspace::actor::Workspace;
use crate::workspace::messages::Wait;
use codeyard_base::clock::{Deadline, Instant};
use codeyard_base::ids::ServerKind;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::registry::{FallbackMode, MultiRoot};
use codeyard_model::query::GatedQuery;
use codeyard_paging::Snapshot;

impl Workspace {
    /// The providers of a plan, started where necessary, and the reasons for those that are left out.
    pub(super) fn providers(
        &mut self,
        plan: &Plan,
        query: &GatedQuery,
        deadline: Deadline,
        ctx: &mut Context<Self>,
    ) -> (Vec<Provider>, Vec<Unavailable>) {
        let choices = plan.choices.iter().map(|choice| {
            let languages = choice.is_fallback().then(|| plan.by_name.clone());
            self.provider(choice, languages, ctx)
        });
        let mut providers: Vec<Provider> = choices.collect();
        let mut left_out = plan.unavailable.clone();
        if query.uri().is_none() {
            let (rest, late) = fallback::without_pending_fallbacks(providers);
            providers = rest;
            left_out.extend(late);
        }
        if is_symbol_search(query) && Instant::now() >= gather::linter_cutoff(deadline) {
            let (rest, failing) = without_failing(providers);
            providers = rest;
            left_out.extend(failing);
        }
        (providers, left_out)
    }

    /// The fallbacks for providers that aren't ready. `Err`: there is no fallback, or it isn't ready either; what to wait for.
    pub(super) fn fallbacks(
        &mut self,
        plan: &Plan,
        pending: &[&Provider],
        ctx: &mut Context<Self>,
    ) -> Result<Vec<Provider>, Wait> {
        let states = || pending.iter().map(|provider| provider.state.clone());
        if plan.fallbacks.is_empty() || self.setup.selection.fallback != FallbackMode::UntilReady {
            return Err(Wait::Servers(states().collect()));
        }
        let fallbacks = self.fallbacks_for(plan, pending, ctx);
        if fallbacks.iter().any(|fallback| fallback.state.borrow().is_pending()) {
            let all = states().chain(fallbacks.iter().map(|fallback| fallback.state.clone()));
            return Err(Wait::Any(all.collect()));
        }
        Ok(fallbacks)
    }

    /// The fallbacks for servers that refused the method of a query before. `Err`: what to wait for.
    pub(super) fn fallbacks_for_refusing(
        &mut self,
        plan: &Plan,
        providers: &[Provider],
        query: &GatedQuery,
        document: Option<&DocumentInput>,
        ctx: &mut Context<Self>,
    ) -> Result<Vec<Provider>, Wait> {
        let has_fallback = providers.iter().any(|provider| provider.fallback_for.is_some());
        let may_refuse =
            |provider: &Provider| !provider.refused.is_empty() || provider.spec.quirks.symbols_min_chars > 0;
        if has_fallback || plan.fallbacks.is_empty() || !providers.iter().any(may_refuse) {
            return Ok(vec![]);
        }
        let Some(request) = operations::first_request(query, document.cloned()) else { return Ok(vec![]) };
        let refusing = fallback::refusing(providers, query, request.method());
        if refusing.is_empty() {
            return Ok(vec![]);
        }
        let fallbacks = self.fallbacks_for(plan, &refusing, ctx);
        let starting = fallbacks.iter().filter(|fallback| fallback.state.borrow().is_pending());
        let starting: Vec<_> = starting.map(|fallback| fallback.state.clone()).collect();
        if starting.is_empty() { Ok(fallbacks) } else { Err(Wait::Servers(starting)) }
    }

    /// The fallbacks that answer in place of these providers.
    fn fallbacks_for(&mut self, plan: &Plan, replaced: &[&Provider], ctx: &mut Context<Self>) -> Vec<Provider> {
        let languages = plan.languages_of(replaced);
        plan.fallbacks.iter().map(|choice| self.provider(choice, Some(languages.clone()), ctx)).collect()
    }

    /// Whether the fallbacks of a retained answer would still be used.
    pub(super) fn fallback_still_applies(&mut self, snapshot: &Snapshot, query: &GatedQuery) -> bool {
        let by_name = &snapshot.result().notes().by_name;
        by_name.is_empty()
            || self.plan(query, None).is_ok_and(|plan| {
                let refuses = |choice: &Choice| {
                    let refuses = self.children.get(&choice.key).is_some_and(|child| !child.refused.is_empty());
                    refuses || choice.server.quirks.symbols_min_chars > 0
                };
                let until_ready = self.setup.selection.fallback == FallbackMode::UntilReady;
                !plan.fallbacks.is_empty() && (until_ready || plan.choices.iter().any(refuses))
                    || by_name.iter().all(|language| plan.by_name.contains(language))
            })
    }

    fn provider(
        &mut self,
        choice: &Choice,
        fallback_for: Option<BTreeSet<String>>,
        ctx: &mut Context<Self>,
    ) -> Provider {
        let servers = self.setup.servers.clone();
        let metrics = self.setup.shared.metrics.clone();
        let roots = Arc::new(choice.projects.clone());
        let is_linter = choice.is_linter();
        let child = self.child(choice, ctx);
        child.state.start().need();
        // Many queries need no linter in the end. If it counted as waited for, one that no query reaches would hold its memory for a
        // minute against servers that calls wait for.
        child.status.set_wanted(!is_linter);
        Provider {
            kind: ServerKind::new(&choice.key.kind),
            spec: choice.server.clone(),
            server: child.actor.clone(),
            state: child.state.clone(),
            turns: child.turns.clone(),
            refused: child.refused.clone(),
            begun: Arc::default(),
            metrics,
            is_linter,
            is_companion: choice.is_companion,
            fallback_for: fallback_for.map(|languages| Arc::new(FallbackFor { languages, servers: servers.clone() })),
            servers,
            projects: ProviderProjects {
                cell: child.status.projects().clone(),
                // Such a server answers across its projects.
                asked: (choice.multi_root != MultiRoot::ByFile).then(|| roots.clone()),
                roots,
            },
        }
    }
}

/// Leaves out the providers that have failed and were not restarted in time, with the reasons, unless all have failed.
fn without_failing(providers: Vec<Provider>) -> (Vec<Provider>, Vec<Unavailable>) {
    let failure = |provider: &Provider| match &*provider.state.borrow() {
        ServerState::Restarting(down) => Some(Unavailable::down(provider.kind.as_str(), down)),
        _ => None,
    };
    let failing: Vec<Unavailable> = providers.iter().filter_map(failure).collect();
    if failing.len() == providers.len() {
        return (providers, vec![]);
    }
    (providers.into_iter().filter(|provider| failure(provider).is_none()).collect(), failing)
}
