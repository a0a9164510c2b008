//! Sends one request to one provider and decodes the reply, with columns in UTF-16.
//!
//! It waits for a starting server. It retries once after the process ended and once after an error reply. While the server calls its
//! content outdated, it retries with growing waits. It has no deadline of its own: dropping the future cancels the request at the server.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::admission::overload::Overloaded;
use crate::limits;
use crate::query::asked_provider::WorkspaceFiles;
use crate::query::callers::Callers;
use crate::query::no_answer::{NoAnswer, ProviderFailure, ServerRefusal};
use crate::query::position_encoding;
use crate::query::provider::Provider;
use crate::server::messages::{
    KillServer, PendingAnswer, PendingPush, ProjectReport, PulledDiagnostics, SendOutcome, SendRequest,
};
use crate::server::requests::request::{LspRequest, ServerRequest};
use crate::status::server_state::{CRASHED, STOPPED, ServerState, Unavailable};
use codeyard_base::blocking;
use codeyard_files::gate::Gate;
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::convert::DecodedReply;
use codeyard_lsp::methods;
use codeyard_lsp::text::encoding::PositionRules;
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::uri::UriAdmission;
use codeyard_telemetry::{LspCall, RequestOrigin, RpcOutcome};

/// First wait before a request is repeated because the server called its content outdated; doubles.
const RETRY_FIRST: Duration = Duration::from_millis(5);
/// Longest such wait.
const RETRY_MAX: Duration = Duration::from_millis(200);
/// JSON-RPC error code: the method isn't implemented.
const METHOD_NOT_FOUND: i64 = -32601;
/// LSP error codes: the content changed, the server cancelled, the request was cancelled.
const OUTDATED: [i64; 3] = [-32801, -32802, -32800];

/// The incarnation of a pushed answer: no later request refers to it.
const NO_INCARNATION: u64 = 0;

/// The result of one attempt.
pub(crate) enum Attempt {
    /// The reply, the encoding of its positions, and the incarnation that gave it.
    Reply(Box<RawValue>, PositionRules, u64),
    /// Pushed diagnostics and the encoding of their positions.
    Pushed(RawFileDiagnostics, PositionRules),
    /// The diagnostics that the server has reported for its project.
    Report(ProjectReport),
    /// The server called its content outdated, or was not ready when it replied.
    Outdated,
    /// Nothing was sent: the server was not ready, and that was waited for. Attempts are repeated in a loop, because a server may be in this
    /// state for many short waits.
    Waited,
    /// The server doesn't implement a pull of diagnostics that it advertised. It may push them instead.
    Unimplemented,
    /// The process ended or the connection broke.
    ServerExited,
    /// The server replied with this error.
    Refused(ServerRefusal),
}

/// Sends `request` to `provider` and decodes the reply.
pub(crate) async fn ask<R: LspRequest>(
    provider: &Provider,
    request: &R,
    context: RequestContext<'_>,
) -> Result<R::Reply, ProviderFailure> {
    ask_with_incarnation(provider, request, context).await.map(|(reply, _)| reply)
}

/// The same, with the incarnation of the server that replied.
pub(crate) async fn ask_with_incarnation<R: LspRequest>(
    provider: &Provider,
    request: &R,
    context: RequestContext<'_>,
) -> Result<(R::Reply, u64), ProviderFailure> {
    let mut call = ProviderCall::new(provider, request, context);
    match call.settle().await? {
        Attempt::Reply(reply, encoding, incarnation) => {
            let answer = call.decode(reply, encoding).await?;
            call.report(R::reported_files(&answer), incarnation).await;
            Ok((answer, incarnation))
        }
        Attempt::Pushed(file, encoding) => {
            let pushed = R::from_push(file).ok_or_else(internal)?;
            Ok((call.to_utf16(pushed, encoding).await?, NO_INCARNATION))
        }
        _ => Err(internal()),
    }
}

/// The context that all requests of one execution share.
#[derive(Clone, Copy)]
pub(crate) struct RequestContext<'a> {
    /// The path gate; it also reads files.
    pub gate: &'a Gate,
    /// The calls that wait for the answer.
    pub callers: &'a Callers,
    /// The files of the workspace, for questions about several of them.
    pub files: Option<WorkspaceFiles<'a>>,
    /// The call or background task that the work is attributed to in spans and metrics.
    pub origin: &'a RequestOrigin,
}

/// One request to one provider, over all its attempts.
pub(crate) struct ProviderCall<'a, R> {
    provider: &'a Provider,
    request: &'a R,
    shared: Arc<dyn ServerRequest>,
    gate: &'a Gate,
    callers: &'a Callers,
    origin: &'a RequestOrigin,
    exits: u32,
    refusals: u32,
    retry: Duration,
}

impl<'a, R: LspRequest> ProviderCall<'a, R> {
    /// A request that hasn't been sent yet.
    pub(crate) fn new(provider: &'a Provider, request: &'a R, context: RequestContext<'a>) -> Self {
        let RequestContext { gate, callers, origin, .. } = context;
        origin.record_server(&provider.kind);
        Self {
            provider,
            request,
            shared: Arc::new(request.clone()),
            gate,
            callers,
            origin,
            exits: 0,
            refusals: 0,
            retry: RETRY_FIRST,
        }
    }

    /// Repeats the attempt until one has a result. One exit and one error reply are retried, outdated answers without limit.
    pub(crate) async fn settle(&mut self) -> Result<Attempt, ProviderFailure> {
        loop {
            let attempt = self.attempt().await;
            self.provider.refused.record(R::METHOD, &attempt);
            match attempt? {
                Attempt::Waited => {}
                Attempt::Outdated | Attempt::Unimplemented => self.pause().await,
                Attempt::ServerExited if self.exits >= 1 => {
                    return Err(self.restarting("the language server ended while it was answering"));
                }
                Attempt::ServerExited => self.exits += 1,
                Attempt::Refused(refusal) if self.refusals >= 1 => {
                    return Err(self.refused(&refusal, "the language server answered with an error"));
                }
                Attempt::Refused(_) => self.refusals += 1,
                result => return Ok(result),
            }
        }
    }

    /// Waits before the next attempt. Each wait is twice as long as the last, up to a limit.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.retry).await;
        self.retry = (self.retry * 2).min(RETRY_MAX);
    }

    /// One attempt, in the server's turn if it is ready.
    async fn attempt(&self) -> Result<Attempt, ProviderFailure> {
        if !matches!(*self.provider.state.borrow(), ServerState::Ready) {
            return self.attempt_now().await;
        }
        let Provider { turns, begun, .. } = self.provider;
        let queued = turns.queue.admit(begun.load(Relaxed));
        let queued = queued.map_err(|overloaded| self.overloaded(overloaded))?;
        begun.store(true, Relaxed);
        let attempt = turns.run(self.attempt_now()).await;
        if matches!(&attempt, Ok(Attempt::Reply(..) | Attempt::Pushed(..) | Attempt::Outdated | Attempt::Refused(_))) {
            queued.answered();
        }
        attempt
    }

    async fn attempt_now(&self) -> Result<Attempt, ProviderFailure> {
        let message = SendRequest { request: self.shared.clone(), deadline: self.callers.deadline() };
        let sent = self.provider.server.send(message).await;
        if matches!(&*self.provider.state.borrow(), ServerState::Down(down) if down.reason == STOPPED) {
            return Err(ProviderFailure::Query(NoAnswer::Changed));
        }
        let Ok(sent) = sent else {
            return Err(self.restarting("the language-server actor was replaced; repeat the call"));
        };
        match sent {
            SendOutcome::Unsupported => Err(self.unsupported()),
            SendOutcome::Down(unavailable) => Err(ProviderFailure::Unavailable(unavailable)),
            SendOutcome::Outdated => Err(ProviderFailure::Query(NoAnswer::Changed)),
            SendOutcome::NotReady => {
                self.wait_for_change().await;
                Ok(Attempt::Waited)
            }
            SendOutcome::Preparing(ended) => {
                ended.await;
                Ok(Attempt::Waited)
            }
            SendOutcome::Reply(pending) => self.await_reply(pending, R::METHOD).await,
            SendOutcome::Project(report) => Ok(Attempt::Report(report)),
            SendOutcome::Push(pending) => self.await_push(pending).await,
        }
    }

    /// Waits for the diagnostics that the server pushes.
    async fn await_push(&self, pending: PendingPush) -> Result<Attempt, ProviderFailure> {
        let PendingPush { pushed, encoding, mut expiry } = pending;
        let pushed = self.callers.watch(pushed, || expiry.missed()).await;
        if pushed.is_ok() {
            expiry.answered()
        } else {
            expiry.closed()
        }
        match (pushed, self.request.document()) {
            (Ok(None), _) => Ok(Attempt::Waited),
            (Ok(Some(Err(_))), _) => Err(self.not_kept(1)),
            (Ok(Some(Ok(diagnostics))), Some(document)) => {
                let diagnostics = diagnostics.as_ref().clone();
                Ok(Attempt::Pushed(RawFileDiagnostics { uri: document.source.uri.text(), diagnostics }, encoding))
            }
            _ => Ok(Attempt::ServerExited),
        }
    }

    /// Waits for the reply to a request in flight.
    pub(crate) async fn await_reply(
        &self,
        pending: PendingAnswer,
        method: &'static str,
    ) -> Result<Attempt, ProviderFailure> {
        let rpc = self.origin.lsp(method, &self.provider.kind);
        let PendingAnswer { reply, encoding, incarnation, mut expiry } = pending;
        let reply = self.callers.watch(reply, || expiry.missed()).await;
        record_end(rpc, &reply);
        match reply {
            Ok(reply) => {
                expiry.answered();
                reply.wait_for_earlier_events().await;
                // A server that returned to indexing meanwhile may have answered from an incomplete index.
                if !matches!(*self.provider.state.borrow(), ServerState::Ready) {
                    return Ok(Attempt::Outdated);
                }
                Ok(Attempt::Reply(reply.into_raw(), encoding, incarnation))
            }
            Err(RequestError::Server { code, .. }) if OUTDATED.contains(&code) => {
                expiry.answered();
                Ok(Attempt::Outdated)
            }
            Err(RequestError::Server { code: METHOD_NOT_FOUND, .. }) => {
                expiry.answered();
                // The client records it; this method is not sent again.
                let is_diagnostic = [methods::DOCUMENT_DIAGNOSTIC, methods::WORKSPACE_DIAGNOSTIC].contains(&method);
                if is_diagnostic { Ok(Attempt::Unimplemented) } else { Err(self.unsupported()) }
            }
            Err(RequestError::Server { code, message }) => {
                expiry.answered();
                let message = self.provider.spec.is_built_in().then_some(message);
                Ok(Attempt::Refused(ServerRefusal { code, message }))
            }
            Err(RequestError::Malformed) => {
                // An error object without a code. The server runs, so this is no exit.
                expiry.answered();
                Err(self.malformed())
            }
            Err(RequestError::Broken) => {
                expiry.closed();
                self.provider.server.try_send(KillServer { reason: "broken" }).ok();
                Ok(Attempt::ServerExited)
            }
            Err(_) => {
                expiry.closed();
                Ok(Attempt::ServerExited)
            }
        }
    }

    /// Waits until the server's state changes. A server that is down reports so at the next attempt.
    async fn wait_for_change(&self) {
        let mut state = self.provider.state.clone();
        if state.borrow_and_update().is_pending() {
            state.changed().await.ok();
        } else {
            tokio::time::sleep(RETRY_FIRST).await;
        }
    }

    async fn decode(&self, reply: Box<RawValue>, encoding: PositionRules) -> Result<R::Reply, ProviderFailure> {
        let decoded = if reply.get().len() > limits::INLINE_DECODE_BYTES {
            let request = self.request.clone();
            blocking::spawn(move || request.decode(&reply)).await.map_err(|_| internal())?
        } else {
            self.request.decode(&reply)
        };
        let mut answer = decoded.map_err(|_| self.malformed())?;
        if let Some(fallback_for) = &self.provider.fallback_for {
            R::retain_files(&mut answer, &|uri| fallback_for.has_language_of(uri));
        }
        self.to_utf16(answer, encoding).await
    }

    /// Converts the columns of an answer to UTF-16.
    pub(crate) async fn to_utf16<A: DecodedReply>(
        &self,
        answer: A,
        encoding: PositionRules,
    ) -> Result<A, ProviderFailure> {
        Ok(position_encoding::to_utf16(answer, encoding, self.gate, self.request.document()).await?)
    }

    /// Records pulled diagnostics of files at the server's actor.
    pub(crate) async fn report(&self, files: &[RawFileDiagnostics], incarnation: u64) {
        if files.is_empty() {
            return;
        }
        let uris: Vec<Arc<str>> = files.iter().map(|file| file.uri.clone()).collect();
        let admit = move |gate: &Gate| uris.iter().map(|uri| gate.admit(uri)).collect::<Vec<_>>();
        for (file, admission) in files.iter().zip(self.gate.run(admit).await.unwrap_or_default()) {
            if let UriAdmission::Inside(uri) = admission {
                let diagnostics = file.diagnostics.clone();
                // If the actor is gone, so are its diagnostics.
                self.provider.server.send(PulledDiagnostics { uri, diagnostics, incarnation }).await.ok();
            }
        }
    }

    /// The failure for a reply that can't be decoded.
    pub(crate) fn malformed(&self) -> ProviderFailure {
        // The decoder's message could quote the reply, so it is not logged.
        tracing::warn!(server = %self.provider.kind, "language server's answer is malformed");
        self.unavailable("server_error", "the language server gave a malformed answer")
    }

    /// The failure of a query for diagnostics that the server has reported and that aren't kept, of this many files at least.
    pub(crate) fn not_kept(&self, files: usize) -> ProviderFailure {
        let message = "the language server has reported more diagnostics than are kept; ask for one document, or restart the server";
        let error = ToolError::new(ErrorCode::CapExceeded, message).with("reason", "diagnostics_not_kept");
        error.with("server", self.provider.kind.as_str()).with("files", files).into()
    }

    /// The failure for a reply that is an error.
    pub(crate) fn refused(&self, refusal: &ServerRefusal, what: &str) -> ProviderFailure {
        let code = refusal.code;
        tracing::warn!(server = %self.provider.kind, code, "language server answered with an error");
        let why = refusal.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
        self.unavailable("server_error", &format!("{what}{why}"))
    }

    /// The failure of a request that the server doesn't support.
    fn unsupported(&self) -> ProviderFailure {
        ProviderFailure::Unavailable(Unavailable::unsupported(self.provider.kind.as_str()))
    }

    /// The failure of a request that a busy server didn't get.
    fn overloaded(&self, Overloaded { retry_after_ms }: Overloaded) -> ProviderFailure {
        self.provider.metrics.shed("server");
        ToolError::overloaded(retry_after_ms).with("server", self.provider.kind.as_str()).into()
    }

    /// The failure of a server that ended and, unless it failed for good, is being restarted.
    fn restarting(&self, message: &str) -> ProviderFailure {
        match self.unavailable(CRASHED, message) {
            ProviderFailure::Unavailable(why) if !matches!(&*self.provider.state.borrow(), ServerState::Down(_)) => {
                ProviderFailure::Unavailable(why.retry_after(codeyard_model::limits::RETRY_AFTER_MS))
            }
            failure => failure,
        }
    }

    /// The failure of a server that gave no answer. The hint names the command that shows a server that is down for good.
    pub(crate) fn unavailable(&self, reason: &'static str, message: &str) -> ProviderFailure {
        let is_down = matches!(&*self.provider.state.borrow(), ServerState::Down(_));
        let command = if is_down { "codeyard servers list" } else { "codeyard doctor" };
        ProviderFailure::Unavailable(Unavailable::new(self.provider.kind.as_str(), reason, message, command))
    }
}

/// Records how a request ended.
fn record_end(rpc: LspCall, reply: &Result<codeyard_lsp::client::pending_requests::ServerReply, RequestError>) {
    rpc.end(match reply {
        Ok(_) => RpcOutcome::Ok,
        Err(RequestError::Server { code, .. }) => RpcOutcome::Error(*code),
        Err(_) => RpcOutcome::Lost,
    });
}

/// The failure for a state that the code should never reach.
pub(crate) fn internal() -> ProviderFailure {
    ToolError::internal().into()
}
