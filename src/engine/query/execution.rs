//! One execution of one question: ask the providers, canonicalise, hand the result to the workspace. Rows 8 to 10 of the way
//! of a request.
//!
//! An execution is a shared future: everybody who asks the same question at the same epochs holds a clone, and when the last
//! clone is dropped the whole of it is dropped, which cancels the requests at the language servers. It changes no state
//! itself: the workspace takes the result only if its epochs are still those the execution began with.

use std::sync::Arc;

use actix::Recipient;
use futures::future::{BoxFuture, FutureExt};

use crate::query::canonicalise::{Canonicalised, canonicalise};
use crate::query::collected::Collected;
use crate::query::gather::OperationOutcome;
use crate::query::known_files::ObservedFile;
use crate::query::messages::{ExecutionOutcome, Finish, Run};
use crate::query::provider::Provider;
use crate::query::provider_call::{ProviderFailure, RequestContext};
use crate::query::query_operation::{OperationHandler, ProviderRule, QueryOperation};
use crate::query::watch_slot::{FirstWalk, WatchSlot};
use crate::query::{gather, operations, position_check};
use crate::server::document::DocumentInput;
use crate::server::registry::IndexedRegistry;
use crate::server::request::LspRequest;
use crate::status::server_state::{UNSUPPORTED, Unavailable};
use codeyard_base::blocking;
use codeyard_base::clock::Deadline;
use codeyard_files::gate::Gate;
use codeyard_lsp::convert::ReplyEntries;
use codeyard_model::epoch::Epochs;
use codeyard_model::error::ToolError;
use codeyard_model::limits::Limits;
use codeyard_model::operation::Operation;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::CanonicalResult;
use codeyard_telemetry::RequestOrigin;

/// Above this many raw entries the canonicalisation runs on the blocking pool.
const INLINE_ENTRIES: usize = 500;

/// Everything an execution needs, taken at its beginning.
pub struct Execution {
    /// The question.
    pub query: Arc<GatedQuery>,
    /// The call that began it; its work is told of as that call's.
    pub asker: RequestOrigin,
    /// The document asked about, as on disk.
    pub document: Option<DocumentInput>,
    /// Who is asked, in order.
    pub providers: Vec<Provider>,
    /// Providers known to be unavailable before anybody is asked.
    pub unavailable: Vec<Unavailable>,
    /// Files that the providers serve; for the coverage of diagnostics.
    pub source_files: usize,
    /// All servers that are known.
    pub servers: Arc<IndexedRegistry>,
    /// The path gate.
    pub gate: Gate,
    /// The limits in force.
    pub limits: Limits,
    /// Takes the result.
    pub workspace: Recipient<Finish>,
    /// Sees what changed on disk meanwhile.
    pub slot: WatchSlot,
    /// The watcher's first walk, if it wasn't over at the beginning.
    pub walking: Option<FirstWalk>,
    /// The snapshot key at the beginning.
    pub snapshot_key: String,
    /// What was known to have changed by the beginning.
    pub seen: Epochs,
    /// The first asker's deadline.
    pub deadline: Deadline,
}

/// Why nothing was collected.
enum NoResult {
    /// It can't be answered.
    Failed(ToolError),
    /// A provider was stopped on purpose: the workspace gives another one.
    BeginAgain,
}

impl From<ToolError> for NoResult {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Runs the operation of an execution, whatever its type.
struct RunOperation(Execution);

impl OperationHandler for RunOperation {
    type Output = BoxFuture<'static, ExecutionOutcome>;

    fn handle<O: QueryOperation>(self, operation: O) -> Self::Output {
        self.0.run_operation(operation).boxed()
    }
}

impl Execution {
    /// Starts when first polled.
    pub fn share(self) -> Run {
        async move { self.run().await }.boxed().shared()
    }

    async fn run(self) -> ExecutionOutcome {
        let (query, document) = (self.query.clone(), self.document.clone());
        match operations::dispatch(&query, document, RunOperation(self)) {
            Some(running) => running.await,
            // The code index answers this query.
            None => ExecutionOutcome::Failed(ToolError::internal()),
        }
    }

    async fn run_operation<O: QueryOperation>(self, operation: O) -> ExecutionOutcome {
        let mut collected = match self.collect(&operation).await {
            Ok(collected) => collected,
            Err(NoResult::Failed(error)) => return ExecutionOutcome::Failed(error),
            Err(NoResult::BeginAgain) => return ExecutionOutcome::Changed,
        };
        let entries: usize = collected.answers.iter().map(ReplyEntries::entries).sum();
        let if_nothing = collected.if_nothing.take();
        let has_target = collected.answers.iter().any(O::has_target);
        let (gate, limits) = (self.gate.clone(), self.limits.clone());
        let total = self.source_files;
        let asker = self.asker.clone();
        let work = move || {
            let _timed = asker.canonicalise();
            canonicalise(&operation, &gate, &limits, collected, total)
        };
        let canonical = if entries <= INLINE_ENTRIES {
            work()
        } else {
            match blocking::spawn(work).await {
                Ok(result) => result,
                Err(_) => return ExecutionOutcome::Failed(ToolError::internal()),
            }
        };
        match canonical {
            Ok(Canonicalised { result, observed, outside }) => {
                self.asker.record_outside(outside);
                if let Some(error) = if_nothing.filter(|_| has_nothing(&result)) {
                    return ExecutionOutcome::Failed(error);
                }
                if let Some(error) = self.points_at_nothing(&result).filter(|_| !has_target) {
                    return ExecutionOutcome::Failed(error);
                }
                self.finish(result, observed).await
            }
            Err(error) => ExecutionOutcome::Failed(error),
        }
    }

    /// Why nothing was found, if that is the position's fault.
    fn points_at_nothing(&self, result: &CanonicalResult) -> Option<ToolError> {
        match (&*self.query, result, &self.document) {
            // What lies outside the roots was found all the same.
            (Query::Lsp(asked), CanonicalResult::Lsp(result), Some(document))
                if result.found.is_empty() && result.notes.outside == 0 =>
            {
                position_check::nothing_there(asked, document)
            }
            _ => None,
        }
    }

    async fn finish(self, result: CanonicalResult, observed: Vec<(CanonicalUri, ObservedFile)>) -> ExecutionOutcome {
        if let Some(walking) = self.walking {
            // It tells what has changed since before the servers were started.
            walking.await;
        }
        if let Some(subscription) = self.slot.get() {
            subscription.barrier().await;
        }
        let (query, snapshot_key, seen) = (self.query, self.snapshot_key, self.seen);
        let finish = Finish { query, snapshot_key, seen, result, observed };
        self.workspace.send(finish).await.unwrap_or_else(|_| ExecutionOutcome::Failed(ToolError::internal()))
    }

    async fn collect<O: QueryOperation>(&self, operation: &O) -> Result<Collected<O::Answer>, NoResult> {
        match operation.providers() {
            ProviderRule::First => self.collect_first(operation).await,
            ProviderRule::EveryServer => self.collect_everywhere(operation).await,
            ProviderRule::AllOrNone => self.collect_all_or_none(operation).await,
            ProviderRule::Tool(kind) => self.collect_tool(kind, operation).await,
        }
    }

    fn context(&self) -> RequestContext<'_> {
        RequestContext { gate: &self.gate, deadline: self.deadline, asker: &self.asker }
    }

    /// Navigation: the first answer that isn't empty, in order (decisions §3, "several servers").
    async fn collect_first<O: QueryOperation>(&self, operation: &O) -> Result<Collected<O::Answer>, NoResult> {
        let mut passed_over = self.unavailable.clone();
        let mut first: Option<(O::Answer, &Provider)> = None;
        for provider in &self.providers {
            match operation.ask(provider, self.context()).await {
                Ok(answer) if answer.entries() > 0 => {
                    first = Some((answer, provider));
                    break;
                }
                Ok(answer) => first = first.or(Some((answer, provider))),
                Err(ProviderFailure::Unsupported) if provider.is_linter => {}
                Err(ProviderFailure::Unsupported) => passed_over.push(Unavailable::unsupported(provider.kind.as_str())),
                Err(ProviderFailure::Unavailable(unavailable)) if provider.is_linter && first.is_some() => {
                    passed_over.push(unavailable);
                }
                Err(ProviderFailure::Unavailable(unavailable)) => passed_over.push(unavailable),
                Err(ProviderFailure::Stopped) => return Err(NoResult::BeginAgain),
                Err(ProviderFailure::Failed(error)) => return Err(error.into()),
            }
        }
        match first {
            Some((answer, provider)) => {
                let by_name = provider.by_name().collect();
                Ok(Collected {
                    answered_by: Some(provider.kind.clone()),
                    by_name,
                    ..Collected::whole(vec![answer], passed_over)
                })
            }
            None => Err(none_available(&passed_over).into()),
        }
    }

    /// An operation of the tool `lsp`: whoever can answer does.
    async fn collect_tool<O: QueryOperation>(
        &self,
        kind: Operation,
        operation: &O,
    ) -> Result<Collected<O::Answer>, NoResult> {
        match gather::gather(&self.providers, &self.unavailable, kind, operation, self.context()).await {
            OperationOutcome::Answers(collected) => Ok(collected),
            OperationOutcome::None(passed_over) => {
                let error = none_available(&passed_over).with("operation", kind.as_str());
                Err(self.with_alternatives(error, O::Request::METHOD).into())
            }
            OperationOutcome::BeginAgain => Err(NoResult::BeginAgain),
            OperationOutcome::Failed(error) => Err(error.into()),
        }
    }

    /// Names who would answer, where nobody that is there can.
    fn with_alternatives(&self, error: ToolError, method: &str) -> ToolError {
        let unsupported = error.details.get("reason").is_some_and(|reason| reason == UNSUPPORTED);
        let Some(document) = self.document.as_ref().filter(|_| unsupported) else { return error };
        let registry = &self.servers.registry;
        let offers = |kind: &&str| registry.servers[*kind].offers.iter().any(|offered| offered == method);
        let all = registry.servers_for(document.language.as_str());
        error.with("offeredBy", all.into_iter().filter(offers).collect::<Vec<_>>())
    }

    /// Diagnostics of a document: all active servers, or none (decisions §3).
    async fn collect_all_or_none<O: QueryOperation>(&self, operation: &O) -> Result<Collected<O::Answer>, NoResult> {
        let asked = self.providers.iter().map(|provider| async move {
            let outcome = operation.ask(provider, self.context()).await;
            (provider, outcome)
        });
        let mut answers = Vec::new();
        let mut unsupported_by = Vec::new();
        for (provider, outcome) in futures::future::join_all(asked).await {
            match outcome {
                Ok(answer) => answers.push(answer),
                Err(ProviderFailure::Unsupported) => {
                    unsupported_by.push(Unavailable::unsupported(provider.kind.as_str()))
                }
                Err(ProviderFailure::Unavailable(unavailable)) => return Err(unavailable.to_error().into()),
                Err(ProviderFailure::Stopped) => return Err(NoResult::BeginAgain),
                Err(ProviderFailure::Failed(error)) => return Err(error.into()),
            }
        }
        match (answers.is_empty(), self.unavailable.first()) {
            (_, Some(unavailable)) => Err(unavailable.to_error().into()),
            (true, None) => Err(none_available(&unsupported_by).into()),
            (false, None) => Ok(Collected::whole(answers, vec![])),
        }
    }

    /// Questions about the whole workspace: everybody is asked; who can't answer is named.
    async fn collect_everywhere<O: QueryOperation>(&self, operation: &O) -> Result<Collected<O::Answer>, NoResult> {
        let asked = self.providers.iter().map(|provider| async move {
            let outcome = operation.ask(provider, self.context()).await;
            (provider, outcome)
        });
        let mut collected = Collected::whole(vec![], self.unavailable.clone());
        for (provider, outcome) in futures::future::join_all(asked).await {
            match outcome {
                Ok(answer) => {
                    collected.answers.push(answer);
                    collected.by_name.extend(provider.by_name());
                }
                Err(ProviderFailure::Unsupported) if provider.is_linter => {}
                Err(ProviderFailure::Unsupported) => {
                    collected.passed_over.push(Unavailable::unsupported(provider.kind.as_str()))
                }
                Err(ProviderFailure::Unavailable(unavailable)) => collected.passed_over.push(unavailable),
                Err(ProviderFailure::Stopped) => return Err(NoResult::BeginAgain),
                Err(ProviderFailure::Failed(error)) => return Err(error.into()),
            }
        }
        if collected.answers.is_empty() {
            return Err(none_available(&collected.passed_over).into());
        }
        Ok(collected)
    }
}

fn has_nothing(result: &CanonicalResult) -> bool {
    matches!(result, CanonicalResult::Lsp(result) if result.found.is_empty())
}

fn none_available(passed_over: &[Unavailable]) -> ToolError {
    // A server that failed says more than one that was never installed.
    let failed = passed_over.iter().find(|unavailable| unavailable.reason != "not_installed");
    match failed.or(passed_over.first()) {
        Some(first) => first.to_error(),
        None => ToolError::provider_unavailable(
            "no_server",
            "no language server is known for the files of this workspace",
            "codeyard servers list",
        ),
    }
}
