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
use futures::future::{BoxFuture, FutureExt, join};

use crate::limits::{MAX_PREVIEW_BYTES, MIN_PREVIEW_MS};
use crate::query::asked_provider::WorkspaceFiles;
use crate::query::callers::Callers;
use crate::query::canonicalise::{Canonicalised, canonicalise};
use crate::query::collected::{Collected, has_nothing};
use crate::query::file_looks::ObservedFile;
use crate::query::gather::{self, GatherPolicy, Gathering};
use crate::query::index_comparison::{self, ComparedIndex, CurrentIndex};
use crate::query::messages::{ExecutionOutcome, Finish, SharedExecution};
use crate::query::no_answer::NoAnswer;
use crate::query::provider::Provider;
use crate::query::provider_call::RequestContext;
use crate::query::query_operation::{OperationHandler, QueryOperation};
use crate::query::{coverage, operations, position_check, previews};
use crate::server::registry::IndexedRegistry;
use crate::server::requests::request::LspRequest;
use crate::status::server_state::Unavailable;
use crate::status::watch_slot::{FirstWalk, WatchSlot};
use codeyard_base::clock::Instant;
use codeyard_complete::commonjs::ModuleCache;
use codeyard_complete::companions;
use codeyard_files::gate::Gate;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::coverage::AnswerScope;
use codeyard_model::epoch::{Epochs, ResultEpochs};
use codeyard_model::error::ToolError;
use codeyard_model::limits::Limits;
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
    /// Has the code index as it is at the end.
    pub current_index: Recipient<CurrentIndex>,
    /// The watcher's subscription; it reports changes on disk during the execution.
    pub slot: WatchSlot,
    /// The code index, with which the result is compared.
    pub index: ComparedIndex,
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

/// Runs the operation of an execution, whatever its type.
struct RunOperation(Execution);

impl OperationHandler for RunOperation {
    type Output = BoxFuture<'static, ExecutionOutcome>;

    fn handle<O: QueryOperation>(self, policy: GatherPolicy, operation: O) -> Self::Output {
        self.0.run_operation(policy, operation).boxed()
    }
}

impl Execution {
    /// The execution as a shared future. It starts when it is first polled.
    pub fn share(self) -> SharedExecution {
        async move { self.run().await }.boxed().shared()
    }

    async fn run(self) -> ExecutionOutcome {
        let query = self.query.clone();
        match operations::dispatch(&query, self.document.clone(), RunOperation(self)) {
            Some(running) => running.await,
            // The code index answers this query.
            None => Err(ToolError::internal().into()),
        }
    }

    /// The steps from the providers' answers to the final result. Each provider's answer is completed by what servers leave out while it is
    /// asked.
    async fn run_operation<O: QueryOperation>(self, policy: GatherPolicy, operation: O) -> ExecutionOutcome {
        let reading = self.index.read(&self.query, self.document.as_ref(), &self.providers, &self.current_index);
        let collected = self.gather(policy, &operation).await;
        if self.needs_fallback(O::Request::METHOD) {
            return Err(NoAnswer::Changed);
        }
        let mut collected = collected?;
        let error_if_empty = collected.error_if_empty.take();
        let has_target = collected.answers.iter().any(O::has_target);
        let Canonicalised { mut result, observed, outside, declared } = self.canonicalise(operation, collected).await?;
        self.origin.record_outside(outside);
        if let Some(error) = error_if_empty.filter(|_| has_nothing(&result)) {
            return Err(error.into());
        }
        if !has_target && let Some(error) = self.missing_identifier(&result).await {
            return Err(error.into());
        }
        if let Some(document) = self.query.uri() {
            result.mark_own_document(document);
            self.drop_other_components(&mut result);
        }
        if let Some(reading) = reading {
            reading.compare(&self.query, &mut result, &declared, self.comparison_end()).await;
        }
        self.add_previews(&mut result, &observed).await;
        self.finish(result, observed).await
    }

    /// Asks the providers, and leaves out what needn't be named.
    async fn gather<O: QueryOperation>(
        &self,
        policy: GatherPolicy,
        operation: &O,
    ) -> Result<Collected<O::Answer>, NoAnswer> {
        let files = WorkspaceFiles { slot: &self.slot, modules: &self.modules, epochs: self.file_epochs };
        let callers = &self.callers;
        let context = RequestContext { gate: &self.gate, callers, origin: &self.origin, files: Some(files) };
        let gathering = Gathering { policy, providers: &self.providers, unavailable: &self.unavailable, context };
        let (collected, irrelevant) = join(gathering.run(operation), self.irrelevant_servers()).await;
        match collected {
            Ok(mut collected) => {
                let is_named = |why: &Unavailable| !self.is_needless(why, &irrelevant, &collected.by_name);
                collected.skipped.retain(is_named);
                Ok(collected)
            }
            Err(NoAnswer::Failed(error)) if matches!(*self.query, Query::Lsp(_)) => {
                Err(self.with_alternatives(error, O::Request::METHOD).into())
            }
            Err(end) => Err(end),
        }
    }

    /// Makes the answers one canonical result, whose rows are in their final order.
    async fn canonicalise<O: QueryOperation>(
        &self,
        operation: O,
        mut collected: Collected<O::Answer>,
    ) -> Result<Canonicalised, ToolError> {
        let mut scope = coverage::scope(&self.query, &self.providers);
        if matches!(&*self.query, Query::DocumentDiagnostics { .. } | Query::WorkspaceDiagnostics { .. })
            && !self.missing_linters.is_empty()
        {
            let linters = self.missing_linters.iter();
            collected.known_files.extend(linters.map(|(language, why)| self.unlinted(language, why)));
            scope = AnswerScope::Diagnostics { is_known: false };
        }
        let query = self.query.clone();
        let limits = self.limits.clone();
        let total = self.source_files;
        let origin = self.origin.clone();
        let work = move |gate: &Gate| {
            let _timer = origin.canonicalise();
            canonicalise(&operation, &query, gate, &limits, collected, total, scope)
        };
        if O::IN_MEMORY { work(&self.gate) } else { self.gate.run(work).await? }
    }

    /// Names of a component that are used nowhere else aren't known to components of other kinds.
    fn drop_other_components(&self, result: &mut CanonicalResult) {
        let language = self.document.as_ref().map(|document| document.language.as_str());
        if language.is_some_and(|language| companions::is_component(&self.servers.registry, language)) {
            result.drop_skipped_in_own_document(companions::UNCOVERED);
        }
    }

    /// When a result that is there now stops waiting for the code index.
    fn comparison_end(&self) -> Instant {
        let now = Instant::now();
        let until = now + index_comparison::longest_wait(self.began.elapsed());
        let cutoff = gather::linter_cutoff(self.callers.deadline());
        // For a result that is late, nobody waits.
        if cutoff < now { until } else { until.min(cutoff.max(now + index_comparison::longest_wait(Duration::ZERO))) }
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
    async fn missing_identifier(&self, result: &CanonicalResult) -> Option<ToolError> {
        match (&*self.query, result, &self.document) {
            // Entries outside the roots were found too, although they are left out.
            (Query::Lsp(query), CanonicalResult::Lsp(result), Some(document))
                if result.found.is_empty() && result.notes.outside == 0 =>
            {
                position_check::missing_identifier_error(query, document).await
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
        let query = self.query;
        let snapshot_key = self.snapshot_key;
        let epochs = self.epochs;
        let finish = Finish { query, snapshot_key, epochs, seen: self.seen, result, began, observed, document_now };
        self.workspace.send(finish).await.unwrap_or_else(|_| Err(ToolError::internal().into()))
    }
}
