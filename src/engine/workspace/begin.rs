//! The first step of a question: what is on disk, which epochs hold, is there a retained result, who is to be asked.

use actix::prelude::*;
use futures::FutureExt;

use super::*;
use crate::anchors;
use crate::execution::{Execution, Provider};
use crate::known_files::Look;
use crate::operation::{self, asks_for_name};
use crate::providers::{self, Choice, Planned};
use crate::question::DocumentInput;
use crate::server_state::{ServerState, Unavailable};
use crate::stand_in;
use codeyard_base::ids::LanguageId;
use codeyard_model::error::ErrorCode;
use codeyard_model::operation::{LspQuery, Subject};
use codeyard_model::query::Query;
use codeyard_telemetry::{Asker, CacheUse};

/// What a run is started from.
struct Start<'a> {
    query: Arc<GatedQuery>,
    /// What the look at its document said.
    asked: Option<Look>,
    call: &'a CallTrace,
    deadline: Deadline,
    request_key: String,
    snapshot_key: String,
    /// The watcher's first walk, if it isn't over.
    walking: Option<Walking>,
}

impl Handler<Begin> for Workspace {
    type Result = MessageResult<Begin>;

    fn handle(&mut self, begin: Begin, ctx: &mut Self::Context) -> Self::Result {
        MessageResult(self.begin(begin, ctx))
    }
}

impl Workspace {
    fn begin(&mut self, begin: Begin, ctx: &mut Context<Self>) -> Result<Begun, ToolError> {
        begin.call.taken_up();
        if self.draining {
            return Err(ToolError::provider_unavailable(
                "draining",
                "the workspace is being stopped; ask again once it is back",
                "codeyard doctor",
            ));
        }
        let walking = self.prepare(ctx);
        if let Some(walking) = walking.clone().filter(|_| !is_about_a_place(&begin.query)) {
            return Ok(Begun::Wait(Wait::Preparing(walking)));
        }
        let (query, call) = (begin.query, begin.call);
        let request_key = codeyard_paging::request_key(&query);
        let cursor = match query.page().and_then(|page| page.cursor.as_deref()) {
            Some(text) => Some(codeyard_paging::decode(text, &request_key)?),
            None => None,
        };
        self.take_changes();
        let asked = self.look_at_document(&query, begin.seen)?;
        let mut snapshot_key = self.snapshot_key(&query, &request_key);
        let epochs = self.epochs;
        call.note(|record| record.epochs = Some(epochs));
        if let Some(cursor) = cursor {
            return self.later_page(&query, &call, request_key, snapshot_key, cursor);
        }
        let swept = !(self.is_sweeping() && matches!(*query, Query::WorkspaceDiagnostics { .. }));
        if let Some(snapshot) = self.snapshots.get(&snapshot_key, Instant::now()).filter(|_| swept) {
            if self.page_is_true(&snapshot, &query, asked, 0) && self.still_stands(&snapshot, &query) {
                self.setup.shared.metrics.retained_hit();
                // Of several questions of one call those count that weren't answered already.
                call.note(|record| record.cache = record.cache.or(Some(CacheUse::Retained)));
                return Ok(Begun::Hit { snapshot, offset: 0, request_key, snapshot_key });
            }
            snapshot_key = self.snapshot_key(&query, &request_key);
        }
        if let Some((run, starter)) = self.runs.get(&snapshot_key)
            && let Some(run) = run.upgrade()
        {
            call.shares(starter);
            return Ok(Begun::Run { run, is_shared: true, request_key });
        }
        let start = Start { query, asked, call: &call, deadline: begin.deadline, request_key, snapshot_key, walking };
        self.start_run(start, ctx)
    }

    /// A page by cursor: fresh epochs, a retained result, and files that are still as they were, or nothing.
    fn later_page(
        &mut self,
        query: &GatedQuery,
        call: &CallTrace,
        request_key: String,
        snapshot_key: String,
        cursor: codeyard_paging::CursorToken,
    ) -> Result<Begun, ToolError> {
        if cursor.snapshot != snapshot_key {
            return Err(self.stale(query));
        }
        let Some(snapshot) = self.snapshots.get(&snapshot_key, Instant::now()) else {
            return Err(ToolError::new(
                ErrorCode::CursorExpired,
                "the result this cursor belongs to is no longer retained; start again without a cursor",
            ));
        };
        if !self.page_is_true(&snapshot, query, None, cursor.offset) {
            return Err(self.stale(query));
        }
        call.note(|record| record.cache = Some(CacheUse::Retained));
        Ok(Begun::Hit { snapshot, offset: cursor.offset, request_key, snapshot_key })
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
        codeyard_paging::snapshot_key(request_key, roots_key, &self.epochs, query.epoch_mask())
    }

    /// Compares the document asked about with the disk; a difference counts as the edit.
    fn look_at_document(&mut self, query: &GatedQuery, seen: Option<FileStamp>) -> Result<Option<Look>, ToolError> {
        let Some(uri) = query.uri() else { return Ok(None) };
        match self.known.look_seen(uri, seen) {
            Ok(look) => {
                if look == Look::Changed {
                    self.on_edit(uri);
                }
                Ok(Some(look))
            }
            Err(error) => {
                self.on_gone(uri);
                Err(error)
            }
        }
    }

    /// Whether the files on the page to be served are as they were when the result was computed.
    fn page_is_true(&mut self, snapshot: &Snapshot, query: &GatedQuery, asked: Option<Look>, offset: u64) -> bool {
        let size = query.page().map(|page| page.size).unwrap_or(usize::MAX);
        let mut is_true = true;
        let mut edited = Vec::new();
        // The document asked about was the same a moment ago, or it is looked at again.
        let looked_at = query.uri().filter(|_| asked == Some(Look::Same));
        let mut files = snapshot.result().files_on_page(offset, size);
        files.retain(|uri| Some(uri) != looked_at);
        let looks = self.known.look_at_all(&files);
        for (uri, look) in files.into_iter().zip(looks) {
            match look {
                Ok(Look::Same) => {}
                Ok(Look::Changed | Look::New) => edited.push(uri),
                Err(_) => {
                    self.on_gone(&uri);
                    is_true = false;
                }
            }
        }
        self.on_edits(&edited);
        is_true && edited.is_empty()
    }

    fn start_run(&mut self, start: Start<'_>, ctx: &mut Context<Self>) -> Result<Begun, ToolError> {
        let Start { query, asked, call, deadline, request_key, snapshot_key, walking } = start;
        let seen = self.seen;
        let document = self.open_document(&query, asked)?;
        if let Some(document) = &document {
            call.note(|record| {
                record.language.get_or_insert_with(|| document.language.clone());
            });
        }
        let plan = match self.plan(&query) {
            Ok(plan) => plan,
            Err(looks) => {
                let all = futures::future::join_all(looks).map(|_| ()).boxed().shared();
                return Ok(Begun::Wait(Wait::Preparing(all)));
            }
        };
        let plan = if stand_in::is_beyond_names(&query) { stand_in::without(&plan) } else { plan };
        let plan = self.without_resting(plan);
        if plan.choices.is_empty() {
            let why = plan.unavailable.first().map(Unavailable::to_error);
            return Err(why.unwrap_or_else(no_files));
        }
        let has_anchors = |choice: &Choice| anchors::are_chosen_for(&choice.server);
        if let Some(walking) = walking.clone().filter(|_| plan.choices.iter().any(has_anchors)) {
            // Which files are to be kept open at such a server is known only after the walk.
            return Ok(Begun::Wait(Wait::Preparing(walking)));
        }
        let waits_for_all = !is_about_a_place(&query);
        let (mut providers, mut unavailable) = self.providers(&plan, &query, deadline, ctx);
        let awaited = providers.iter().filter(|provider| waits_for_all || !provider.is_linter);
        let pending: Vec<_> = awaited.filter(|provider| provider.state.borrow().is_pending()).collect();
        if !pending.is_empty() {
            for provider in &pending {
                self.touch(provider, document.as_ref(), &query, deadline);
            }
            let standbys = match self.standbys(&plan, &pending, ctx) {
                Ok(standbys) => standbys,
                Err(wait) => return Ok(Begun::Wait(wait)),
            };
            unavailable.extend(pending.into_iter().map(stand_in::not_ready));
            providers.retain(|provider| !provider.state.borrow().is_pending());
            providers.extend(standbys);
        }
        if providers.iter().any(|provider| provider.stands_for.is_some()) {
            // Somebody stands in where there is no server.
            unavailable.retain(|why| !why.kind.is_empty());
        }
        if matches!(*query, Query::WorkspaceDiagnostics { .. }) {
            self.begin_sweep(&plan, ctx);
        }
        call.note(|record| record.cache = Some(CacheUse::Fresh));
        let execution = Execution {
            query,
            asker: Asker::Call(call.clone()),
            document,
            providers,
            unavailable,
            source_files: plan.served_files,
            servers: self.setup.servers.clone(),
            gate: self.setup.gate.clone(),
            limits: self.policy.limits.clone(),
            workspace: ctx.address(),
            slot: self.slot.clone(),
            walking,
            snapshot_key: snapshot_key.clone(),
            seen,
            deadline,
        };
        let run = execution.share();
        if self.runs.len() >= MAX_REMEMBERED_RUNS {
            self.runs.retain(|_, (run, _)| run.upgrade().is_some());
        }
        if let Some(weak) = run.downgrade() {
            self.runs.insert(snapshot_key, (weak, call.clone()));
        }
        Ok(Begun::Run { run, is_shared: false, request_key })
    }

    /// A server that reads its project only once a document is open must see this one even before it's ready.
    fn touch(&self, provider: &Provider, document: Option<&DocumentInput>, query: &GatedQuery, deadline: Deadline) {
        use crate::language_server::Ask;
        use crate::question::Question;
        let indexing = matches!(&*provider.state.borrow(), ServerState::Indexing { .. });
        if let (true, Some(question)) = (indexing && document.is_some(), Question::of(query, document.cloned())) {
            drop(provider.server.try_send(Ask { question, deadline }));
        }
    }

    fn open_document(&mut self, query: &GatedQuery, asked: Option<Look>) -> Result<Option<DocumentInput>, ToolError> {
        let Some(uri) = query.uri() else { return Ok(None) };
        let (source, look) = self.known.document(uri, asked)?;
        if look == Look::Changed {
            self.on_edit(uri);
        }
        if !matches!(query, Query::Lsp(_))
            && let Some(position) = query.position()
            && source.document.check(position).is_none()
        {
            return Err(ToolError::new(
                ErrorCode::NotFound,
                "the position lies beyond the document; lines and characters count from 0, characters in UTF-16",
            ));
        }
        let Some(language) = self.setup.servers.index.language_of(&uri.to_path()) else {
            return Err(providers::no_server().to_error());
        };
        let document = DocumentInput { source, language: LanguageId::new(language) };
        if let Query::Lsp(asked) = query {
            operation::check_position(asked, &document)?;
        }
        Ok(Some(document))
    }

    pub(super) fn plan(&mut self, query: &GatedQuery) -> Planned<Arc<Plan>> {
        let is_of_symbols = matches!(query, Query::WorkspaceSymbols { .. } | Query::Declarations { .. });
        let linters = !is_of_symbols && !asks_for_name(query);
        match query.uri() {
            Some(uri) => self.plan_file(uri, linters),
            None => self.plan_workspace(linters),
        }
    }

    /// The plan without children that are left alone for a while.
    fn without_resting(&self, plan: Arc<Plan>) -> Arc<Plan> {
        let now = Instant::now();
        let rests = |choice: &Choice| self.resting.get(&choice.key).is_some_and(|until| *until > now);
        if !plan.choices.iter().any(rests) {
            return plan;
        }
        let (resting, choices) = plan.choices.iter().cloned().partition(rests);
        let resting: Vec<Choice> = resting;
        let mut unavailable = plan.unavailable.clone();
        unavailable.extend(resting.iter().map(|choice| {
            let message = "the supervision of the language server failed; it is built anew in a few seconds";
            Unavailable::new(&choice.key.kind, "crashed", message, "codeyard doctor")
        }));
        Arc::new(Plan { choices, unavailable, ..plan.as_ref().clone() })
    }

    fn plan_file(&mut self, uri: &CanonicalUri, linters: bool) -> Planned<Arc<Plan>> {
        let path = uri.to_path();
        let language = self.setup.servers.index.language_of(&path).unwrap_or_default().to_owned();
        let key = (path.parent().map(PathBuf::from).unwrap_or_default(), language, linters);
        if let Some(plan) = self.plans.get(&key) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(providers::plan_for_file(&self.setup, &path, linters)?);
        if plan.unavailable.is_empty() && self.plans.len() < MAX_REMEMBERED_RUNS {
            self.plans.insert(key, plan.clone());
        }
        Ok(plan)
    }

    pub(super) fn plan_workspace(&mut self, linters: bool) -> Planned<Arc<Plan>> {
        let now = Instant::now();
        if let Some((plan, until)) = self.workspace_plans.get(&linters)
            && until.is_none_or(|until| now < until)
        {
            return Ok(plan.clone());
        }
        let files = self.slot.get().map(|subscription| subscription.source_files()).unwrap_or_default();
        let plan = Arc::new(providers::plan_for_workspace(&self.setup, &files, linters)?);
        let until = (!plan.unavailable.is_empty()).then(|| now + INCOMPLETE_PLAN_LIFE);
        self.workspace_plans.insert(linters, (plan.clone(), until));
        Ok(plan)
    }
}

/// Whether the question is about one document and answered by one server. Then it needs nothing of what the watcher's
/// first walk finds out, and only its answer waits for it.
fn is_about_a_place(query: &GatedQuery) -> bool {
    matches!(
        query,
        Query::Definition { .. }
            | Query::References { .. }
            | Query::Hover { .. }
            | Query::DocumentSymbols { .. }
            | Query::Declarations { .. }
            | Query::Lsp(LspQuery { subject: Subject::At(..) | Subject::File(_), .. })
    )
}

fn no_files() -> ToolError {
    ToolError::provider_unavailable(
        "no_server",
        "the workspace holds no file that a known language server serves",
        "codeyard servers list",
    )
}
