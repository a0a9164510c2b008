//! A running server process: its connection, capabilities, open documents and reported diagnostics.
//!
//! All of it belongs to one incarnation.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Notify;
use tokio::time::timeout_at;

use crate::limits;
use crate::server::context::ServerContext;
use crate::server::diagnostics::{Diagnostics, Reported};
use crate::server::documents::watch_globs::WatchGlobs;
use crate::server::lifecycle::crash_suspects::{DocumentRequests, SuspectTurn};
use crate::server::lifecycle::process_guard::KillOnDrop;
use crate::server::messages::{PendingAnswer, PreparationEnd, ProjectReport, SendOutcome};
use crate::server::projects::folder_changes::AnnouncedFolders;
use crate::server::projects::index_lag::PendingIndexing;
use crate::server::requests::expiry::ExpiryGuard;
use crate::server::requests::request::{Exchange, ServerRequest, SessionView};
use crate::status::server_state::ServerState;
use codeyard_base::clock::{Deadline, Instant};
use codeyard_lsp::client::LspClient;
use codeyard_lsp::client::capabilities::Capabilities;
use codeyard_lsp::client::events::ServerEvent;
use codeyard_lsp::client::lifecycle::Initialized;
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::documents::sync_options::SyncOptions;
use codeyard_lsp::documents::{DocumentNotification, OpenDocuments};
use codeyard_lsp::readiness::{ReadinessState, ReadinessTracker};
use codeyard_lsp::registry::MultiRoot;
use codeyard_lsp::text::Document;
use codeyard_lsp::text::encoding::{PositionEncoding, PositionRules};
use codeyard_lsp::{methods, readiness};
use codeyard_model::uri::CanonicalUri;

/// How long after its start a server that announced no operation may register its operations.
const ALL_REGISTRATIONS: Duration = Duration::from_secs(1);
/// How long after its start a server may register an operation that it didn't announce with others.
const LATE_REGISTRATION: Duration = Duration::from_millis(300);

/// A running server process.
pub(super) struct LiveServer {
    pub(super) client: LspClient,
    pub(super) child: KillOnDrop,
    pub(super) capabilities: Capabilities,
    pub(super) encoding: PositionRules,
    pub(super) readiness: ReadinessTracker,
    pub(super) documents: OpenDocuments,
    pub(super) diagnostics: Diagnostics,
    pub(super) expired: Arc<AtomicU32>,
    pub(super) started_at: Instant,
    pub(super) incarnation: u64,
    pub(super) pending_indexing: PendingIndexing,
    pub(super) document_requests: DocumentRequests,
    pub(super) watch_globs: WatchGlobs,
    pub(super) announced: AnnouncedFolders,
    /// The last version of a document that exists only at the server.
    pub(super) project_versions: i32,
    /// It was ready at some moment.
    pub(super) was_ready: bool,
    /// Notified of registrations.
    registered: Arc<Notify>,
}

/// The result of bringing a document up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncOutcome {
    /// The server had it already.
    Unchanged,
    /// It was opened.
    Opened,
    /// Its new text was sent.
    Changed,
}

/// The effects of an event of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EventEffect {
    /// A file's canonical diagnostics changed.
    pub diagnostics_changed: bool,
    /// The server asked for a refresh.
    pub refresh: bool,
    /// A push came in.
    pub pushed: bool,
    /// The readiness may have changed.
    pub readiness: bool,
}

impl LiveServer {
    pub(super) fn new(
        context: &ServerContext,
        client: LspClient,
        child: KillOnDrop,
        initialized: Initialized,
        folders: Vec<PathBuf>,
        incarnation: u64,
    ) -> Self {
        let now = Instant::now();
        let quirks = &context.server.quirks;
        let encoding = PositionRules {
            encoding: PositionEncoding::from_name(&initialized.encoding).unwrap_or(PositionEncoding::Utf16),
            lines_asked: quirks.lines_asked,
            lines_answered: quirks.lines_answered,
            counts_mark: !quirks.strips_byte_order_mark,
        };
        let mut readiness = ReadinessTracker::new(&context.server.readiness, now);
        readiness.on_initialized(now);
        if context.multi_root == MultiRoot::WorkspaceFolders {
            readiness.on_more_projects(folders.len().saturating_sub(1), now);
        }
        let mut documents = OpenDocuments::new(limits::MAX_OPEN_DOCUMENTS);
        documents.set_options(sync_options(&initialized.capabilities, encoding));
        for method in &context.server.quirks.unsupported {
            initialized.capabilities.mark_unsupported(method);
        }
        Self {
            client,
            child,
            capabilities: initialized.capabilities,
            encoding,
            readiness,
            documents,
            diagnostics: Diagnostics::of_server(context.server.quirks.push_versioned, context.diagnostics.clone()),
            expired: Arc::default(),
            started_at: now,
            incarnation,
            pending_indexing: PendingIndexing::new(context),
            document_requests: DocumentRequests::default(),
            watch_globs: WatchGlobs::default(),
            announced: AnnouncedFolders::at_start(folders),
            project_versions: 0,
            was_ready: false,
            registered: Arc::default(),
        }
    }

    /// What to wait for before a method counts as unsupported: a server may register it just after `initialized`. `None`: nothing.
    pub(super) fn registration(&self, method: &str, now: Instant) -> Option<PreparationEnd> {
        let window = if self.capabilities.announce_nothing() { ALL_REGISTRATIONS } else { LATE_REGISTRATION };
        let until = self.started_at + window;
        if now >= until || !self.capabilities.may_register(method) {
            return None;
        }
        let registered = self.registered.clone();
        Some(async move { drop(timeout_at(until, registered.notified()).await) }.boxed().shared())
    }

    pub(super) fn into_parts(self) -> (LspClient, KillOnDrop) {
        (self.client, self.child)
    }

    pub(super) fn readiness_state(&self, now: Instant) -> ServerState {
        match self.readiness.state(now) {
            ReadinessState::Starting => ServerState::Starting,
            ReadinessState::Indexing { progress } => ServerState::Indexing { progress },
            ReadinessState::Ready if self.pending_indexing.until(now).is_some() => {
                ServerState::Indexing { progress: None }
            }
            ReadinessState::Ready => ServerState::Ready,
        }
    }

    /// When the readiness may next change without an event.
    pub(super) fn next_check(&self, now: Instant) -> Option<Instant> {
        [self.readiness.next_check(now), self.pending_indexing.until(now)].into_iter().flatten().min()
    }

    /// Sends the current text of a document to the server, if it differs.
    pub(super) fn sync(&mut self, document: &DocumentInput) -> Result<SyncOutcome, RequestError> {
        let source = &document.source;
        self.send_sync(&source.uri, document.language.as_str(), &source.document, source.hash)
    }

    /// Closes and opens a document, so that the server computes its diagnostics again.
    pub(super) fn reopen(&mut self, document: &DocumentInput) -> Result<(), RequestError> {
        let uri = &document.source.uri;
        let pinned = self.documents.get(uri.as_str()).is_some_and(|state| state.pinned);
        if let Some(close) = self.documents.close(uri.as_str()) {
            self.client.notify(close.method(), &close)?;
            self.diagnostics.closed(uri.as_str());
        }
        self.sync(document)?;
        self.documents.pin(uri.as_str(), pinned);
        Ok(())
    }

    pub(super) fn send_sync(
        &mut self,
        uri: &CanonicalUri,
        language: &str,
        document: &Arc<Document>,
        hash: [u8; 32],
    ) -> Result<SyncOutcome, RequestError> {
        let mut outcome = SyncOutcome::Unchanged;
        for outgoing in self.documents.sync(uri.as_str(), language, document, hash) {
            self.client.notify(outgoing.method(), &outgoing)?;
            match &outgoing {
                DocumentNotification::DidOpen(_) => outcome = SyncOutcome::Opened,
                DocumentNotification::DidChange(_) => outcome = SyncOutcome::Changed,
                DocumentNotification::DidClose(closed) => {
                    self.diagnostics.closed(&closed.text_document.uri);
                    let uri: &str = &closed.text_document.uri;
                    self.pending_indexing.gone(uri);
                }
                DocumentNotification::DidSave(_) => {}
            }
        }
        match outcome {
            SyncOutcome::Unchanged => return Ok(outcome),
            SyncOutcome::Changed => self.diagnostics.surroundings_changed(),
            SyncOutcome::Opened => self.readiness.on_opened(Instant::now()),
        }
        if let Some(version) = self.documents.version(uri.as_str()) {
            self.diagnostics.synced(uri, version, Instant::now());
            if !self.capabilities.supports(methods::DOCUMENT_DIAGNOSTIC) {
                self.pending_indexing.sent(uri, version, Instant::now());
            }
        }
        Ok(outcome)
    }

    /// Sends a request, in this turn if its document is a crash suspect.
    pub(super) fn request(
        &mut self,
        request: &dyn ServerRequest,
        turn: Option<SuspectTurn>,
        deadline: Deadline,
    ) -> Result<SendOutcome, RequestError> {
        // Only pulls of diagnostics name it, and it is looked up in what the server registered.
        let identifier = match request.exchange() {
            Exchange::Reply => None,
            Exchange::DocumentDiagnostics | Exchange::ProjectDiagnostics => self.identifier(),
        };
        let view = SessionView { encoding: self.encoding, diagnostics_identifier: identifier.as_deref() };
        Ok(match request.send(&self.client, &self.capabilities, &view)? {
            Some(reply) => {
                let expiry = self.expiry(Some(request), turn, deadline);
                SendOutcome::Reply(self.pending(reply, expiry))
            }
            None => SendOutcome::Unsupported,
        })
    }

    /// All reported diagnostics, and new pulls where the server supports them.
    pub(super) fn project_report(&mut self, deadline: Deadline) -> Result<SendOutcome, RequestError> {
        let Reported { files, dropped, has_unknown_files } = self.diagnostics.reported();
        let mut report = ProjectReport {
            files,
            dropped,
            has_unknown_files,
            pulls: vec![],
            workspace: None,
            encoding: self.encoding,
        };
        if self.capabilities.supports(methods::DOCUMENT_DIAGNOSTIC) {
            let identifier = self.identifier();
            let open: Vec<Arc<str>> = self.documents.all().map(|state| state.uri.clone()).collect();
            for text in open {
                let params = methods::document_diagnostic(&text, identifier.as_deref(), None);
                let reply = self.client.request(methods::DOCUMENT_DIAGNOSTIC, &params)?;
                let expiry = self.expiry(None, None, deadline);
                report.pulls.push((text, self.pending(reply, expiry)));
            }
        }
        if self.capabilities.workspace_diagnostics() {
            let identifier = self.identifier();
            let params = methods::workspace_diagnostic(identifier.as_deref(), &[]);
            let reply = self.client.request(methods::WORKSPACE_DIAGNOSTIC, &params)?;
            let expiry = self.expiry(None, None, deadline);
            report.workspace = Some(self.pending(reply, expiry));
        }
        Ok(SendOutcome::Project(report))
    }

    fn identifier(&self) -> Option<String> {
        self.capabilities.pull_diagnostics().into_iter().find_map(|pull| pull.identifier)
    }

    /// A request that was sent to this process.
    fn pending(
        &self,
        reply: codeyard_lsp::client::pending_requests::PendingReply,
        expiry: ExpiryGuard,
    ) -> PendingAnswer {
        PendingAnswer { reply, encoding: self.encoding, incarnation: self.incarnation, expiry }
    }

    /// The guard of a request that begins. Its document is followed until it is answered.
    pub(super) fn expiry(
        &mut self,
        request: Option<&dyn ServerRequest>,
        turn: Option<SuspectTurn>,
        deadline: Deadline,
    ) -> ExpiryGuard {
        let in_own_turn = turn.is_some();
        let guard = ExpiryGuard::new(deadline, self.expired.clone(), turn);
        if let Some((request, document)) = request.and_then(|request| Some((request, request.document()?))) {
            self.document_requests.add(document, request.method(), in_own_turn, guard.request_state());
        }
        guard
    }

    /// Applies any event but pushed diagnostics.
    pub(super) fn on_event(&mut self, event: ServerEvent) -> EventEffect {
        let now = Instant::now();
        let mut effect = EventEffect::default();
        match event {
            ServerEvent::Notification { method, params } => {
                let Some(params) = params else { return effect };
                if let Some(event) = readiness::parse_notification(&method, &params) {
                    self.readiness.apply(&event, now);
                    effect.readiness = true;
                } else {
                    self.readiness.on_method(&method, now);
                    effect.readiness = true;
                }
            }
            ServerEvent::Refresh { method } => {
                self.readiness.on_method(&method, now);
                self.diagnostics.surroundings_changed();
                effect.refresh = true;
                effect.readiness = true;
            }
            ServerEvent::Registered { .. } | ServerEvent::Unregistered { .. } => {
                let is_new = matches!(event, ServerEvent::Registered { .. });
                self.registered.notify_waiters();
                let method = if is_new { methods::REGISTER_CAPABILITY } else { methods::UNREGISTER_CAPABILITY };
                self.readiness.on_method(method, now);
                if self.capabilities.supports(methods::DOCUMENT_DIAGNOSTIC) {
                    self.diagnostics.end_waits();
                }
                self.documents.set_options(sync_options(&self.capabilities, self.encoding));
                effect.readiness = true;
            }
            ServerEvent::Lost { .. } => effect = self.events_lost(),
            ServerEvent::Closed(_) => {}
        }
        effect
    }

    /// Events were lost: what was derived from them may be stale.
    pub(super) fn events_lost(&mut self) -> EventEffect {
        self.diagnostics.events_lost();
        EventEffect { refresh: true, diagnostics_changed: true, ..EventEffect::default() }
    }

    /// Whether the server has exactly this text.
    pub(super) fn has(&self, document: &DocumentInput) -> bool {
        let source = &document.source;
        self.documents.get(source.uri.as_str()).is_some_and(|open| open.hash == source.hash)
    }
}

fn sync_options(capabilities: &Capabilities, rules: PositionRules) -> SyncOptions {
    let capability = capabilities.static_capabilities().get("textDocumentSync").cloned();
    let raw = capability.and_then(|value| serde_json::value::to_raw_value(&value).ok());
    let strips_mark = !rules.counts_mark;
    SyncOptions { strips_mark, ..SyncOptions::from_capability(raw.as_deref(), rules.encoding) }
}
