//! Questions: bring the document up to date at the server, send the request, hand out the future.
//!
//! Not here: waiting, decoding, canonicalising; that's the asker's.

use actix::prelude::*;
use std::sync::Arc;

use super::diagnostics::PushState;
use super::up::SyncOutcome;
use super::*;
use crate::question::DocumentInput;
use codeyard_lsp::events::Event;
use codeyard_lsp::methods;
use codeyard_lsp::pending::RequestError;

impl Handler<Ask> for LanguageServer {
    type Result = MessageResult<Ask>;

    fn handle(&mut self, ask: Ask, ctx: &mut Self::Context) -> Self::Result {
        self.last_used = Instant::now();
        MessageResult(self.answer_now(ask, ctx))
    }
}

impl Handler<Pulled> for LanguageServer {
    type Result = ();

    fn handle(&mut self, pulled: Pulled, ctx: &mut Self::Context) {
        if pulled.incarnation != self.incarnation {
            return;
        }
        let Some(up) = &mut self.up else { return };
        if up.diagnostics.pulled(&pulled.uri, pulled.diagnostics) {
            self.tell(News::DiagnosticsChanged, ctx);
        }
    }
}

impl LanguageServer {
    fn answer_now(&mut self, ask: Ask, ctx: &mut Context<Self>) -> Asked {
        if let ServerState::Down(down) = &*self.state.borrow() {
            return Asked::Down(Unavailable::down(self.context.kind.as_str(), down));
        }
        if let Some(refused) = self.poisoned_by(&ask.question) {
            return Asked::Down(refused);
        }
        if ask.question.incarnation().is_some_and(|of| of != self.incarnation) {
            return Asked::Outdated;
        }
        if let Some(document) = ask.question.document().cloned() {
            if self.is_outdated(&document) {
                return Asked::Outdated;
            }
            if let Err(()) = self.sync(&document, ctx) {
                return Asked::NotReady;
            }
        }
        let ready = matches!(*self.state.borrow(), ServerState::Ready);
        let Some(up) = self.up.as_mut().filter(|_| ready) else { return Asked::NotReady };
        let asked = match &ask.question {
            Question::DocumentDiagnostics(document) if !up.capabilities.supports(methods::DOCUMENT_DIAGNOSTIC) => {
                let document = document.clone();
                return self.await_push(&document, ask.deadline, ctx);
            }
            Question::WorkspaceDiagnostics => up.project_report(ask.deadline),
            question => up.request(question, ask.deadline),
        };
        match asked {
            Ok(asked) => asked,
            Err(RequestError::QueueFull | RequestError::Broken) => {
                self.die("queue_full", ctx);
                Asked::NotReady
            }
            Err(RequestError::TooManyPending) => Asked::Down(Unavailable::new(
                self.context.kind.as_str(),
                "overloaded",
                "too many requests are pending at the language server",
                "codeyard doctor",
            )),
            Err(_) => Asked::NotReady,
        }
    }

    /// Whether a question comes too late with its text: the file has changed since it was read. A server that was given such a
    /// text would answer everybody from it.
    fn is_outdated(&self, document: &DocumentInput) -> bool {
        let source = &document.source;
        let Some(up) = &self.up else { return false };
        let has_it = up.documents.get(source.uri.as_str()).is_some_and(|open| open.hash == source.hash);
        !has_it && !disk::is_as_read(&self.context, source)
    }

    /// Makes the server's text of a document that of the disk. `Err`: the child isn't there or doesn't listen.
    fn sync(&mut self, document: &DocumentInput, ctx: &mut Context<Self>) -> Result<(), ()> {
        let Some(up) = &mut self.up else { return Err(()) };
        match up.sync(document) {
            Ok(SyncOutcome::Unchanged) => Ok(()),
            Ok(SyncOutcome::Opened) => {
                if self.context.server.quirks.open_set_matters {
                    self.tell(News::OpenSetChanged, ctx);
                }
                self.refresh_state(ctx);
                Ok(())
            }
            Ok(SyncOutcome::Changed) => {
                self.refresh_state(ctx);
                Ok(())
            }
            Err(error) => {
                self.lost(&error, ctx);
                Err(())
            }
        }
    }

    fn await_push(&mut self, document: &DocumentInput, deadline: Deadline, ctx: &mut Context<Self>) -> Asked {
        let settle = self.context.push_settle();
        if self.context.server.quirks.no_diagnostics {
            return Asked::Unsupported;
        }
        let uri = &document.source.uri;
        let Some(up) = &mut self.up else { return Asked::NotReady };
        let mut state = up.diagnostics.push_of(uri, settle, Instant::now());
        if matches!(state, PushState::Outdated) {
            if let Err(error) = up.reopen(document) {
                self.lost(&error, ctx);
                return Asked::NotReady;
            }
            state = up.diagnostics.push_of(uri, settle, Instant::now());
        }
        let pushed = match state {
            PushState::Awaited(receiver) => receiver,
            PushState::Current(diagnostics) => {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                drop(sender.send(diagnostics));
                receiver
            }
            PushState::Outdated => return Asked::NotReady,
        };
        let pending = PendingPush { pushed, encoding: up.encoding, expiry: up.expiry(None, deadline) };
        // The push may be there already and lack only its quiet: no event will come to say that it's over.
        self.settle_pushes(ctx);
        Asked::Push(pending)
    }

    fn poisoned_by(&mut self, question: &Question) -> Option<Unavailable> {
        let source = &question.document()?.source;
        let Poisoned { hash, deaths, at } = self.poisoned.get(&source.uri)?;
        let deaths = *deaths;
        if *hash != source.hash || at.elapsed() >= self.history.rule().quarantine {
            self.poisoned.remove(&source.uri);
            return None;
        }
        (deaths >= POISON_DEATHS).then(|| {
            Unavailable::new(
                self.context.kind.as_str(),
                "crashed",
                "this document has crashed the language server twice; it is refused until it changes",
                "codeyard doctor",
            )
        })
    }

    /// A notification or registration from the child.
    pub(super) fn on_event(&mut self, event: Event, ctx: &mut Context<Self>) {
        let Some(up) = &mut self.up else { return };
        let listens = matches!(&event, Event::Registered { methods } if names_watched_files(methods));
        let effect = up.on_event(event, &self.context);
        if listens {
            self.follow_early(ctx);
        }
        if effect.diagnostics_changed {
            self.tell(News::DiagnosticsChanged, ctx);
        }
        if effect.refresh {
            self.tell(News::AnswersMayDiffer, ctx);
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
        let Some(up) = &mut self.up else { return };
        let now = Instant::now();
        if let Some(at) = up.diagnostics.settle(settle, now) {
            ctx.run_later(at.saturating_duration_since(now), |server, ctx| server.settle_pushes(ctx));
        }
    }
}

fn names_watched_files(methods: &[String]) -> bool {
    methods.iter().any(|method| method == methods::DID_CHANGE_WATCHED_FILES)
}

/// Keeps the compiler honest about what may cross threads.
const _: fn() = || {
    fn sendable<T: Send>() {}
    sendable::<Asked>();
    sendable::<Arc<ServerContext>>();
};
