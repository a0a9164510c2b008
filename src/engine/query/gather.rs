//! Asks the providers of a query and collects their answers, by the policy of the query.
//!
//! Invariants: the answers keep the order of the providers. A provider that gives no answer is named, unless it is a linter that doesn't
//! support the request. A linter that hasn't answered shortly before the deadline of a call of the tool `lsp` is left out if another
//! provider has answered; such an answer is marked partial and not retained as complete (`docs/internals/reference/contract-agent.md#several-servers`). A main
//! server is never left out, because the list without it would look complete. If it failed, the empty answer of a linter is an error.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use crate::limits::LATE_SERVER_MS;
use crate::query::collected::{Collected, none_available};
use crate::query::coverage;
use crate::query::no_answer::{NoAnswer, ProviderFailure};
use crate::query::provider::Provider;
use crate::query::provider_call::RequestContext;
use crate::query::query_operation::QueryOperation;
use crate::status::server_state::{ServerState, Unavailable};
use codeyard_base::clock::{Deadline, Instant};
use codeyard_lsp::convert::ReplyEntries;
use codeyard_model::error::ToolError;
use codeyard_model::operation::{LspQuery, Operation, QuerySubject};
use codeyard_model::query::{GatedQuery, Query};

/// Which providers' answers make the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatherPolicy {
    /// The document's own providers one after the other, in the registry's order, until an answer isn't empty; companions meanwhile.
    First,
    /// All servers of the workspace; those that can't answer are named.
    EveryServer,
    /// All servers of the document; one that can't answer fails the call, because a list without its entries would look complete.
    AllOrNone,
    /// All servers of the document or of the workspace; late linters are left out and named.
    Tool(Operation),
}

impl GatherPolicy {
    /// Whether the answer is due although some providers haven't answered, and a failure of the whole call ends it at once.
    fn is_urgent(self) -> bool {
        matches!(self, Self::Tool(_))
    }

    /// The error of a call that this provider fails.
    fn error(self, why: &Unavailable) -> ToolError {
        self.with_operation(why.to_error())
    }

    fn with_operation(self, error: ToolError) -> ToolError {
        match self {
            Self::Tool(operation) => error.with("operation", operation.as_str()),
            Self::First | Self::EveryServer | Self::AllOrNone => error,
        }
    }
}

/// What each provider gave, in their order; `None`: nothing yet.
type Outcomes<A> = Vec<Option<Result<A, ProviderFailure>>>;

/// The providers of a query, and how they are asked.
pub(crate) struct Gathering<'a> {
    pub(crate) policy: GatherPolicy,
    pub(crate) providers: &'a [Provider],
    /// Those that are known to give no answer.
    pub(crate) unavailable: &'a [Unavailable],
    pub(crate) context: RequestContext<'a>,
}

impl Gathering<'_> {
    /// The answers of the providers to `operation`.
    pub(crate) async fn run<O: QueryOperation>(&self, operation: &O) -> Result<Collected<O::Answer>, NoAnswer> {
        self.collected::<O>(self.ask(operation).await)
    }

    /// Asks the providers until all have answered, or until the answer is due.
    async fn ask<O: QueryOperation>(&self, operation: &O) -> Outcomes<O::Answer> {
        let mut running: FuturesUnordered<_> =
            self.turns().into_iter().map(|turn| self.ask_in_turn(turn, operation)).collect();
        let mut outcomes: Outcomes<O::Answer> = self.providers.iter().map(|_| None).collect();
        loop {
            // A call that still waits must be answered soon. While none waits, nothing is left out.
            let cutoff = self.context.callers.next().filter(|_| self.policy.is_urgent()).map(linter_cutoff);
            let is_late = cutoff.is_some_and(|cutoff| Instant::now() >= cutoff);
            if running.is_empty() || is_late && self.is_enough(&outcomes) {
                return outcomes;
            }
            let until =
                if is_late { self.context.callers.deadline().instant() } else { cutoff.unwrap_or_else(Instant::now) };
            tokio::select! {
                biased;
                Some(answered) = running.next() => {
                    for (at, outcome) in answered {
                        let ends = self.policy.is_urgent() && matches!(outcome, Err(ProviderFailure::Query(_)));
                        outcomes[at] = Some(outcome);
                        if ends {
                            return outcomes;
                        }
                    }
                }
                () = self.context.callers.joined() => {}
                () = tokio::time::sleep_until(until), if cutoff.is_some() => {}
            }
        }
    }

    /// The providers, as positions; those of one list are asked one after the other, the lists all at once.
    fn turns(&self) -> Vec<Vec<usize>> {
        let all = 0..self.providers.len();
        if self.policy != GatherPolicy::First {
            return all.map(|at| vec![at]).collect();
        }
        let (companions, own): (Vec<usize>, Vec<usize>) = all.partition(|at| self.providers[*at].is_companion);
        std::iter::once(own).chain(companions.into_iter().map(|at| vec![at])).collect()
    }

    /// Asks these providers one after the other until an answer isn't empty.
    async fn ask_in_turn<O: QueryOperation>(
        &self,
        turn: Vec<usize>,
        operation: &O,
    ) -> Vec<(usize, Result<O::Answer, ProviderFailure>)> {
        let mut outcomes = Vec::new();
        for at in turn {
            let outcome = operation.ask(&self.providers[at], self.context).await;
            let is_last = match &outcome {
                Ok(answer) => answer.entries() > 0,
                Err(ProviderFailure::Query(_)) => true,
                Err(ProviderFailure::Unavailable(_)) => false,
            };
            outcomes.push((at, outcome));
            if is_last {
                break;
            }
        }
        outcomes
    }

    /// Whether the answers may be served now: at least one provider has answered, and all that haven't are linters.
    fn is_enough<A>(&self, outcomes: &Outcomes<A>) -> bool {
        let mut mains = self.providers.iter().zip(outcomes).filter(|(provider, _)| !provider.is_linter);
        outcomes.iter().any(|outcome| matches!(outcome, Some(Ok(_)))) && mains.all(|(_, outcome)| outcome.is_some())
    }

    /// Which of the document's own providers gives the answer if only one counts: the first that isn't empty, or else the first.
    fn first<A: ReplyEntries>(&self, outcomes: &Outcomes<A>) -> Option<usize> {
        let own = |at: &usize| !self.providers[*at].is_companion;
        let answers = || {
            let answers = outcomes.iter().enumerate();
            answers.filter_map(|(at, outcome)| Some((at, outcome.as_ref()?.as_ref().ok()?))).filter(|(at, _)| own(at))
        };
        let found = answers().find(|(_, answer)| answer.entries() > 0).or_else(|| answers().next());
        found.map(|(at, _)| at)
    }

    fn collected<O: QueryOperation>(&self, outcomes: Outcomes<O::Answer>) -> Result<Collected<O::Answer>, NoAnswer> {
        let is_first_only = self.policy == GatherPolicy::First;
        let first = if is_first_only { self.first(&outcomes) } else { None };
        let mut collected = Collected::complete(vec![], self.unavailable.to_vec());
        let mut failure = None;
        let mut is_answered = false;
        let mut of_companions = Vec::new();
        let mut end_of_companion = None;
        for (at, (provider, outcome)) in self.providers.iter().zip(outcomes).enumerate() {
            // The answer of a companion adds to the one that counts.
            let is_added = is_first_only && provider.is_companion;
            match outcome {
                Some(Ok(answer)) => {
                    is_answered |= !provider.is_linter;
                    collected.known_files.extend(coverage::of_answer(provider, O::undecided(&answer)));
                    if self.policy.is_urgent() {
                        collected.is_cut |= O::is_capped(provider, &answer);
                        collected.is_partial |= O::is_late(&answer);
                    }
                    if !is_first_only || is_added || first == Some(at) {
                        collected.by_name.extend(provider.by_name());
                        collected.answers.push(answer);
                    }
                }
                Some(Err(ProviderFailure::Query(end))) if is_added => {
                    end_of_companion = end_of_companion.or(Some(end));
                }
                Some(Err(ProviderFailure::Query(end))) => return Err(end),
                Some(Err(ProviderFailure::Unavailable(why))) => match self.policy {
                    GatherPolicy::AllOrNone if !why.is_unsupported() => return Err(why.to_error().into()),
                    GatherPolicy::AllOrNone => collected.skipped.push(why),
                    _ if why.is_unsupported() && provider.is_linter => {}
                    _ if is_added => of_companions.push(why),
                    _ => {
                        if !provider.is_linter && !why.is_unsupported() {
                            failure = failure.or_else(|| Some(self.policy.error(&why)));
                        }
                        collected.skipped.push(why);
                    }
                },
                None if self.policy.is_urgent() => {
                    collected.is_partial = true;
                    collected.skipped.push(not_in_time(provider));
                }
                // An earlier one's answer counts.
                None => {}
            }
        }
        self.check_enough(&collected, first)?;
        if let Some(end) = end_of_companion {
            return Err(end);
        }
        collected.answered_by = first.map(|at| self.providers[at].kind.clone());
        collected.error_if_empty = self.error_if_empty(failure, is_answered);
        collected.skipped.extend(of_companions);
        // A language without any server is not a failure.
        collected.skipped.retain(|why| !why.kind.is_empty() && self.policy != GatherPolicy::AllOrNone);
        Ok(collected)
    }

    /// Whether the answers that the policy needs are there.
    ///
    /// # Errors
    /// Why they aren't.
    fn check_enough<A>(&self, collected: &Collected<A>, first: Option<usize>) -> Result<(), NoAnswer> {
        let is_missing = match (self.policy, self.unavailable.first()) {
            (GatherPolicy::AllOrNone, Some(why)) => return Err(why.to_error().into()),
            (GatherPolicy::First, _) => first.is_none(),
            _ => collected.answers.is_empty(),
        };
        if is_missing { Err(self.policy.with_operation(none_available(&collected.skipped)).into()) } else { Ok(()) }
    }

    /// The error of the call if the result is empty: the providers that answered can't prove that nothing exists. `failure` is the first one
    /// of a main server, and `is_answered` says whether another one has answered.
    fn error_if_empty(&self, failure: Option<ToolError>, is_answered: bool) -> Option<ToolError> {
        let first = |is: fn(&&Unavailable) -> bool| self.unavailable.iter().find(is).map(|why| self.policy.error(why));
        let crashed = first(|why| why.has_failed());
        match self.policy {
            GatherPolicy::First | GatherPolicy::AllOrNone => None,
            // A search of the whole workspace needs every language: if the server of one failed, an empty result proves nothing.
            GatherPolicy::EveryServer => failure.or(crashed),
            GatherPolicy::Tool(Operation::WorkspaceSymbol) if failure.is_some() || crashed.is_some() => {
                failure.or(crashed)
            }
            GatherPolicy::Tool(_) => first(|why| !why.kind.is_empty()).or(failure).filter(|_| !is_answered),
        }
    }
}

/// Whether the query searches the symbols of the workspace by name. Servers of all languages answer it.
pub(crate) fn is_symbol_search(query: &GatedQuery) -> bool {
    matches!(query, Query::Lsp(LspQuery { subject: QuerySubject::Name(_), .. }))
}

/// When a call with this deadline stops waiting for linters.
pub(crate) fn linter_cutoff(deadline: Deadline) -> Instant {
    deadline.earlier(Duration::from_millis(LATE_SERVER_MS)).instant()
}

fn not_in_time(provider: &Provider) -> Unavailable {
    let (reason, message) = match &*provider.state.borrow() {
        ServerState::Restarting(down) => return Unavailable::down(provider.kind.as_str(), down),
        ServerState::Starting => ("starting", "the language server is still starting"),
        ServerState::Indexing { .. } => ("indexing", "the language server is still indexing"),
        _ => ("timeout", "the language server did not answer in time"),
    };
    Unavailable::new(provider.kind.as_str(), reason, message, "codeyard doctor")
}
