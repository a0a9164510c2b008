//! Executes one query: sends it to the providers, makes the answers canonical, and sends the result to the workspace. These are rows 8 to
//! 10 of `docs/internals/architecture.md#the-path-of-a-request`.
//!
//! An execution is a shared future. All calls with the same query at the same epochs hold a clone, and one that takes longer than they wait
//! is held by [`long_questions`](crate::workspace::long_questions). Dropping the last clone drops the execution and cancels its requests at
//! the language servers. It changes no state: the workspace accepts the result only if its epochs are still the ones at the start of the
//! execution.

use std::sync::Arc;
use std::time::Duration;

use actix::Recipient;
use futures::future::{BoxFuture, FutureExt};

use crate::limits::{MAX_PREVIEW_BYTES, MIN_PREVIEW_MS};
use crate::query::callers::Callers;
use crate::query::canonicalise::{Canonicalised, canonicalise};
use crate::query::collected::{Collected, has_nothing, none_available};
use crate::query::commonjs::{ModuleCache, WorkspaceFiles};
use crate::query::file_looks::ObservedFile;
use crate::query::gather::OperationOutcome;
use crate::query::messages::{ExecutionOutcome, Finish, SharedExecution};
use crate::query::provider::Provider;
use crate::query::provider_call::{ProviderFailure, RequestContext};
use crate::query::query_operation::{OperationHandler, ProviderRule, QueryOperation};
use crate::query::watch_slot::{FirstWalk, WatchSlot};
use crate::query::{companions, coverage, gather, operations, position_check, previews};
use crate::server::document::DocumentInput;
use crate::server::registry::IndexedRegistry;
use crate::server::request::LspRequest;
use crate::status::server_state::Unavailable;
use codeyard_base::clock::Instant;
use codeyard_files::gate::Gate;
use codeyard_lsp::convert::ReplyEntries;
use codeyard_model::coverage::AnswerScope;
use codeyard_model::epoch::{Epochs, ResultEpochs};
use codeyard_model::error::ToolError;
use codeyard_model::limits::Limits;
use codeyard_model::operation::Operation;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::CanonicalResult;
use codeyard_telemetry::RequestOrigin;

/// The inputs of an execution, taken at its start.
pub struct Execution {
    /// The query.
    pub query: Arc<GatedQuery>,
    /// The call that started it; spans and metrics of the execution belong to that call.
    pub origin: RequestOrigin,
    /// The document of the query, as on disk.
    pub document: Option<DocumentInput>,
    /// The providers, in the order of the registry.
    pub providers: Vec<Provider>,
    /// Providers that are known to be unavailable at the start.
    pub unavailable: Vec<Unavailable>,
    /// Linters without their library and servers without their checker, each with its language.
    pub missing_linters: Vec<(String, Unavailable)>,
    /// Whether a fallback could answer for servers that don't support the operation.
    pub has_fallbacks: bool,
    /// Number of source files that the providers serve, for the coverage of diagnostics.
    pub source_files: usize,
    /// The registry of language servers.
    pub servers: Arc<IndexedRegistry>,
    /// The path gate.
    pub gate: Gate,
    /// The limits in force.
    pub limits: Limits,
    /// Receives the result.
    pub workspace: Recipient<Finish>,
    /// The watcher's subscription; it reports changes on disk during the execution.
    pub slot: WatchSlot,
    /// What earlier questions read of the modules of the workspace.
    pub modules: ModuleCache,
    /// The epochs at the start, which every query without a watcher raises.
    pub epochs: ResultEpochs,
    /// The epochs of files at the start, without the changes of language servers.
    pub file_epochs: Epochs,
    /// The watcher's first walk, if it hadn't ended at the start.
    pub first_walk: Option<FirstWalk>,
    /// The snapshot key at the start.
    pub snapshot_key: String,
    /// The epochs of the query's scope, seen at the start.
    pub seen: Epochs,
    /// The calls that wait for it.
    pub callers: Callers,
    /// When it began.
    pub began: Instant,
}

/// Why no answers were collected.
enum NoResult {
    /// The query can't be answered.
    Failed(ToolError),
    /// A provider was stopped on purpose: start the query again with another one.
    ServerStopped,
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
    /// The execution as a shared future. It starts when it is first polled.
    pub fn share(self) -> SharedExecution {
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
        let collected = self.collect(&operation).await;
        if self.needs_fallback(O::Request::METHOD) {
            return ExecutionOutcome::Changed;
        }
        let mut collected = match collected {
            Ok(collected) => collected,
            Err(NoResult::Failed(error)) => return ExecutionOutcome::Failed(error),
            Err(NoResult::ServerStopped) => return ExecutionOutcome::Changed,
        };
        let error_if_empty = collected.error_if_empty.take();
        let has_target = collected.answers.iter().any(O::has_target);
        let limits = self.limits.clone();
        let total = self.source_files;
        let mut scope = coverage::scope(&self.query, &self.providers);
        if matches!(&*self.query, Query::DocumentDiagnostics { .. } | Query::WorkspaceDiagnostics { .. })
            && !self.missing_linters.is_empty()
        {
            let linters = self.missing_linters.iter();
            collected.known_files.extend(linters.map(|(language, why)| self.unlinted(language, why)));
            scope = AnswerScope::Diagnostics { is_known: false };
        }
        let origin = self.origin.clone();
        let work = move |gate: &Gate| {
            let _timer = origin.canonicalise();
            canonicalise(&operation, gate, &limits, collected, (total, scope))
        };
        let canonical = if O::IN_MEMORY { Ok(work(&self.gate)) } else { self.gate.run(work).await };
        match canonical.flatten() {
            Ok(Canonicalised { mut result, observed, outside }) => {
                self.origin.record_outside(outside);
                if let Some(error) = error_if_empty.filter(|_| has_nothing(&result)) {
                    return ExecutionOutcome::Failed(error);
                }
                if let Some(error) = self.missing_identifier(&result).filter(|_| !has_target) {
                    return ExecutionOutcome::Failed(error);
                }
                if let Some(document) = self.query.uri() {
                    result.mark_own_document(document);
                    self.drop_other_components(&mut result);
                }
                self.add_previews(&mut result, &observed).await;
                self.finish(result, observed).await
            }
            Err(error) => ExecutionOutcome::Failed(error),
        }
    }

    /// Names of a component that are used nowhere else aren't known to components of other kinds.
    fn drop_other_components(&self, result: &mut CanonicalResult) {
        let language = self.document.as_ref().map(|document| document.language.as_str());
        if language.is_some_and(|language| companions::is_component(&self.servers, language)) {
            result.drop_skipped_in_own_document(companions::UNCOVERED);
        }
    }

    /// Adds source lines to a result of the tool `lsp`.
    async fn add_previews(&self, result: &mut CanonicalResult, observed: &[(CanonicalUri, ObservedFile)]) {
        if let CanonicalResult::Lsp(result) = result {
            let max_bytes = MAX_PREVIEW_BYTES.min(self.limits.max_snapshot_bytes / 4);
            // A result that is late has lines, too: if the call can't wait for them, a later one gets the result.
            let until = gather::linter_cutoff(self.callers.deadline())
                .max(Instant::now() + Duration::from_millis(MIN_PREVIEW_MS));
            previews::add(&self.gate, result, observed, until, max_bytes).await;
        }
    }

    /// The error if nothing was found because the position points at no identifier.
    fn missing_identifier(&self, result: &CanonicalResult) -> Option<ToolError> {
        match (&*self.query, result, &self.document) {
            // Entries outside the roots were found too, although they are left out.
            (Query::Lsp(query), CanonicalResult::Lsp(result), Some(document))
                if result.found.is_empty() && result.notes.outside == 0 =>
            {
                position_check::missing_identifier_error(query, document)
            }
            _ => None,
        }
    }

    async fn finish(self, result: CanonicalResult, observed: Vec<(CanonicalUri, ObservedFile)>) -> ExecutionOutcome {
        if let Some(first_walk) = self.first_walk {
            // The walk finds changes that happened before the servers were started.
            first_walk.await;
        }
        if let Some(subscription) = self.slot.get() {
            subscription.barrier().await;
        }
        let is_watched = self.slot.get().is_some_and(|subscription| subscription.degraded().is_none());
        let document_now = match self.document {
            Some(document) if !is_watched => self.gate.run(move |gate| document.source.now(gate)).await.ok(),
            _ => None,
        };
        let began = self.began;
        let (query, snapshot_key, epochs, seen) = (self.query, self.snapshot_key, self.epochs, self.seen);
        let finish = Finish { query, snapshot_key, epochs, seen, result, began, observed, document_now };
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
        let files = WorkspaceFiles { slot: &self.slot, modules: &self.modules, epochs: self.file_epochs };
        RequestContext { gate: &self.gate, callers: &self.callers, origin: &self.origin, files: Some(files) }
    }

    /// Asks the document's own providers one after the other until an answer isn't empty, and the companions meanwhile.
    async fn collect_first<O: QueryOperation>(&self, operation: &O) -> Result<Collected<O::Answer>, NoResult> {
        let (companions, own): (Vec<&Provider>, Vec<&Provider>) =
            self.providers.iter().partition(|provider| provider.is_companion);
        let asked = companions.into_iter().map(|companion| async move {
            let outcome = operation.ask(companion, self.context()).await;
            (companion, outcome)
        });
        let (first, of_companions) =
            futures::future::join(self.first_of(&own, operation), futures::future::join_all(asked)).await;
        let mut collected = first?;
        for (companion, outcome) in of_companions {
            let skipped = match outcome {
                Ok(answer) => {
                    collected.answers.push(answer);
                    continue;
                }
                Err(ProviderFailure::Unsupported) => Unavailable::unsupported(companion.kind.as_str()),
                Err(ProviderFailure::Unavailable(why)) => why,
                Err(ProviderFailure::Stopped) => return Err(NoResult::ServerStopped),
                Err(ProviderFailure::Failed(error)) => return Err(error.into()),
            };
            collected.skipped.push(skipped);
        }
        // A language without any server is not a failure.
        collected.skipped.retain(|why| !why.kind.is_empty());
        Ok(collected)
    }

    /// Asks these providers one after the other until an answer isn't empty.
    async fn first_of<O: QueryOperation>(
        &self,
        providers: &[&Provider],
        operation: &O,
    ) -> Result<Collected<O::Answer>, NoResult> {
        let mut skipped = self.unavailable.clone();
        let mut first: Option<(O::Answer, &Provider)> = None;
        let mut known_files = Vec::new();
        for provider in providers {
            match operation.ask(provider, self.context()).await {
                Ok(answer) => {
                    known_files.extend(coverage::of_answer(provider, O::undecided(&answer)));
                    if answer.entries() > 0 {
                        first = Some((answer, provider));
                        break;
                    }
                    first = first.or(Some((answer, provider)));
                }
                Err(ProviderFailure::Unsupported) if provider.is_linter => {}
                Err(ProviderFailure::Unsupported) => skipped.push(Unavailable::unsupported(provider.kind.as_str())),
                Err(ProviderFailure::Unavailable(unavailable)) if provider.is_linter && first.is_some() => {
                    skipped.push(unavailable);
                }
                Err(ProviderFailure::Unavailable(unavailable)) => skipped.push(unavailable),
                Err(ProviderFailure::Stopped) => return Err(NoResult::ServerStopped),
                Err(ProviderFailure::Failed(error)) => return Err(error.into()),
            }
        }
        let Some((answer, provider)) = first else { return Err(none_available(&skipped).into()) };
        let by_name = provider.by_name().collect();
        let answered_by = Some(provider.kind.clone());
        Ok(Collected { answered_by, by_name, known_files, ..Collected::complete(vec![answer], skipped) })
    }

    /// Sends an operation of the tool `lsp` to all providers and merges the answers.
    async fn collect_tool<O: QueryOperation>(
        &self,
        kind: Operation,
        operation: &O,
    ) -> Result<Collected<O::Answer>, NoResult> {
        let gathering = gather::gather(&self.providers, &self.unavailable, kind, operation, self.context());
        let (outcome, irrelevant) = futures::future::join(gathering, self.irrelevant_servers()).await;
        match outcome {
            OperationOutcome::Answers(mut collected) => {
                let is_named = |why: &Unavailable| !self.is_needless(why, &irrelevant, &collected.by_name);
                collected.skipped.retain(is_named);
                Ok(collected)
            }
            OperationOutcome::None(skipped) => {
                let error = none_available(&skipped).with("operation", kind.as_str());
                Err(self.with_alternatives(error, O::Request::METHOD).into())
            }
            OperationOutcome::ServerStopped => Err(NoResult::ServerStopped),
            OperationOutcome::Failed(error) => Err(error.into()),
        }
    }

    /// Diagnostics of a document: if one server fails, the call fails, because a list without its diagnostics would look complete.
    async fn collect_all_or_none<O: QueryOperation>(&self, operation: &O) -> Result<Collected<O::Answer>, NoResult> {
        let requests = self.providers.iter().map(|provider| async move {
            let outcome = operation.ask(provider, self.context()).await;
            (provider, outcome)
        });
        let mut answers = Vec::new();
        let mut unsupported_by = Vec::new();
        let mut known_files = Vec::new();
        for (provider, outcome) in futures::future::join_all(requests).await {
            match outcome {
                Ok(answer) => {
                    known_files.extend(coverage::of_answer(provider, O::undecided(&answer)));
                    answers.push(answer);
                }
                Err(ProviderFailure::Unsupported) => {
                    unsupported_by.push(Unavailable::unsupported(provider.kind.as_str()))
                }
                Err(ProviderFailure::Unavailable(unavailable)) => return Err(unavailable.to_error().into()),
                Err(ProviderFailure::Stopped) => return Err(NoResult::ServerStopped),
                Err(ProviderFailure::Failed(error)) => return Err(error.into()),
            }
        }
        match (answers.is_empty(), self.unavailable.first()) {
            (_, Some(unavailable)) => Err(unavailable.to_error().into()),
            (true, None) => Err(none_available(&unsupported_by).into()),
            (false, None) => Ok(Collected { known_files, ..Collected::complete(answers, vec![]) }),
        }
    }

    /// Queries about the whole workspace: sends the query to all providers and names those that can't answer.
    async fn collect_everywhere<O: QueryOperation>(&self, operation: &O) -> Result<Collected<O::Answer>, NoResult> {
        let requests = self.providers.iter().map(|provider| async move {
            let outcome = operation.ask(provider, self.context()).await;
            (provider, outcome)
        });
        let mut collected = Collected::complete(vec![], self.unavailable.clone());
        for (provider, outcome) in futures::future::join_all(requests).await {
            match outcome {
                Ok(answer) => {
                    collected.known_files.extend(coverage::of_answer(provider, O::undecided(&answer)));
                    collected.answers.push(answer);
                    collected.by_name.extend(provider.by_name());
                }
                Err(ProviderFailure::Unsupported) if provider.is_linter => {}
                Err(ProviderFailure::Unsupported) => {
                    collected.skipped.push(Unavailable::unsupported(provider.kind.as_str()))
                }
                Err(ProviderFailure::Unavailable(unavailable)) => {
                    // An empty list of the other servers doesn't prove that nothing exists.
                    if !provider.is_linter && collected.error_if_empty.is_none() {
                        collected.error_if_empty = Some(unavailable.to_error());
                    }
                    collected.skipped.push(unavailable);
                }
                Err(ProviderFailure::Stopped) => return Err(NoResult::ServerStopped),
                Err(ProviderFailure::Failed(error)) => return Err(error.into()),
            }
        }
        if collected.error_if_empty.is_none() {
            collected.error_if_empty = self.unavailable.iter().find(|why| why.has_failed()).map(Unavailable::to_error);
        }
        if collected.answers.is_empty() {
            return Err(none_available(&collected.skipped).into());
        }
        Ok(collected)
    }
}
