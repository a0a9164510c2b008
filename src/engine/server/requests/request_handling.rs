//! Handles requests: brings the document up to date at the server, sends the request and returns its future.
//!
//! The caller waits for the reply, decodes it and makes it canonical. Files that must be read before are read by
//! [`disk_reads`](crate::server::documents::disk_reads); the actor handles nothing else meanwhile. Invariant: a server that has the document of a request costs
//! the request no look at the disk.

use std::path::PathBuf;
use std::sync::Arc;

use actix::dev::{MessageResponse, OneshotSender};
use actix::prelude::*;

use crate::server::actor::LanguageServer;
use crate::server::context::ServerContext;
use crate::server::diagnostics::PushState;
use crate::server::documents::disk_reads;
use crate::server::documents::document_loading::{LoadedDocuments, WantedDocument};
use crate::server::lifecycle::crash_suspects::SuspectTurn;
use crate::server::messages::{NoticeKind, PendingPush, PulledDiagnostics, SendOutcome, SendRequest};
use crate::server::requests::request::Exchange;
use crate::server::session::{EventEffect, SyncOutcome};
use crate::status::server_state::{ServerState, Unavailable};
use codeyard_base::clock::Instant;
use codeyard_base::seeded_faults;
use codeyard_lsp::client::events::ServerEvent;
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::documents::document_input::{DocumentInput, DocumentNow, DocumentSource};
use codeyard_lsp::methods;
use codeyard_model::limits::RETRY_AFTER_MS;

/// What was read from disk for a request.
#[derive(Default)]
struct RequestFiles {
    /// The anchors of projects that joined.
    anchors: LoadedDocuments,
    /// How the file of its document differs from what was read for the request.
    document: Option<DocumentNow>,
}

/// What must be read from disk before a request can be sent.
#[derive(Default)]
struct UnreadFiles {
    anchors: Vec<PathBuf>,
    document: Option<Arc<DocumentSource>>,
}

/// Why a request isn't sent now.
enum Unsent {
    /// Files must be read first.
    Unread(UnreadFiles),
    /// It isn't sent.
    Outcome(Box<SendOutcome>),
}

impl From<SendOutcome> for Unsent {
    fn from(outcome: SendOutcome) -> Self {
        Self::Outcome(Box::new(outcome))
    }
}

impl UnreadFiles {
    fn is_empty(&self) -> bool {
        self.anchors.is_empty() && self.document.is_none()
    }

    /// Adds to `files` what is missing. Blocks.
    fn read(self, context: &ServerContext, mut files: RequestFiles) -> RequestFiles {
        files.anchors.extend(LoadedDocuments::read(context, self.anchors.into_iter().map(WantedDocument::new)));
        files.document = self.document.map(|source| source.now(&context.gate)).or(files.document);
        files
    }
}

/// The response to a request: at once, or after reading files.
pub enum RequestResponse {
    /// At once.
    Now(SendOutcome),
    /// The actor handles nothing else until then.
    Later(ResponseActFuture<LanguageServer, SendOutcome>),
}

impl RequestResponse {
    fn into_future(self) -> ResponseActFuture<LanguageServer, SendOutcome> {
        match self {
            Self::Now(outcome) => Box::pin(actix::fut::ready(outcome)),
            Self::Later(later) => later,
        }
    }
}

impl MessageResponse<LanguageServer, SendRequest> for RequestResponse {
    fn handle(self, ctx: &mut Context<LanguageServer>, sender: Option<OneshotSender<SendOutcome>>) {
        match self {
            Self::Now(outcome) => {
                if let Some(sender) = sender {
                    // A dropped receiver: the caller has left.
                    drop(sender.send(outcome));
                }
            }
            Self::Later(later) => {
                let response = AtomicResponse::new(later);
                MessageResponse::<LanguageServer, SendRequest>::handle(response, ctx, sender);
            }
        }
    }
}

impl Handler<SendRequest> for LanguageServer {
    type Result = RequestResponse;

    fn handle(&mut self, message: SendRequest, ctx: &mut Self::Context) -> Self::Result {
        self.last_used = Instant::now();
        self.respond(message, RequestFiles::default(), ctx)
    }
}

impl Handler<PulledDiagnostics> for LanguageServer {
    type Result = ();

    fn handle(&mut self, pulled: PulledDiagnostics, ctx: &mut Self::Context) {
        if pulled.incarnation != self.incarnation {
            return;
        }
        let Some(session) = &mut self.session else { return };
        if session.diagnostics.pulled(&pulled.uri, pulled.diagnostics) {
            self.notify_workspace(NoticeKind::DiagnosticsChanged, ctx);
        }
    }
}

impl LanguageServer {
    /// Answers a request for which these files were read, or reads more.
    fn respond(&mut self, message: SendRequest, files: RequestFiles, ctx: &mut Context<Self>) -> RequestResponse {
        let outcome = match self.prepare_request(&message, &files, ctx) {
            Ok(turn) => self.send_now(&message, turn, ctx),
            Err(Unsent::Outcome(outcome)) => *outcome,
            Err(Unsent::Unread(unread)) => {
                let read = disk_reads::read_files(self.context.clone(), move |context| unread.read(context, files));
                let answered = read.into_actor(self).then(move |read, server, ctx| match read {
                    Some(files) => server.respond(message, files, ctx).into_future(),
                    None => RequestResponse::Now(SendOutcome::NotReady).into_future(),
                });
                return RequestResponse::Later(Box::pin(answered));
            }
        };
        let is_served = matches!(outcome, SendOutcome::Reply(_) | SendOutcome::Push(_) | SendOutcome::Project(_));
        self.context.status.set_used(is_served);
        self.publish_documents();
        self.supervise_later(ctx);
        RequestResponse::Now(outcome)
    }

    /// Brings the server up to date for a request. Returns the turn of the request, if its document is a crash suspect.
    fn prepare_request(
        &mut self,
        message: &SendRequest,
        files: &RequestFiles,
        ctx: &mut Context<Self>,
    ) -> Result<Option<SuspectTurn>, Unsent> {
        if let ServerState::Down(down) = &*self.state.borrow() {
            return Err(SendOutcome::Down(Unavailable::down(self.context.kind.as_str(), down)).into());
        }
        if let Some(refused) = self.refused_document(&*message.request) {
            return Err(SendOutcome::Down(refused).into());
        }
        if message.request.incarnation().is_some_and(|of| of != self.incarnation) {
            return Err(SendOutcome::Outdated.into());
        }
        if !self.follow_folders(ctx) {
            return Err(self.preparation_end().map_or(SendOutcome::NotReady, SendOutcome::Preparing).into());
        }
        self.require(message, files)?;
        if !self.update_folders(&files.anchors, ctx) {
            return Err(SendOutcome::NotReady.into());
        }
        if !matches!(*self.state.borrow(), ServerState::Ready) && self.projects.have_settings_when_ready() {
            return Err(SendOutcome::NotReady.into());
        }
        // An update may have closed the document and anchors.
        self.require(message, files)?;
        // Opening a document may crash the server too.
        let turn = self.suspect_turn(&*message.request).map_err(SendOutcome::Preparing)?;
        if let Some(document) = message.request.document().cloned() {
            if self.is_outdated(&document, files) {
                return Err(SendOutcome::Outdated.into());
            }
            self.sync(&document, ctx).map_err(|()| SendOutcome::NotReady)?;
        }
        Ok(turn)
    }

    /// Whether everything was read that the request needs. If the caller has left, nothing is read.
    fn require(&self, message: &SendRequest, files: &RequestFiles) -> Result<(), Unsent> {
        let Some(session) = &self.session else { return Ok(()) };
        let unsent = message.request.document().filter(|document| !session.has(document) && files.document.is_none());
        let unread = UnreadFiles {
            anchors: session.unread_anchors(&self.context, &files.anchors),
            document: unsent.map(|document| document.source.clone()),
        };
        match unread.is_empty() {
            true => Ok(()),
            false if message.deadline.passed() => Err(SendOutcome::NotReady.into()),
            false => Err(Unsent::Unread(unread)),
        }
    }

    /// Sends a request to a server that is up to date.
    fn send_now(&mut self, message: &SendRequest, turn: Option<SuspectTurn>, ctx: &mut Context<Self>) -> SendOutcome {
        let ready = matches!(*self.state.borrow(), ServerState::Ready) || seeded_faults::is_on("unready_asked");
        let Some(session) = self.session.as_mut() else { return SendOutcome::NotReady };
        if !ready {
            if let Some(document) = message.request.document() {
                session.document_requests.opened_early(document, message.request.method(), turn);
            }
            return SendOutcome::NotReady;
        }
        let method = message.request.method();
        let is_request = matches!(message.request.exchange(), Exchange::Reply);
        if let Some(registration) = session.registration(method, Instant::now()).filter(|_| is_request) {
            return SendOutcome::Preparing(registration);
        }
        let outcome = match (message.request.exchange(), message.request.document()) {
            (Exchange::DocumentDiagnostics, Some(document))
                if !session.capabilities.supports(message.request.method()) =>
            {
                return self.await_push(document, message, turn, ctx);
            }
            (Exchange::ProjectDiagnostics, _) => session.project_report(message.deadline),
            (Exchange::Reply | Exchange::DocumentDiagnostics, _) => {
                session.request(&*message.request, turn, message.deadline)
            }
        };
        match outcome {
            Ok(outcome) => outcome,
            Err(RequestError::QueueFull | RequestError::Broken) => {
                self.kill("queue_full", ctx);
                SendOutcome::NotReady
            }
            Err(RequestError::TooManyPending) => {
                let message = "too many requests are pending at the language server";
                let why = Unavailable::new(self.context.kind.as_str(), "overloaded", message, "codeyard doctor");
                SendOutcome::Down(why.retry_after(RETRY_AFTER_MS))
            }
            Err(_) => SendOutcome::NotReady,
        }
    }

    /// Whether the file changed after it was read for the request. A server that got this text would answer later requests from it.
    fn is_outdated(&self, document: &DocumentInput, files: &RequestFiles) -> bool {
        let is_as_read = files.document == Some(DocumentNow::AsRead);
        self.session.as_ref().is_some_and(|session| !is_as_read && !session.has(document))
    }

    /// Sends the current text of a document to the server if it differs. `Err`: the server is not running or accepts no messages.
    fn sync(&mut self, document: &DocumentInput, ctx: &mut Context<Self>) -> Result<(), ()> {
        let Some(session) = &mut self.session else { return Err(()) };
        match session.sync(document) {
            Ok(SyncOutcome::Unchanged) => Ok(()),
            Ok(SyncOutcome::Opened) => {
                if self.context.server.quirks.open_set_matters {
                    self.notify_workspace(NoticeKind::OpenSetChanged, ctx);
                }
                self.refresh_state(ctx);
                Ok(())
            }
            Ok(SyncOutcome::Changed) => {
                self.refresh_state(ctx);
                Ok(())
            }
            Err(error) => {
                self.on_send_error(&error, ctx);
                Err(())
            }
        }
    }

    fn await_push(
        &mut self,
        document: &DocumentInput,
        message: &SendRequest,
        turn: Option<SuspectTurn>,
        ctx: &mut Context<Self>,
    ) -> SendOutcome {
        let settle = self.context.push_settle();
        if self.context.server.quirks.no_diagnostics {
            return SendOutcome::Unsupported;
        }
        let uri = &document.source.uri;
        let Some(session) = &mut self.session else { return SendOutcome::NotReady };
        let mut state = session.diagnostics.push_of(uri, settle, Instant::now());
        if matches!(state, PushState::Outdated) {
            if let Err(error) = session.reopen(document) {
                self.on_send_error(&error, ctx);
                return SendOutcome::NotReady;
            }
            state = session.diagnostics.push_of(uri, settle, Instant::now());
        }
        let pushed = match state {
            PushState::Awaited(receiver) => receiver,
            PushState::Current(diagnostics) => {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                drop(sender.send(Some(diagnostics)));
                receiver
            }
            PushState::Outdated => return SendOutcome::NotReady,
        };
        let expiry = session.expiry(Some(&*message.request), turn, message.deadline);
        let pending = PendingPush { pushed, encoding: session.encoding, expiry };
        // The push may have arrived already and only need to settle: no further event will complete it.
        self.settle_pushes(ctx);
        SendOutcome::Push(pending)
    }

    /// A notification or registration from the child.
    pub(in crate::server) fn on_event(&mut self, event: ServerEvent, ctx: &mut Context<Self>) {
        let Some(session) = &mut self.session else { return };
        let event = match event {
            ServerEvent::Notification { method, params: Some(params) } if method == methods::PUBLISH_DIAGNOSTICS => {
                return self.on_push(params, ctx);
            }
            event => event,
        };
        let listens = matches!(&event, ServerEvent::Registered { methods } if names_watched_files(methods));
        let effect = session.on_event(event);
        if listens {
            self.replay_early_changes(ctx);
        }
        self.take_effect(effect, ctx);
    }

    /// Acts on the effects of an event.
    pub(in crate::server) fn take_effect(&mut self, effect: EventEffect, ctx: &mut Context<Self>) {
        if effect.diagnostics_changed {
            self.notify_workspace(NoticeKind::DiagnosticsChanged, ctx);
        }
        if effect.refresh {
            self.notify_workspace(NoticeKind::AnswersMayDiffer, ctx);
        }
        if effect.pushed {
            self.settle_pushes(ctx);
        }
        if effect.readiness {
            self.refresh_state(ctx);
        }
    }

    fn settle_pushes(&mut self, ctx: &mut Context<Self>) {
        let settle = self.context.push_settle();
        let Some(session) = &mut self.session else { return };
        let now = Instant::now();
        if let Some(at) = session.diagnostics.settle(settle, now) {
            ctx.run_later(at.saturating_duration_since(now), |server, ctx| server.settle_pushes(ctx));
        }
    }
}

fn names_watched_files(methods: &[String]) -> bool {
    methods.iter().any(|method| method == methods::DID_CHANGE_WATCHED_FILES)
}

/// Checks at compile time that these types may be sent to other threads.
const _: fn() = || {
    fn sendable<T: Send>() {}
    sendable::<SendOutcome>();
    sendable::<Arc<ServerContext>>();
};
