//! Handles [`Begin`], the first step of a query: checks the document, looks for a retained result or a running execution, and otherwise
//! starts one. The call looks at the disk for it ([`document_checks`](super::document_checks)).

use std::sync::Arc;

use actix::prelude::*;
use futures::FutureExt;
use tokio::runtime::Handle;

use crate::query::callers::Callers;
use crate::query::execution::Execution;
use crate::query::index_comparison::{self, ComparedIndex};
use crate::query::plan::{Choice, Plan};
use crate::query::provider::Provider;
use crate::query::{fallback, operations};
use crate::server::messages::SendRequest;
use crate::server::program::programs::PendingLookup;
use crate::server::projects::anchors;
use crate::status::server_state::{ServerState, Unavailable};
use crate::status::watch_slot::FirstWalk;
use crate::workspace::actor::Workspace;
use crate::workspace::code_index::draining;
use crate::workspace::document_checks::{Halt, Sights};
use crate::workspace::finish::is_of_query;
use crate::workspace::long_questions::AwaitedExecution;
use crate::workspace::messages::{Begin, Begun, QueryStep, Wait};
use crate::workspace::state::RunningExecution;
use codeyard_base::clock::{Deadline, Instant};
use codeyard_complete::companions;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::epoch::EpochScope;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::operation::{LspQuery, QuerySubject};
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;
use codeyard_telemetry::{CacheUse, CallTrace, RequestOrigin};

/// Number of remembered executions above which ended ones are removed.
const MAX_REMEMBERED_RUNS: usize = 1_024;

/// The inputs of a run.
struct RunStart<'a> {
    query: Arc<GatedQuery>,
    /// What the call has seen of files.
    sights: &'a Sights,
    planned: Option<u64>,
    call: &'a CallTrace,
    deadline: Deadline,
    request_key: String,
    snapshot_key: String,
    /// The watcher's first walk, if it is still in progress.
    first_walk: Option<FirstWalk>,
}

impl Handler<Begin> for Workspace {
    type Result = MessageResult<Begin>;

    fn handle(&mut self, begin: Begin, ctx: &mut Self::Context) -> Self::Result {
        let mut begin = begin;
        let sights = Sights(std::mem::take(&mut begin.sights));
        MessageResult(match self.begin(begin, &sights, ctx) {
            Ok(step) => Ok(Begun::Step(step)),
            Err(Halt::Look(files)) => Ok(Begun::Look { files, sights: sights.0 }),
            Err(Halt::Failed(error)) => Err(error),
        })
    }
}

impl Workspace {
    fn begin(&mut self, begin: Begin, sights: &Sights, ctx: &mut Context<Self>) -> Result<QueryStep, Halt> {
        begin.call.mark_admitted();
        if self.draining {
            return Err(draining().into());
        }
        let first_walk = self.prepare(ctx);
        let needs_files = |query: &GatedQuery| !is_about_one_document(query) || self.may_have_companions(query);
        if let Some(first_walk) = first_walk.clone().filter(|_| needs_files(&begin.query)) {
            return Ok(QueryStep::Wait(Wait::Preparing(first_walk)));
        }
        let query = begin.query;
        let call = begin.call;
        let request_key = codeyard_paging::request_key(&query);
        let cursor = match query.page().and_then(|page| page.cursor.as_deref()) {
            Some(text) => Some(codeyard_paging::decode(text, &request_key)?),
            None => None,
        };
        self.take_changes();
        let document_check = self.check_document(&query, sights)?;
        let mut snapshot_key = self.snapshot_key(&query, &request_key);
        self.long_questions.end_outdated(|scope| self.epochs.seen_of(scope));
        let epochs = self.epochs.of(&self.epoch_scope(&query));
        call.update(|record| record.epochs = Some(epochs));
        if let Some(cursor) = cursor {
            return self.later_page(&query, sights, &call, request_key, snapshot_key, cursor);
        }
        let swept = !(self.is_sweeping() && matches!(*query, Query::WorkspaceDiagnostics { .. }));
        let retained = self.setup.snapshots.lock().get(&snapshot_key, Instant::now());
        if let Some(snapshot) = retained.filter(|_| swept) {
            if self.page_is_current(&snapshot, &query, sights, document_check, 0)?
                && self.fallback_still_applies(&snapshot, &query)
                && !(snapshot.result().notes().awaits_index && self.has_current_index())
            {
                self.setup.shared.metrics.retained_hit();
                // If a call makes several queries, one that was not retained decides.
                call.update(|record| record.cache = record.cache.or(Some(CacheUse::Retained)));
                return Ok(QueryStep::Hit { snapshot, offset: 0, request_key, snapshot_key });
            }
            snapshot_key = self.snapshot_key(&query, &request_key);
        }
        if let Some(running) = self.executions.get(&snapshot_key)
            && let Some(run) = running.awaited.run.upgrade()
        {
            call.record_shared(&running.starter);
            running.callers.join(begin.deadline);
            self.long_questions.asked(&snapshot_key);
            let servers = running.servers.clone();
            return Ok(QueryStep::Run { run, is_shared: true, servers, awaited: running.awaited.clone(), request_key });
        }
        let start = RunStart {
            query,
            sights,
            planned: begin.planned,
            call: &call,
            deadline: begin.deadline,
            request_key,
            snapshot_key,
            first_walk,
        };
        self.start_run(start, ctx)
    }

    /// Answers a page by cursor: needs the same epochs, the retained result, and unchanged files on the page.
    fn later_page(
        &mut self,
        query: &GatedQuery,
        sights: &Sights,
        call: &CallTrace,
        request_key: String,
        snapshot_key: String,
        cursor: codeyard_paging::CursorToken,
    ) -> Result<QueryStep, Halt> {
        if !is_of_query(&cursor.snapshot, &snapshot_key) {
            return Err(self.stale(query).into());
        }
        let snapshot_key = cursor.snapshot;
        let retained = self.setup.snapshots.lock().get(&snapshot_key, Instant::now());
        let Some(snapshot) = retained else {
            let message = "the result this cursor belongs to is no longer retained; start again without a cursor";
            return Err(ToolError::new(ErrorCode::CursorExpired, message).into());
        };
        if !self.page_is_current(&snapshot, query, sights, None, cursor.offset)? {
            return Err(self.stale(query).into());
        }
        call.update(|record| record.cache = Some(CacheUse::Retained));
        Ok(QueryStep::Hit { snapshot, offset: cursor.offset, request_key, snapshot_key })
    }

    fn stale(&self, query: &GatedQuery) -> ToolError {
        let error = ToolError::new(
            ErrorCode::CursorStale,
            "the workspace has changed since this cursor was made; start again without a cursor",
        );
        match query {
            Query::WorkspaceDiagnostics { .. } if self.is_sweeping() => {
                error.with("reason", "sweep").with("retryAfterMs", codeyard_model::limits::RETRY_AFTER_MS)
            }
            _ => error,
        }
    }

    pub(super) fn snapshot_key(&self, query: &GatedQuery, request_key: &str) -> String {
        let roots_key = self.setup.gate.root_set().key();
        let epochs = self.epochs.of(&self.epoch_scope(query));
        codeyard_paging::snapshot_key(request_key, roots_key, &epochs, query.epoch_mask())
    }

    /// Whether files of another language may belong to the answer to a query. Only the list of files shows it.
    fn may_have_companions(&self, query: &GatedQuery) -> bool {
        let servers = &self.setup.servers;
        let uri = query.uri().filter(|_| companions::is_about_uses(query));
        let language = uri.and_then(|uri| servers.index.language_of(&uri.to_path()));
        language.is_some_and(|language| companions::may_exist(&servers.registry, language))
    }

    /// Whose changes count for the answer to a query. It depends on the query alone.
    fn epoch_scope(&self, query: &GatedQuery) -> EpochScope {
        // A document outside the roots belongs to a project that isn't around it.
        let path =
            query.uri().map(CanonicalUri::to_path).filter(|path| self.setup.gate.root_set().root_of(path).is_some());
        let Some(path) = path else { return EpochScope::Workspace };
        match self.setup.servers.index.language_of(&path) {
            Some(language) => EpochScope::Document { language: language.to_owned(), path },
            None => EpochScope::Workspace,
        }
    }

    fn start_run(&mut self, start: RunStart<'_>, ctx: &mut Context<Self>) -> Result<QueryStep, Halt> {
        let RunStart { query, sights, planned, call, deadline, request_key, snapshot_key, first_walk } = start;
        let (epochs, seen) = self.epochs.at_start(self.epoch_scope(&query), query.epoch_mask());
        let document = self.open_document(&query, sights)?;
        if let Some(document) = &document {
            call.update(|record| {
                record.language.get_or_insert_with(|| document.language.clone());
            });
        }
        let plan = match self.plan(&query, planned) {
            Ok(plan) => plan,
            Err(jobs) => return Ok(QueryStep::Wait(self.planning(planned, jobs))),
        };
        let plan = if fallback::has_no_fallback(&query) { fallback::without_fallbacks(&plan) } else { plan };
        let has_companions = !plan.companions.choices.is_empty() || !plan.companions.uncovered.is_empty();
        let plan = match has_companions && companions::is_about_uses(&query) && !plan.choices.is_empty() {
            true => Arc::new(plan.with_companions()),
            false => plan,
        };
        let plan = self.without_paused(plan);
        if plan.choices.is_empty() {
            let why = plan.unavailable.first().map(Unavailable::to_error);
            return Err(why.unwrap_or_else(no_files).into());
        }
        let servers = &self.setup.servers;
        let has_anchors = |choice: &Choice| {
            let server = &choice.server;
            anchors::are_chosen_for(server) || server.project.is_some() || servers.may_open_scripts(server)
        };
        if let Some(first_walk) = first_walk.clone().filter(|_| plan.choices.iter().any(has_anchors)) {
            // The anchors of such a server are known only after the walk.
            return Ok(QueryStep::Wait(Wait::Preparing(first_walk)));
        }
        if let Err(jobs) = self.update_all_projects(&plan, planned) {
            return Ok(QueryStep::Wait(self.planning(planned, jobs)));
        }
        let (providers, unavailable) = match self.ready_providers(&plan, &query, document.as_ref(), deadline, ctx) {
            Ok(providers) => providers,
            Err(wait) => return Ok(QueryStep::Wait(wait)),
        };
        if matches!(*query, Query::WorkspaceDiagnostics { .. }) {
            self.begin_sweep(&plan, ctx);
        }
        call.update(|record| record.cache = Some(CacheUse::Fresh));
        let servers: Vec<_> = providers.iter().map(|provider| provider.state.clone()).collect();
        let asked = providers.iter().map(|provider| provider.server.clone()).collect();
        let is_compared = index_comparison::is_compared(&query, &providers);
        let index = if is_compared { self.compared_index(ctx) } else { ComparedIndex::None };
        let callers = Callers::one(deadline);
        let began = Instant::now();
        let execution = Execution {
            origin: RequestOrigin::Call(call.clone()),
            document,
            providers,
            unavailable,
            source_files: plan.served_files,
            missing_linters: plan.missing_linters(),
            has_fallbacks: !plan.fallbacks.is_empty(),
            servers: self.setup.servers.clone(),
            gate: self.setup.gate.clone(),
            limits: self.policy.limits.clone(),
            workspace: ctx.address().recipient(),
            current_index: ctx.address().recipient(),
            slot: self.slot.clone(),
            index,
            query,
            modules: self.modules.clone(),
            epochs,
            file_epochs: self.epochs.of_files(),
            first_walk,
            snapshot_key: snapshot_key.clone(),
            seen: seen.epochs,
            callers: callers.clone(),
            began,
        };
        let run = execution.share();
        let awaited = AwaitedExecution {
            run: run.downgrade().ok_or_else(ToolError::internal)?,
            key: snapshot_key.clone(),
            servers: asked,
            epochs: seen,
            began,
            questions: self.is_watched().then(|| self.long_questions.clone()),
            runtime: Handle::current(),
        };
        let starter = call.clone();
        let states = servers.clone();
        self.remember(snapshot_key, RunningExecution { starter, servers: states, callers, awaited: awaited.clone() });
        Ok(QueryStep::Run { run, is_shared: false, servers, awaited, request_key })
    }

    /// The providers of a query that are ready, or fallbacks for them, and the reasons for those that are left out. `Err`: what to wait for.
    fn ready_providers(
        &mut self,
        plan: &Plan,
        query: &GatedQuery,
        document: Option<&DocumentInput>,
        deadline: Deadline,
        ctx: &mut Context<Self>,
    ) -> Result<(Vec<Provider>, Vec<Unavailable>), Wait> {
        let waits_for_all = !is_about_one_document(query);
        let (mut providers, mut unavailable) = self.providers(plan, query, deadline, ctx);
        let awaited = providers.iter().filter(|provider| waits_for_all || !provider.is_linter);
        let pending: Vec<_> = awaited.filter(|provider| provider.state.borrow().is_pending()).collect();
        if !pending.is_empty() {
            for provider in &pending {
                self.open_early(provider, document, query, deadline);
            }
            let fallbacks = self.fallbacks(plan, &pending, ctx)?;
            unavailable.extend(pending.into_iter().map(fallback::not_ready));
            providers.retain(|provider| !provider.state.borrow().is_pending());
            providers.extend(fallbacks);
        }
        providers.extend(self.fallbacks_for_refusing(plan, &providers, query, document, ctx)?);
        if providers.iter().any(|provider| provider.fallback_for.is_some()) {
            // A fallback answers where there is no server.
            unavailable.retain(|why| !why.kind.is_empty());
        }
        Ok((providers, unavailable))
    }

    /// Remembers an execution, for calls that ask the same meanwhile.
    fn remember(&mut self, snapshot_key: String, running: RunningExecution) {
        if self.executions.len() >= MAX_REMEMBERED_RUNS {
            self.executions.retain(|_, running| running.awaited.run.upgrade().is_some());
        }
        self.executions.insert(snapshot_key, running);
    }

    /// The wait of a query for plans, programs and projects.
    fn planning(&self, planned: Option<u64>, jobs: Vec<PendingLookup>) -> Wait {
        let ended = futures::future::join_all(jobs).map(drop).boxed().shared();
        Wait::Planning { since: planned.unwrap_or(self.plan_revision), ended }
    }

    /// A server that reads its project only when a document is open must get this one before it is ready.
    fn open_early(
        &self,
        provider: &Provider,
        document: Option<&DocumentInput>,
        query: &GatedQuery,
        deadline: Deadline,
    ) {
        let indexing = matches!(&*provider.state.borrow(), ServerState::Indexing { .. });
        let opens = indexing && document.is_some() && !provider.spec.quirks.ignores_early_opens;
        if let (true, Some(request)) = (opens, operations::first_request(query, document.cloned())) {
            drop(provider.server.try_send(SendRequest { request, deadline }));
        }
    }
}

/// Whether the query is about one document and answered by one server. Such a query starts before the watcher's first walk has ended,
/// and only its result waits for it.
fn is_about_one_document(query: &GatedQuery) -> bool {
    matches!(
        query,
        Query::Definition { .. }
            | Query::References { .. }
            | Query::Hover { .. }
            | Query::DocumentSymbols { .. }
            | Query::Declarations { .. }
            | Query::Lsp(LspQuery { subject: QuerySubject::At(..) | QuerySubject::File(_), .. })
    )
}

fn no_files() -> ToolError {
    ToolError::provider_unavailable(
        "no_server",
        "the workspace holds no file that a known language server serves",
        "codeyard servers list",
    )
}
