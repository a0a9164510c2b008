//! Handles requests: brings the document up to date at the server, sends the request and returns its future.
//!
//! The caller waits for the reply, decodes it and makes it canonical.

use std::sync::Arc;

use actix::prelude::*;

use crate::server::actor::{CrashSuspect, LanguageServer};
use crate::server::context::ServerContext;
use crate::server::diagnostics::PushState;
use crate::server::document::DocumentInput;
use crate::server::document_loading;
use crate::server::messages::{NoticeKind, PendingPush, PulledDiagnostics, SendOutcome, SendRequest};
use crate::server::request::{Exchange, ServerRequest};
use crate::server::session::SyncOutcome;
use crate::status::server_state::{ServerState, Unavailable};
use codeyard_base::clock::{Deadline, Instant};
use codeyard_lsp::client::events::ServerEvent;
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::methods;
use codeyard_model::limits::RETRY_AFTER_MS;

/// Number of crashes after which a document is refused until it changes or the quarantine time has passed.
const MAX_CRASHES_PER_DOCUMENT: u32 = 2;

impl Handler<SendRequest> for LanguageServer {
    type Result = MessageResult<SendRequest>;

    fn handle(&mut self, message: SendRequest, ctx: &mut Self::Context) -> Self::Result {
        self.last_used = Instant::now();
        let outcome = self.answer_now(message, ctx);
        let is_served = matches!(outcome, SendOutcome::Reply(_) | SendOutcome::Push(_) | SendOutcome::Project(_));
        self.context.status.set_used(is_served);
        self.publish_documents();
        self.supervise_later(ctx);
        MessageResult(outcome)
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
    fn answer_now(&mut self, message: SendRequest, ctx: &mut Context<Self>) -> SendOutcome {
        if let ServerState::Down(down) = &*self.state.borrow() {
            return SendOutcome::Down(Unavailable::down(self.context.kind.as_str(), down));
        }
        if let Some(refused) = self.refused_document(&*message.request) {
            return SendOutcome::Down(refused);
        }
        if message.request.incarnation().is_some_and(|of| of != self.incarnation) {
            return SendOutcome::Outdated;
        }
        if !self.update_folders(ctx) {
            return self.preparation_end().map_or(SendOutcome::NotReady, SendOutcome::Preparing);
        }
        if let Some(document) = message.request.document().cloned() {
            if self.is_outdated(&document) {
                return SendOutcome::Outdated;
            }
            if let Err(()) = self.sync(&document, ctx) {
                return SendOutcome::NotReady;
            }
        }
        let ready = matches!(*self.state.borrow(), ServerState::Ready);
        let Some(session) = self.session.as_mut().filter(|_| ready) else { return SendOutcome::NotReady };
        let outcome = match (message.request.exchange(), message.request.document()) {
            (Exchange::DocumentDiagnostics, Some(document))
                if !session.capabilities.supports(message.request.method()) =>
            {
                let document = document.clone();
                return self.await_push(&document, message.deadline, ctx);
            }
            (Exchange::ProjectDiagnostics, _) => session.project_report(message.deadline),
            (Exchange::Reply | Exchange::DocumentDiagnostics, _) => {
                session.request(&*message.request, message.deadline)
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
    fn is_outdated(&self, document: &DocumentInput) -> bool {
        let source = &document.source;
        let Some(session) = &self.session else { return false };
        let has_it = session.documents.get(source.uri.as_str()).is_some_and(|open| open.hash == source.hash);
        !has_it && !document_loading::is_as_read(&self.context, source)
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

    fn await_push(&mut self, document: &DocumentInput, deadline: Deadline, ctx: &mut Context<Self>) -> SendOutcome {
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
                drop(sender.send(diagnostics));
                receiver
            }
            PushState::Outdated => return SendOutcome::NotReady,
        };
        let pending = PendingPush { pushed, encoding: session.encoding, expiry: session.expiry(None, deadline) };
        // The push may have arrived already and only need to settle: no further event will complete it.
        self.settle_pushes(ctx);
        SendOutcome::Push(pending)
    }

    fn refused_document(&mut self, request: &dyn ServerRequest) -> Option<Unavailable> {
        let source = &request.document()?.source;
        let CrashSuspect { hash, crashes, at } = self.crash_suspects.get(&source.uri)?;
        let crashes = *crashes;
        if *hash != source.hash || at.elapsed() >= self.history.rule().quarantine {
            self.crash_suspects.remove(&source.uri);
            return None;
        }
        (crashes >= MAX_CRASHES_PER_DOCUMENT).then(|| {
            Unavailable::new(
                self.context.kind.as_str(),
                "crashed",
                "this document has crashed the language server twice; it is refused until it changes",
                "codeyard doctor",
            )
        })
    }

    /// A notification or registration from the child.
    pub(super) fn on_event(&mut self, event: ServerEvent, ctx: &mut Context<Self>) {
        let Some(session) = &mut self.session else { return };
        let listens = matches!(&event, ServerEvent::Registered { methods } if names_watched_files(methods));
        let effect = session.on_event(event, &self.context);
        if listens {
            self.replay_early_changes(ctx);
        }
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
