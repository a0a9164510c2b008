//! An operation of the tool `lsp`, put to all servers of a file or of the workspace at once (decisions §4).
//!
//! Callers and callees take two steps: the functions at the position, then the calls of each. Invariants: the answers keep the
//! servers' order; a server that gives none is named; a linter that lets everybody wait is left behind shortly before the deadline if
//! another server has answered, and the answer says so and isn't kept as a whole one. A language's main server is never left behind:
//! without it the list would be one of which nobody knows what is missing. Where it has failed, that there is nothing isn't for
//! linters to say.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use crate::limits::LATE_SERVER_MS;
use crate::query::collected::Collected;
use crate::query::provider::Provider;
use crate::query::provider_call::{ProviderFailure, RequestContext};
use crate::query::query_operation::QueryOperation;
use crate::status::server_state::{ServerState, UNSUPPORTED, Unavailable};
use codeyard_base::clock::{Deadline, Instant};
use codeyard_model::error::ToolError;
use codeyard_model::operation::{LspQuery, Operation, QuerySubject};
use codeyard_model::query::{GatedQuery, Query};

/// What all servers said.
pub(crate) enum OperationOutcome<A> {
    /// At least one answered.
    Answers(Collected<A>),
    /// None did, for these reasons.
    None(Vec<Unavailable>),
    /// A server was stopped on purpose meanwhile: begin again.
    BeginAgain,
    /// The call as a whole fails.
    Failed(ToolError),
}

/// What came of asking one provider.
enum ProviderOutcome<A> {
    /// Nothing yet.
    Open,
    Answer(A),
    Nothing(Unavailable),
    /// It only adds to others, and adds nothing here.
    Unasked,
}

/// Asks all `providers` for `operation`, which is of this `kind`; `unavailable` are known to give no answer.
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
    let mut outcomes: Vec<ProviderOutcome<O::Answer>> = providers.iter().map(|_| ProviderOutcome::Open).collect();
    let late = tokio::time::sleep_until(linter_cutoff(context.deadline));
    tokio::pin!(late);
    let mut is_late = false;
    while !(running.is_empty() || is_late && is_enough(providers, &outcomes)) {
        tokio::select! {
            biased;
            Some((at, outcome)) = running.next() => {
                let provider = &providers[at];
                outcomes[at] = match outcome {
                    Ok(answer) => ProviderOutcome::Answer(answer),
                    Err(ProviderFailure::Unsupported) if provider.is_linter => ProviderOutcome::Unasked,
                    Err(ProviderFailure::Unsupported) => ProviderOutcome::Nothing(Unavailable::unsupported(provider.kind.as_str())),
                    Err(ProviderFailure::Unavailable(why)) => ProviderOutcome::Nothing(why),
                    Err(ProviderFailure::Stopped) => return OperationOutcome::BeginAgain,
                    Err(ProviderFailure::Failed(error)) => return OperationOutcome::Failed(error),
                };
            }
            () = &mut late, if !is_late => is_late = true,
        }
    }
    collected::<O>(providers, unavailable, kind, outcomes)
}

/// Whether what there is may be served without those who haven't answered: they are linters, and somebody has.
fn is_enough<A>(providers: &[Provider], outcomes: &[ProviderOutcome<A>]) -> bool {
    let mut mains = providers.iter().zip(outcomes).filter(|(provider, _)| !provider.is_linter);
    outcomes.iter().any(|outcome| matches!(outcome, ProviderOutcome::Answer(_)))
        && mains.all(|(_, outcome)| !matches!(outcome, ProviderOutcome::Open))
}

/// What was said, in the providers' order. Those who haven't answered are left behind.
fn collected<O: QueryOperation>(
    providers: &[Provider],
    unavailable: &[Unavailable],
    operation: Operation,
    outcomes: Vec<ProviderOutcome<O::Answer>>,
) -> OperationOutcome<O::Answer> {
    let failed = |why: &Unavailable| why.to_error().with("operation", operation.as_str());
    let mut answers = Vec::new();
    let mut passed_over = unavailable.to_vec();
    let mut is_partial = false;
    let mut is_answered = false;
    let mut failure = None;
    let mut is_cut = false;
    let mut by_name = BTreeSet::new();
    let missing = unavailable.iter().find(|why| !why.kind.is_empty()).map(failed);
    for (provider, outcome) in providers.iter().zip(outcomes) {
        match outcome {
            ProviderOutcome::Answer(answer) => {
                is_answered |= !provider.is_linter;
                is_cut |= O::is_capped(provider, &answer);
                by_name.extend(provider.by_name());
                answers.push(answer);
            }
            ProviderOutcome::Nothing(why) => {
                if !provider.is_linter && why.reason != UNSUPPORTED {
                    failure = failure.or_else(|| Some(failed(&why)));
                }
                passed_over.push(why);
            }
            ProviderOutcome::Unasked => {}
            ProviderOutcome::Open => {
                is_partial = true;
                passed_over.push(not_in_time(provider));
            }
        }
    }
    if answers.is_empty() {
        return OperationOutcome::None(passed_over);
    }
    // That a language has no server at all is nobody's failure.
    passed_over.retain(|why| !why.kind.is_empty());
    // In the whole workspace each language counts: where the server of one has fallen, nobody knows that there is nothing.
    let if_nothing = match operation {
        Operation::WorkspaceSymbol if failure.is_some() => failure,
        _ => missing.or(failure).filter(|_| !is_answered),
    };
    OperationOutcome::Answers(Collected {
        answers,
        answered_by: None,
        passed_over,
        is_partial,
        is_cut,
        by_name,
        if_nothing,
    })
}

/// Whether symbols of the workspace are asked for: all languages have a part in the answer.
pub fn asks_for_name(query: &GatedQuery) -> bool {
    matches!(query, Query::Lsp(LspQuery { subject: QuerySubject::Name(_), .. }))
}

/// When whoever has answered is enough, for who must be answered by `deadline`.
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
