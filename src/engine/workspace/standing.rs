//! From a plan to those who are asked: its providers, and who stands in for those that aren't there or aren't ready.

use std::collections::BTreeSet;

use actix::prelude::*;

use super::*;
use crate::execution::Provider;
use crate::operation::{self, asks_for_name};
use crate::providers::Choice;
use crate::server_state::{ServerState, Unavailable};
use crate::stand_in::{self, StandsFor};
use codeyard_base::ids::ServerKind;

impl Workspace {
    /// The providers of a plan, started where they weren't, and why some of them aren't asked.
    pub(super) fn providers(
        &mut self,
        plan: &Plan,
        query: &GatedQuery,
        deadline: Deadline,
        ctx: &mut Context<Self>,
    ) -> (Vec<Provider>, Vec<Unavailable>) {
        let choices = plan.choices.iter().map(|choice| {
            let languages = choice.stands_in().then(|| plan.by_name.clone());
            self.provider(choice, languages, ctx)
        });
        let mut providers: Vec<Provider> = choices.collect();
        let mut left_out = plan.unavailable.clone();
        if query.uri().is_none() {
            let (rest, late) = stand_in::without_late(providers);
            providers = rest;
            left_out.extend(late);
        }
        if asks_for_name(query) && Instant::now() >= operation::last_moment(deadline) {
            let (rest, failing) = without_failing(providers);
            providers = rest;
            left_out.extend(failing);
        }
        (providers, left_out)
    }

    /// Who stands in for providers that aren't ready; what must be waited for where nobody can, or can't yet.
    pub(super) fn standbys(
        &mut self,
        plan: &Plan,
        pending: &[&Provider],
        ctx: &mut Context<Self>,
    ) -> Result<Vec<Provider>, Wait> {
        let states: Vec<_> = pending.iter().map(|provider| provider.state.clone()).collect();
        if plan.standbys.is_empty() {
            return Err(Wait::Servers(states));
        }
        let languages = plan.languages_of(pending);
        let standbys = plan.standbys.iter().map(|choice| self.provider(choice, Some(languages.clone()), ctx));
        let standbys: Vec<Provider> = standbys.collect();
        if standbys.iter().any(|standby| standby.state.borrow().is_pending()) {
            let all = states.into_iter().chain(standbys.iter().map(|standby| standby.state.clone()));
            return Err(Wait::Any(all.collect()));
        }
        Ok(standbys)
    }

    /// Whether those who stood in for a retained answer would still do so.
    pub(super) fn still_stands(&mut self, snapshot: &Snapshot, query: &GatedQuery) -> bool {
        let by_name = &snapshot.result().notes().by_name;
        by_name.is_empty()
            || self.plan(query).is_ok_and(|plan| {
                !plan.standbys.is_empty() || by_name.iter().all(|language| plan.by_name.contains(language))
            })
    }

    fn provider(&mut self, choice: &Choice, stands_for: Option<BTreeSet<String>>, ctx: &mut Context<Self>) -> Provider {
        let servers = self.setup.servers.clone();
        let is_linter = choice.is_linter();
        let child = self.child(choice, ctx);
        Provider {
            kind: ServerKind::new(&choice.key.kind),
            server: child.actor.clone(),
            state: child.state.clone(),
            is_linter,
            symbols_max: choice.server.quirks.symbols_max,
            stands_for: stands_for.map(|languages| Arc::new(StandsFor { languages, servers })),
        }
    }
}

/// Those who may answer yet, if there are any, and why the others don't: they have failed, and the next start hasn't brought them
/// back in time.
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
