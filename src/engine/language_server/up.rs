//! A running child: its connection, what it can do, what is open at it, what it has said.
//!
//! Everything here belongs to one incarnation and goes with it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::value::RawValue;

use super::diagnostics::Diagnostics;
use super::disk::load;
use super::life::KillOnDrop;
use super::unread::{Unread, must_be_shown};
use super::watched::{self, Watched};
use super::{Asked, ExpiryGuard, PendingAnswer, ProjectReport, TRACE_OVER};
use crate::limits;
use crate::question::{DocumentInput, Question};
use crate::server_context::ServerContext;
use crate::server_state::ServerState;
use codeyard_base::clock::{Deadline, Instant};
use codeyard_files::gate::Admitted;
use codeyard_files::watch::{ChangeKind, Changes};
use codeyard_lsp::capabilities::Capabilities;
use codeyard_lsp::client::Client;
use codeyard_lsp::convert;
use codeyard_lsp::documents::{OpenDocuments, Outgoing};
use codeyard_lsp::encoding::{self, PositionEncoding};
use codeyard_lsp::events::Event;
use codeyard_lsp::lifecycle::Initialized;
use codeyard_lsp::methods;
use codeyard_lsp::pending::RequestError;
use codeyard_lsp::progress;
use codeyard_lsp::readiness::{ReadinessState, State};
use codeyard_lsp::sync_options::SyncOptions;
use codeyard_lsp::text::Document;
use codeyard_model::uri::CanonicalUri;

/// Questions remembered so that a crash can be blamed on a document.
const MAX_SUSPECTS: usize = 256;

/// See the module.
pub(super) struct Up {
    pub(super) client: Client,
    pub(super) child: KillOnDrop,
    pub(super) capabilities: Capabilities,
    pub(super) encoding: PositionEncoding,
    pub(super) readiness: ReadinessState,
    pub(super) documents: OpenDocuments,
    pub(super) diagnostics: Diagnostics,
    pub(super) expired: Arc<AtomicU32>,
    pub(super) born: Instant,
    incarnation: u64,
    unread: Unread,
    suspects: VecDeque<(CanonicalUri, [u8; 32], Arc<std::sync::atomic::AtomicU8>)>,
    watched: Watched,
}

/// What bringing a document up to date came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncOutcome {
    /// The server had it already.
    Unchanged,
    /// It was opened.
    Opened,
    /// Its new text was sent.
    Changed,
}

/// What an event of the child came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EventEffect {
    /// A file's canonical diagnostics differ from before.
    pub diagnostics_changed: bool,
    /// The server asks to be asked again.
    pub refresh: bool,
    /// A push came in.
    pub pushed: bool,
    /// The readiness may have changed.
    pub readiness: bool,
}

impl Up {
    pub(super) fn new(
        context: &ServerContext,
        client: Client,
        child: KillOnDrop,
        initialized: Initialized,
        incarnation: u64,
    ) -> Self {
        let now = Instant::now();
        let encoding = PositionEncoding::from_name(&initialized.encoding).unwrap_or(PositionEncoding::Utf16);
        let mut readiness = ReadinessState::new(&context.server.readiness, now);
        readiness.on_initialized(now);
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
            diagnostics: Diagnostics::of_server(context.server.quirks.push_versioned),
            expired: Arc::default(),
            born: now,
            incarnation,
            unread: Unread::new(context),
            suspects: VecDeque::new(),
            watched: Watched::default(),
        }
    }

    pub(super) fn into_parts(self) -> (Client, KillOnDrop) {
        (self.client, self.child)
    }

    pub(super) fn readiness_state(&self, now: Instant) -> ServerState {
        match self.readiness.state(now) {
            State::Starting => ServerState::Starting,
            State::Indexing { progress } => ServerState::Indexing { progress },
            State::Ready if self.unread.until(now).is_some() => ServerState::Indexing { progress: None },
            State::Ready => ServerState::Ready,
        }
    }

    /// When time alone may change the readiness.
    pub(super) fn next_check(&self, now: Instant) -> Option<Instant> {
        [self.readiness.next_check(now), self.unread.until(now)].into_iter().flatten().min()
    }

    /// Makes the server's text of a document that of the disk.
    pub(super) fn sync(&mut self, document: &DocumentInput) -> Result<SyncOutcome, RequestError> {
        let source = &document.source;
        self.send_sync(&source.uri, document.language.as_str(), &source.document, source.hash)
    }

    /// Closes and opens a document, so that the server computes its diagnostics anew.
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
                Outgoing::DidOpen(_) => outcome = SyncOutcome::Opened,
                Outgoing::DidChange(_) => outcome = SyncOutcome::Changed,
                Outgoing::DidClose(closed) => {
                    self.diagnostics.closed(&closed.text_document.uri);
                    let uri: &str = &closed.text_document.uri;
                    self.unread.gone(uri);
                }
                Outgoing::DidSave(_) => {}
            }
        }
        match outcome {
            SyncOutcome::Unchanged => return Ok(outcome),
            SyncOutcome::Changed => self.diagnostics.surroundings_changed(),
            SyncOutcome::Opened => self.readiness.on_opened(Instant::now()),
        }
        if let Some(version) = self.documents.version(uri.as_str()) {
            self.diagnostics.synced(uri, version);
            self.unread.sent(uri, version, Instant::now());
        }
        Ok(outcome)
    }

    /// Files changed on disk: open documents follow, and the server hears of what it asked to hear of.
    pub(super) fn files_changed(&mut self, context: &ServerContext, changes: &Changes) -> Result<(), RequestError> {
        self.diagnostics.surroundings_changed();
        for change in &changes.files {
            let text = codeyard_model::uri::encode_path(&change.path);
            if change.kind == ChangeKind::Deleted {
                if let Some(close) = self.documents.close(&text) {
                    self.client.notify(close.method(), &close)?;
                }
                self.diagnostics.deleted(&text);
                self.unread.gone(&text);
            } else if self.documents.is_open(&text) || must_be_shown(context, &change.path) {
                self.follow(context, &change.path)?;
            }
        }
        if changes.bulk {
            self.follow_all(context)?;
        }
        let told = self.watched.events(&self.capabilities, &context.root, changes);
        if !told.is_empty() {
            self.client.notify(methods::DID_CHANGE_WATCHED_FILES, &watched::WatchedFiles { changes: told })?;
        }
        Ok(())
    }

    pub(super) fn follow(&mut self, context: &ServerContext, path: &Path) -> Result<(), RequestError> {
        if let Some((uri, language, document, hash)) = load(context, path) {
            self.send_sync(&uri, &language, &document, hash)?;
        }
        Ok(())
    }

    fn follow_all(&mut self, context: &ServerContext) -> Result<(), RequestError> {
        let open: Vec<Arc<str>> = self.documents.all().map(|state| state.uri.clone()).collect();
        for text in open {
            match context.gate.admit(&text) {
                Admitted::Inside(uri) => self.follow(context, &uri.to_path())?,
                _ => {
                    if let Some(close) = self.documents.close(&text) {
                        self.client.notify(close.method(), &close)?;
                    }
                    self.diagnostics.deleted(&text);
                }
            }
        }
        Ok(())
    }

    /// Sends the request that a question is.
    pub(super) fn request(&mut self, question: &Question, deadline: Deadline) -> Result<Asked, RequestError> {
        let position = match question {
            Question::Definition(document, at)
            | Question::References(document, at, _)
            | Question::Hover(document, at)
            | Question::Implementation(document, at)
            | Question::PrepareCalls(document, at) => {
                Some(encoding::to_server(&document.source.document, *at, self.encoding).unwrap_or(*at))
            }
            _ => None,
        };
        let uri = question.uri().map(CanonicalUri::as_str).unwrap_or_default();
        let method = crate::provider_call::method_of(question);
        if !self.capabilities.supports(method) {
            return Ok(Asked::Unsupported);
        }
        let reply = match (question, position) {
            (Question::References(_, _, declaration), Some(at)) => {
                self.client.request(method, &methods::references(uri, at, *declaration))?
            }
            (_, Some(at)) => self.client.request(method, &methods::at(uri, at))?,
            (Question::IncomingCalls(_, of) | Question::OutgoingCalls(_, of), _) => {
                let Ok(item) = serde_json::from_str::<&RawValue>(&of.json) else { return Ok(Asked::Unsupported) };
                self.client.request(method, &methods::calls(item))?
            }
            (Question::WorkspaceSymbols(query), _) => {
                self.client.request(method, &methods::workspace_symbols(query))?
            }
            (Question::DocumentDiagnostics(_), _) => {
                let identifier = self.identifier();
                self.client.request(method, &methods::document_diagnostic(uri, identifier.as_deref(), None))?
            }
            _ => self.client.request(method, &methods::document(uri))?,
        };
        Ok(Asked::Reply(self.pending(reply, question.document(), deadline)))
    }

    /// All that is reported, and fresh pulls where the server is to be asked.
    pub(super) fn project_report(&mut self, deadline: Deadline) -> Result<Asked, RequestError> {
        let mut report = ProjectReport {
            files: self.diagnostics.reported(),
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
                report.pulls.push((text, self.pending(reply, None, deadline)));
            }
        }
        if self.capabilities.workspace_diagnostics() {
            let identifier = self.identifier();
            let params = methods::workspace_diagnostic(identifier.as_deref(), &[]);
            let reply = self.client.request(methods::WORKSPACE_DIAGNOSTIC, &params)?;
            report.workspace = Some(self.pending(reply, None, deadline));
        }
        Ok(Asked::Project(report))
    }

    fn identifier(&self) -> Option<String> {
        self.capabilities.pull_diagnostics().into_iter().find_map(|pull| pull.identifier)
    }

    fn pending(
        &mut self,
        reply: codeyard_lsp::pending::PendingReply,
        document: Option<&DocumentInput>,
        deadline: Deadline,
    ) -> PendingAnswer {
        let expiry = self.expiry(document, deadline);
        PendingAnswer { reply, encoding: self.encoding, incarnation: self.incarnation, expiry }
    }

    pub(super) fn expiry(&mut self, document: Option<&DocumentInput>, deadline: Deadline) -> ExpiryGuard {
        let guard = ExpiryGuard::new(deadline, self.expired.clone());
        if let Some(document) = document {
            self.suspects.retain(|(_, _, trace)| trace.load(Ordering::Relaxed) != TRACE_OVER);
            if self.suspects.len() >= MAX_SUSPECTS {
                self.suspects.pop_front();
            }
            self.suspects.push_back((document.source.uri.clone(), document.source.hash, guard.trace()));
        }
        guard
    }

    /// Documents whose questions were open when the child went away.
    pub(super) fn documents_in_question(&self) -> Vec<(CanonicalUri, [u8; 32])> {
        let open = self.suspects.iter().filter(|(_, _, trace)| trace.load(Ordering::Relaxed) != TRACE_OVER);
        let mut found: Vec<_> = open.map(|(uri, hash, _)| (uri.clone(), *hash)).collect();
        found.sort();
        found.dedup();
        found
    }

    pub(super) fn on_event(&mut self, event: Event, context: &ServerContext) -> EventEffect {
        let now = Instant::now();
        let mut effect = EventEffect::default();
        match event {
            Event::Notification { method, params } => {
                let Some(params) = params else { return effect };
                if method == methods::PUBLISH_DIAGNOSTICS {
                    effect.pushed = true;
                    self.on_push(&params, context, now, &mut effect);
                } else if let Some(event) = progress::parse_notification(&method, &params) {
                    self.readiness.apply(&event, now);
                    effect.readiness = true;
                } else {
                    self.readiness.on_method(&method, now);
                    effect.readiness = true;
                }
            }
            Event::Refresh { method } => {
                self.readiness.on_method(&method, now);
                self.diagnostics.surroundings_changed();
                effect.refresh = true;
                effect.readiness = true;
            }
            Event::Registered { .. } | Event::Unregistered { .. } => {
                self.documents.set_options(sync_options(&self.capabilities, self.encoding));
                effect.readiness = true;
            }
            Event::Lost { .. } => {
                self.diagnostics.surroundings_changed();
                effect.refresh = true;
            }
            Event::Closed(_) => {}
        }
        effect
    }

    fn on_push(
        &mut self,
        params: &serde_json::value::RawValue,
        context: &ServerContext,
        now: Instant,
        effect: &mut EventEffect,
    ) {
        let Ok((mut file, version)) = convert::publish_diagnostics(params) else {
            tracing::warn!(server = %context.kind, "language server pushed malformed diagnostics");
            return;
        };
        let Admitted::Inside(uri) = context.gate.admit(&file.uri) else { return };
        file.diagnostics.truncate(limits::MAX_DIAGNOSTICS_PER_FILE);
        effect.readiness = self.unread.pushed(&uri, version);
        effect.diagnostics_changed = self.diagnostics.pushed(&uri, version, file.diagnostics, now);
    }
}

fn sync_options(capabilities: &Capabilities, encoding: PositionEncoding) -> SyncOptions {
    let capability = capabilities.fixed().get("textDocumentSync").cloned();
    let raw = capability.and_then(|value| serde_json::value::to_raw_value(&value).ok());
    SyncOptions::from_capability(raw.as_deref(), encoding)
}
