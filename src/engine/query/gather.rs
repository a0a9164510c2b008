//! Sends an operation of the tool `lsp` to all servers of a file or of the workspace at once
//! (`docs/internals/reference/contract-agent.md#several-servers`).
//!
//! Invariants: the answers keep the order of the servers. A server that gives no answer is named. A linter that hasn't answered shortly
//! before the deadline of a call is left out if another server has answered; such an answer is marked partial and not retained as complete. A main
//! server is never left out, because the list without it would look complete. If it failed, the empty answer of a linter is an error.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use crate::limits::LATE_SERVER_MS;
use crate::query::collected::Collected;
use crate::query::coverage;
use crate::query::provider::Provider;
use crate::query::provider_call::{ProviderFailure, RequestContext};
use crate::query::query_operation::QueryOperation;
use crate::status::server_state::{ServerState, UNSUPPORTED, Unavailable};
use codeyard_base::clock::{Deadline, Instant};
use codeyard_model::error::ToolError;
use codeyard_model::operation::{LspQuery, Operation, QuerySubject};
use codeyard_model::query::{GatedQuery, Query};

/// The outcome of all servers.
pub(crate) enum OperationOutcome<A> {
    /// At least one answered.
    Answers(Collected<A>),
    /// None answered, for these reasons.
    None(Vec<Unavailable>),
    /// A server was stopped on purpose meanwhile: start the query again.
    ServerStopped,
    /// The whole call fails.
    Failed(ToolError),
}

/// The outcome of one provider.
enum ProviderOutcome<A> {
    /// It hasn't answered yet.
    Pending,
    /// Its answer.
    Answer(A),
    /// It gave no answer.
    Failed(Unavailable),
    /// It is a linter that doesn't support the operation; it is not named.
    Skipped,
}

/// Sends `operation`, which is of this `kind`, to all `providers`. The providers in `unavailable` are known to give no answer.
pub(crate) async fn gather<O: QueryOperation>(
    providers: &[Provider],
    unavailable: &[Unavailable],
    kind: Operation,
    operation: &O,
    context: RequestContext<'_>,
) -> OperationOutcome<O::Answer> {
    let mut running: FuturesUnordered<_> = providers
        .iter()
        .enumerate()
        .map(|(at, provider)| async move { (at, operation.ask(provider, context).await) })
        .collect();
    let mut outcomes: Vec<ProviderOutcome<O::Answer>> = providers.iter().map(|_| ProviderOutcome::Pending).collect();
    loop {
        // A call that still waits must be answered soon. While none waits, nothing is left out.
        let cutoff = context.callers.next().map(linter_cutoff);
        let is_late = cutoff.is_some_and(|cutoff| Instant::now() >= cutoff);
        if running.is_empty() || is_late && is_enough(providers, &outcomes) {
            break;
        }
        let until = if is_late { context.callers.deadline().instant() } else { cutoff.unwrap_or_else(Instant::now) };
        tokio::select! {
            biased;
            Some((at, outcome)) = running.next() => {
                let provider = &providers[at];
                outcomes[at] = match outcome {
                    Ok(answer) => ProviderOutcome::Answer(answer),
                    Err(ProviderFailure::Unsupported) if provider.is_linter => ProviderOutcome::Skipped,
                    Err(ProviderFailure::Unsupported) => ProviderOutcome::Failed(Unavailable::unsupported(provider.kind.as_str())),
                    Err(ProviderFailure::Unavailable(why)) => ProviderOutcome::Failed(why),
                    Err(ProviderFailure::Stopped) => return OperationOutcome::ServerStopped,
                    Err(ProviderFailure::Failed(error)) => return OperationOutcome::Failed(error),
                };
            }
            () = context.callers.joined() => {}
            () = tokio::time::sleep_until(until), if cutoff.is_some() => {}
        }
    }
    collected::<O>(providers, unavailable, kind, outcomes)
}

/// Whether the answers may be served now: at least one provider has answered, and all that haven't are linters.
fn is_enough<A>(providers: &[Provider], outcomes: &[ProviderOutcome<A>]) -> bool {
    let mut mains = providers.iter().zip(outcomes).filter(|(provider, _)| !provider.is_linter);
    outcomes.iter().any(|outcome| matches!(outcome, ProviderOutcome::Answer(_)))
        && mains.all(|(_, outcome)| !matches!(outcome, ProviderOutcome::Pending))
}

/// The outcome of all providers, in their order. Providers that haven't answered are left out.
fn collected<O: QueryOperation>(
    providers: &[Provider],
    unavailable: &[Unavailable],
    operation: Operation,
    outcomes: Vec<ProviderOutcome<O::Answer>>,
) -> OperationOutcome<O::Answer> {
    let failed = |why: &Unavailable| why.to_error().with("operation", operation.as_str());
    let mut answers = Vec::new();
    let mut skipped = unavailable.to_vec();
    let mut is_partial = false;
    let mut is_answered = false;
    let mut failure = None;
    let mut is_cut = false;
    let mut by_name = BTreeSet::new();
    let mut known_files = Vec::new();
    let crashed = unavailable.iter().find(|why| why.has_failed()).map(failed);
    let missing = unavailable.iter().find(|why| !why.kind.is_empty()).map(failed);
    for (provider, outcome) in providers.iter().zip(outcomes) {
        match outcome {
            ProviderOutcome::Answer(answer) => {
                is_answered |= !provider.is_linter;
                is_cut |= O::is_capped(provider, &answer);
                is_partial |= O::is_late(&answer);
                by_name.extend(provider.by_name());
                known_files.extend(coverage::of_answer(provider, O::undecided(&answer)));
                answers.push(answer);
            }
            ProviderOutcome::Failed(why) => {
                if !provider.is_linter && why.reason != UNSUPPORTED {
                    failure = failure.or_else(|| Some(failed(&why)));
                }
                skipped.push(why);
            }
            ProviderOutcome::Skipped => {}
            ProviderOutcome::Pending => {
                is_partial = true;
                skipped.push(not_in_time(provider));
            }
        }
    }
    if answers.is_empty() {
        return OperationOutcome::None(skipped);
    }
    // A language without any server is not a failure.
    skipped.retain(|why| !why.kind.is_empty());
    // A search of the whole workspace needs every language: if the server of one failed, an empty result proves nothing.
    let error_if_empty = match operation {
        Operation::WorkspaceSymbol if failure.is_some() || crashed.is_some() => failure.or(crashed),
        _ => missing.or(failure).filter(|_| !is_answered),
    };
    OperationOutcome::Answers(Collected {
        answers,
        answered_by: None,
        skipped,
        is_partial,
        is_cut,
        by_name,
        known_files,
        error_if_empty,
    })
}

/// Whether the query searches the symbols of the workspace by name. Servers of all languages answer it.
pub fn is_symbol_search(query: &GatedQuery) -> bool {
    matches!(query, Query::Lsp(LspQuery { subject: QuerySubject::Name(_), .. }))
}

/// When a call with this deadline stops waiting for linters.
pub fn linter_cutoff(deadline: Deadline) -> Instant {
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
