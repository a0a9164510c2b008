//! One question to one provider, from asking to a decoded answer in UTF-16: waits for a starting server, asks again once
//! after a death, retries what the server calls outdated.
//!
//! It has no deadline of its own: whoever holds the future drops it, and with it the request at the server.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::limits;
use crate::query::position_encoding;
use crate::query::provider::Provider;
use crate::server::messages::{Ask, Asked, KillServer, PendingAnswer, ProjectReport, Pulled};
use crate::server::request::{ServerRequest, decode, method_of, pulled_file};
use crate::status::server_state::{STOPPED, ServerState, Unavailable};
use codeyard_base::blocking;
use codeyard_base::clock::Deadline;
use codeyard_files::gate::Gate;
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::convert::RawAnswer;
use codeyard_lsp::text::encoding::PositionEncoding;
use codeyard_lsp::{convert, methods};
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
enum Attempt {
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
pub(crate) async fn ask(
    provider: &Provider,
    request: &ServerRequest,
    context: RequestContext<'_>,
) -> Result<RawAnswer, ProviderFailure> {
    let mut call = Call::new(provider, request, context);
    match call.settle().await? {
        Attempt::Reply(reply, encoding, incarnation) => {
            let answer = call.decode(reply, encoding).await?;
            call.remember(&answer, incarnation).await;
            Ok(answer)
        }
        Attempt::Pushed(file, encoding) => call.to_utf16(RawAnswer::Diagnostics(vec![file]), encoding).await,
        _ => Err(internal()),
    }
}

/// The same, with which of the server's lives answered.
pub(crate) async fn ask_one(
    provider: &Provider,
    request: &ServerRequest,
    context: RequestContext<'_>,
) -> Result<(RawAnswer, u64), ProviderFailure> {
    let mut call = Call::new(provider, request, context);
    match call.settle().await? {
        Attempt::Reply(reply, encoding, incarnation) => Ok((call.decode(reply, encoding).await?, incarnation)),
        _ => Err(internal()),
    }
}

/// Asks for everything `provider` has reported, with fresh pulls of its open documents. A file without findings is in it too.
pub(crate) async fn reported(
    provider: &Provider,
    request: &ServerRequest,
    context: RequestContext<'_>,
) -> Result<RawAnswer, ProviderFailure> {
    let mut call = Call::new(provider, request, context);
    loop {
        let Attempt::Report(report) = call.settle().await? else {
            return Err(ProviderFailure::Failed(ToolError::internal()));
        };
        if let Some(answer) = call.project(report).await? {
            return Ok(answer);
        }
        call.pause().await;
    }
}

/// What all questions of one execution have in common.
#[derive(Clone, Copy)]
pub struct RequestContext<'a> {
    /// Reads files.
    pub gate: &'a Gate,
    /// By when the asker will have gone.
    pub deadline: Deadline,
    /// For whom.
    pub asker: &'a RequestOrigin,
}

struct Call<'a> {
    provider: &'a Provider,
    request: &'a ServerRequest,
    gate: &'a Gate,
    deadline: Deadline,
    asker: &'a RequestOrigin,
    exits: u32,
    refusals: u32,
    retry: Duration,
}

impl<'a> Call<'a> {
    fn new(provider: &'a Provider, request: &'a ServerRequest, context: RequestContext<'a>) -> Self {
        let RequestContext { gate, deadline, asker } = context;
        asker.record_server(&provider.kind);
        Self { provider, request, gate, deadline, asker, exits: 0, refusals: 0, retry: RETRY_FIRST }
    }

    /// Attempts until one holds: deaths and refusals are forgiven once, outdated answers as long as time allows.
    async fn settle(&mut self) -> Result<Attempt, ProviderFailure> {
        loop {
            match self.attempt().await? {
                Attempt::Outdated | Attempt::Unimplemented => self.pause().await,
                Attempt::ServerExited if self.exits >= 1 => {
                    return Err(self.unavailable("crashed", "the language server ended while it was answering"));
                }
                Attempt::ServerExited => self.exits += 1,
                Attempt::Refused(code) if self.refusals >= 1 => {
                    tracing::warn!(server = %self.provider.kind, code, "language server answered with an error");
                    return Err(self.unavailable("server_error", "the language server answered with an error"));
                }
                Attempt::Refused(_) => self.refusals += 1,
                held => return Ok(held),
            }
        }
    }

    /// Before asking again what the server called outdated.
    async fn pause(&mut self) {
        tokio::time::sleep(self.retry).await;
        self.retry = (self.retry * 2).min(RETRY_MAX);
    }

    async fn attempt(&self) -> Result<Attempt, ProviderFailure> {
        let ask = Ask { request: self.request.clone(), deadline: self.deadline };
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
            Asked::Reply(pending) => self.await_reply(pending, method_of(self.request)).await,
            Asked::Project(report) => Ok(Attempt::Report(report)),
            Asked::Push(pending) => match (pending.pushed.await, self.request.uri()) {
                (Ok(diagnostics), Some(uri)) => {
                    pending.expiry.answered();
                    let file = RawFileDiagnostics { uri: uri.text(), diagnostics: diagnostics.as_ref().clone() };
                    Ok(Attempt::Pushed(file, pending.encoding))
                }
                _ => {
                    pending.expiry.closed();
                    Ok(Attempt::ServerExited)
                }
            },
        }
    }

    async fn await_reply(&self, pending: PendingAnswer, method: &'static str) -> Result<Attempt, ProviderFailure> {
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

    async fn decode(&self, reply: Box<RawValue>, encoding: PositionEncoding) -> Result<RawAnswer, ProviderFailure> {
        let request = self.request.clone();
        let decoded = if reply.get().len() > limits::INLINE_DECODE_BYTES {
            blocking::spawn(move || decode(&request, &reply)).await.map_err(|_| internal())?
        } else {
            decode(&request, &reply)
        };
        match decoded {
            Ok(mut answer) => {
                if let Some(fallback_for) = &self.provider.fallback_for {
                    fallback_for.keep_own(&mut answer);
                }
                self.to_utf16(answer, encoding).await
            }
            Err(_) => Err(self.malformed()),
        }
    }

    async fn to_utf16(&self, answer: RawAnswer, encoding: PositionEncoding) -> Result<RawAnswer, ProviderFailure> {
        position_encoding::to_utf16(answer, encoding, self.gate, self.request.document()).await.map_err(|_| internal())
    }

    /// A document's diagnostics that were pulled count as reported from now on.
    async fn remember(&self, answer: &RawAnswer, incarnation: u64) {
        if let (ServerRequest::DocumentDiagnostics(_), RawAnswer::Diagnostics(files)) = (self.request, answer) {
            for file in files {
                self.report(file, incarnation).await;
            }
        }
    }

    async fn report(&self, file: &RawFileDiagnostics, incarnation: u64) {
        if let UriAdmission::Inside(uri) = self.gate.admit(&file.uri) {
            let diagnostics = file.diagnostics.clone();
            // A server that is gone needs no reminder.
            self.provider.server.send(Pulled { uri, diagnostics, incarnation }).await.ok();
        }
    }

    /// All that is reported, with what the pulls bring. A pull that the server calls outdated leaves what was reported of its
    /// document, which still holds: a change of the document itself moves an epoch. `None`: there was nothing to leave.
    async fn project(&self, report: ProjectReport) -> Result<Option<RawAnswer>, ProviderFailure> {
        let mut files: HashMap<String, RawFileDiagnostics> = HashMap::new();
        if let RawAnswer::Diagnostics(known) =
            self.to_utf16(RawAnswer::Diagnostics(report.files), report.encoding).await?
        {
            for file in known {
                files.insert(file.uri.to_string(), file);
            }
        }
        let pulls = report
            .pulls
            .into_iter()
            .map(|(uri, pending)| async move { (uri, self.await_reply(pending, methods::DOCUMENT_DIAGNOSTIC).await) });
        for (uri, attempt) in futures::future::join_all(pulls).await {
            let (reply, encoding, incarnation) = match attempt? {
                Attempt::Reply(reply, encoding, incarnation) => (reply, encoding, incarnation),
                Attempt::Outdated if files.contains_key(&*uri) => continue,
                Attempt::Outdated | Attempt::Unimplemented | Attempt::ServerExited => return Ok(None),
                Attempt::Refused(code) => {
                    tracing::warn!(server = %self.provider.kind, code, "language server refused a document's diagnostics");
                    return Err(self.unavailable("server_error", "a document's diagnostics could not be pulled"));
                }
                _ => return Err(internal()),
            };
            let pulled = pulled_file(&uri, &reply).map_err(|_| self.malformed())?;
            let Some(file) = pulled else { continue };
            let RawAnswer::Diagnostics(converted) = self.to_utf16(RawAnswer::Diagnostics(vec![file]), encoding).await?
            else {
                continue;
            };
            for file in converted {
                self.report(&file, incarnation).await;
                files.insert(uri.to_string(), file);
            }
        }
        if let Some(pending) = report.workspace {
            let (reply, encoding) = match self.await_reply(pending, methods::WORKSPACE_DIAGNOSTIC).await? {
                Attempt::Reply(reply, encoding, _) => (reply, encoding),
                Attempt::Outdated | Attempt::Unimplemented | Attempt::ServerExited => return Ok(None),
                Attempt::Refused(code) => {
                    tracing::warn!(server = %self.provider.kind, code, "language server refused its report");
                    return Err(self.unavailable("server_error", "the project's diagnostics could not be pulled"));
                }
                _ => return Err(internal()),
            };
            let reports = convert::workspace_diagnostic_report(&reply).map_err(|_| self.malformed())?;
            let whole = reports.into_iter().filter_map(|entry| match entry.report {
                convert::FileDiagnosticReport::Full { items, .. } => {
                    Some(RawFileDiagnostics { uri: entry.uri, diagnostics: items })
                }
                convert::FileDiagnosticReport::Unchanged { .. } => None,
            });
            if let RawAnswer::Diagnostics(converted) =
                self.to_utf16(RawAnswer::Diagnostics(whole.collect()), encoding).await?
            {
                for file in converted {
                    files.insert(file.uri.to_string(), file);
                }
            }
        }
        let mut all: Vec<RawFileDiagnostics> = files.into_values().collect();
        all.sort_by(|a, b| a.uri.cmp(&b.uri));
        Ok(Some(RawAnswer::Diagnostics(all)))
    }

    fn malformed(&self) -> ProviderFailure {
        // What is wrong with it would be told in its own words.
        tracing::warn!(server = %self.provider.kind, "language server's answer is malformed");
        self.unavailable("server_error", "the language server gave a malformed answer")
    }

    fn unavailable(&self, reason: &'static str, message: &str) -> ProviderFailure {
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

fn internal() -> ProviderFailure {
    ProviderFailure::Failed(ToolError::new(ErrorCode::Internal, "internal error; the server's log has the particulars"))
}
