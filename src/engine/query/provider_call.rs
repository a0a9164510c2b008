//! One question to one provider, from asking to a decoded answer in UTF-16: waits for a starting server, asks again once
//! after a death, retries what the server calls outdated.
//!
//! It has no deadline of its own: whoever holds the future drops it, and with it the request at the server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::limits;
use crate::query::position_encoding;
use crate::query::provider::Provider;
use crate::server::messages::{Ask, Asked, KillServer, PendingAnswer, ProjectReport, Pulled};
use crate::server::request::{LspRequest, ServerRequest};
use crate::status::server_state::{STOPPED, ServerState, Unavailable};
use codeyard_base::blocking;
use codeyard_base::clock::Deadline;
use codeyard_files::gate::Gate;
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::convert::DecodedReply;
use codeyard_lsp::methods;
use codeyard_lsp::text::encoding::PositionEncoding;
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::uri::UriAdmission;
use codeyard_telemetry::{LspCall, RequestOrigin, RpcOutcome};

/// First wait before asking again what the server called outdated; doubles.
const RETRY_FIRST: Duration = Duration::from_millis(5);
/// Longest such wait.
const RETRY_MAX: Duration = Duration::from_millis(200);
/// JSON-RPC: the method isn't implemented.
const METHOD_NOT_FOUND: i64 = -32601;
/// LSP: the content changed, the server cancelled, the request was cancelled.
const OUTDATED: [i64; 3] = [-32801, -32802, -32800];

/// The incarnation of an answer that was pushed: nothing refers back to it.
const NO_INCARNATION: u64 = 0;

/// Why a provider gave no answer.
#[derive(Debug)]
pub(crate) enum ProviderFailure {
    /// It can't do this.
    Unsupported,
    /// It isn't there.
    Unavailable(Unavailable),
    /// It was stopped on purpose while it was asked, or the question is about a text that is no longer on disk: begin again.
    Stopped,
    /// The call as a whole fails.
    Failed(ToolError),
}

/// What one attempt came to.
pub(crate) enum Attempt {
    Reply(Box<RawValue>, PositionEncoding, u64),
    Pushed(RawFileDiagnostics, PositionEncoding),
    Report(ProjectReport),
    Outdated,
    /// It has no such method after all, and diagnostics may come another way.
    Unimplemented,
    ServerExited,
    Refused(i64),
}

/// Asks `provider` and decodes its answer.
pub(crate) async fn ask<R: LspRequest>(
    provider: &Provider,
    request: &R,
    context: RequestContext<'_>,
) -> Result<R::Reply, ProviderFailure> {
    ask_with_incarnation(provider, request, context).await.map(|(reply, _)| reply)
}

/// The same, with the incarnation of the server that answered.
pub(crate) async fn ask_with_incarnation<R: LspRequest>(
    provider: &Provider,
    request: &R,
    context: RequestContext<'_>,
) -> Result<(R::Reply, u64), ProviderFailure> {
    let mut call = ProviderCall::new(provider, request, context);
    match call.settle().await? {
        Attempt::Reply(reply, encoding, incarnation) => {
            let answer = call.decode(reply, encoding).await?;
            for file in R::reported_files(&answer) {
                call.report(file, incarnation).await;
            }
            Ok((answer, incarnation))
        }
        Attempt::Pushed(file, encoding) => {
            let pushed = R::from_push(file).ok_or_else(internal)?;
            Ok((call.to_utf16(pushed, encoding).await?, NO_INCARNATION))
        }
        _ => Err(internal()),
    }
}

/// What all questions of one execution have in common.
#[derive(Clone, Copy)]
pub(crate) struct RequestContext<'a> {
    /// Reads files.
    pub gate: &'a Gate,
    /// By when the asker will have gone.
    pub deadline: Deadline,
    /// For whom.
    pub asker: &'a RequestOrigin,
}

/// One request to one provider, over all its attempts.
pub(crate) struct ProviderCall<'a, R> {
    provider: &'a Provider,
    request: &'a R,
    shared: Arc<dyn ServerRequest>,
    gate: &'a Gate,
    deadline: Deadline,
    asker: &'a RequestOrigin,
    exits: u32,
    refusals: u32,
    retry: Duration,
}

impl<'a, R: LspRequest> ProviderCall<'a, R> {
    pub(crate) fn new(provider: &'a Provider, request: &'a R, context: RequestContext<'a>) -> Self {
        let RequestContext { gate, deadline, asker } = context;
        asker.record_server(&provider.kind);
        Self {
            provider,
            request,
            shared: Arc::new(request.clone()),
            gate,
            deadline,
            asker,
            exits: 0,
            refusals: 0,
            retry: RETRY_FIRST,
        }
    }

    /// Attempts until one holds: deaths and refusals are forgiven once, outdated answers as long as time allows.
    pub(crate) async fn settle(&mut self) -> Result<Attempt, ProviderFailure> {
        loop {
            match self.attempt().await? {
                Attempt::Outdated | Attempt::Unimplemented => self.pause().await,
                Attempt::ServerExited if self.exits >= 1 => {
                    return Err(self.unavailable("crashed", "the language server ended while it was answering"));
                }
                Attempt::ServerExited => self.exits += 1,
                Attempt::Refused(code) if self.refusals >= 1 => {
                    return Err(self.refused(code, "the language server answered with an error"));
                }
                Attempt::Refused(_) => self.refusals += 1,
                held => return Ok(held),
            }
        }
    }

    /// Before asking again what the server called outdated.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.retry).await;
        self.retry = (self.retry * 2).min(RETRY_MAX);
    }

    async fn attempt(&self) -> Result<Attempt, ProviderFailure> {
        let ask = Ask { request: self.shared.clone(), deadline: self.deadline };
        let asked = self.provider.server.send(ask).await;
        if matches!(&*self.provider.state.borrow(), ServerState::Down(down) if down.reason == STOPPED) {
            return Err(ProviderFailure::Stopped);
        }
        let Ok(asked) = asked else {
            return Err(self.unavailable("crashed", "the language server's supervisor was replaced; ask again"));
        };
        match asked {
            Asked::Unsupported => Err(ProviderFailure::Unsupported),
            Asked::Down(unavailable) => Err(ProviderFailure::Unavailable(unavailable)),
            Asked::Outdated => Err(ProviderFailure::Stopped),
            Asked::NotReady => {
                self.wait_for_change().await;
                Box::pin(self.attempt()).await
            }
            Asked::Reply(pending) => self.await_reply(pending, R::METHOD).await,
            Asked::Project(report) => Ok(Attempt::Report(report)),
            Asked::Push(pending) => match (pending.pushed.await, self.request.document()) {
                (Ok(diagnostics), Some(document)) => {
                    pending.expiry.answered();
                    let file = RawFileDiagnostics {
                        uri: document.source.uri.text(),
                        diagnostics: diagnostics.as_ref().clone(),
                    };
                    Ok(Attempt::Pushed(file, pending.encoding))
                }
                _ => {
                    pending.expiry.closed();
                    Ok(Attempt::ServerExited)
                }
            },
        }
    }

    pub(crate) async fn await_reply(
        &self,
        pending: PendingAnswer,
        method: &'static str,
    ) -> Result<Attempt, ProviderFailure> {
        let rpc = self.asker.lsp(method, &self.provider.kind);
        let reply = pending.reply.await;
        end(rpc, &reply);
        match reply {
            Ok(reply) => {
                pending.expiry.answered();
                reply.wait_for_earlier_events().await;
                // A server that went back to indexing meanwhile may have answered from half of what it knows.
                if !matches!(*self.provider.state.borrow(), ServerState::Ready) {
                    return Ok(Attempt::Outdated);
                }
                Ok(Attempt::Reply(reply.into_raw(), pending.encoding, pending.incarnation))
            }
            Err(RequestError::Server { code, .. }) if OUTDATED.contains(&code) => {
                pending.expiry.answered();
                Ok(Attempt::Outdated)
            }
            Err(RequestError::Server { code: METHOD_NOT_FOUND, .. }) => {
                pending.expiry.answered();
                // The client remembers it: the next time nobody asks for this.
                let is_diagnostic = [methods::DOCUMENT_DIAGNOSTIC, methods::WORKSPACE_DIAGNOSTIC].contains(&method);
                if is_diagnostic { Ok(Attempt::Unimplemented) } else { Err(ProviderFailure::Unsupported) }
            }
            Err(RequestError::Server { code, .. }) => {
                pending.expiry.answered();
                Ok(Attempt::Refused(code))
            }
            Err(RequestError::Broken) => {
                pending.expiry.closed();
                self.provider.server.try_send(KillServer { reason: "broken" }).ok();
                Ok(Attempt::ServerExited)
            }
            Err(_) => {
                pending.expiry.closed();
                Ok(Attempt::ServerExited)
            }
        }
    }

    /// Until the server's state is another one. A server that is down answers the next question with that.
    async fn wait_for_change(&self) {
        let mut state = self.provider.state.clone();
        if state.borrow_and_update().is_pending() {
            state.changed().await.ok();
        } else {
            tokio::time::sleep(RETRY_FIRST).await;
        }
    }

    async fn decode(&self, reply: Box<RawValue>, encoding: PositionEncoding) -> Result<R::Reply, ProviderFailure> {
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

    /// The answer with its columns in UTF-16.
    pub(crate) async fn to_utf16<A: DecodedReply>(
        &self,
        answer: A,
        encoding: PositionEncoding,
    ) -> Result<A, ProviderFailure> {
        position_encoding::to_utf16(answer, encoding, self.gate, self.request.document()).await.map_err(|_| internal())
    }

    /// Records at the server's actor that a file's diagnostics were pulled.
    pub(crate) async fn report(&self, file: &RawFileDiagnostics, incarnation: u64) {
        if let UriAdmission::Inside(uri) = self.gate.admit(&file.uri) {
            let diagnostics = file.diagnostics.clone();
            // A server that is gone needs no reminder.
            self.provider.server.send(Pulled { uri, diagnostics, incarnation }).await.ok();
        }
    }

    pub(crate) fn malformed(&self) -> ProviderFailure {
        // What is wrong with it would be told in its own words.
        tracing::warn!(server = %self.provider.kind, "language server's answer is malformed");
        self.unavailable("server_error", "the language server gave a malformed answer")
    }

    /// A server that answered with an error.
    pub(crate) fn refused(&self, code: i64, message: &str) -> ProviderFailure {
        tracing::warn!(server = %self.provider.kind, code, "language server answered with an error");
        self.unavailable("server_error", message)
    }

    pub(crate) fn unavailable(&self, reason: &'static str, message: &str) -> ProviderFailure {
        let last = matches!(&*self.provider.state.borrow(), ServerState::Down(_));
        let command = if last { "codeyard servers list" } else { "codeyard doctor" };
        ProviderFailure::Unavailable(Unavailable::new(self.provider.kind.as_str(), reason, message, command))
    }
}

/// Tells how a request ended.
fn end(rpc: LspCall, reply: &Result<codeyard_lsp::client::pending_requests::ServerReply, RequestError>) {
    rpc.end(match reply {
        Ok(_) => RpcOutcome::Ok,
        Err(RequestError::Server { code, .. }) => RpcOutcome::Error(*code),
        Err(_) => RpcOutcome::Lost,
    });
}

pub(crate) fn internal() -> ProviderFailure {
    ProviderFailure::Failed(ToolError::new(ErrorCode::Internal, "internal error; the server's log has the particulars"))
}
