//! One question to one provider, from asking to a decoded answer in UTF-16: waits for a starting server, asks again once
//! after a death, retries what the server calls outdated.
//!
//! It has no deadline of its own: whoever holds the future drops it, and with it the request at the server.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::columns;
use crate::execution::Provider;
use crate::language_server::{Ask, Asked, PendingAnswer, ProjectReport, Pulled, Restart};
use crate::limits;
use crate::question::{Question, decode, pulled_file};
use crate::server_state::{STOPPED, ServerState, Unavailable};
use codeyard_base::blocking;
use codeyard_base::clock::Deadline;
use codeyard_files::gate::{Admitted, Gate};
use codeyard_lsp::convert::{self, RawAnswer};
use codeyard_lsp::encoding::PositionEncoding;
use codeyard_lsp::methods;
use codeyard_lsp::pending::RequestError;
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_telemetry::{Asker, LspCall, RpcOutcome};

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
    Died,
    Refused(i64),
}

/// Asks `provider` and decodes its answer.
pub(crate) async fn ask(
    provider: &Provider,
    question: &Question,
    asking: Asking<'_>,
) -> Result<RawAnswer, ProviderFailure> {
    let mut call = Call::new(provider, question, asking);
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
    question: &Question,
    asking: Asking<'_>,
) -> Result<(RawAnswer, u64), ProviderFailure> {
    let mut call = Call::new(provider, question, asking);
    match call.settle().await? {
        Attempt::Reply(reply, encoding, incarnation) => Ok((call.decode(reply, encoding).await?, incarnation)),
        _ => Err(internal()),
    }
}

/// Asks for everything `provider` has reported, with fresh pulls of its open documents. A file without findings is in it too.
pub(crate) async fn reported(
    provider: &Provider,
    question: &Question,
    asking: Asking<'_>,
) -> Result<RawAnswer, ProviderFailure> {
    let mut call = Call::new(provider, question, asking);
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
pub struct Asking<'a> {
    /// Reads files.
    pub gate: &'a Gate,
    /// By when the asker will have gone.
    pub deadline: Deadline,
    /// For whom.
    pub asker: &'a Asker,
}

struct Call<'a> {
    provider: &'a Provider,
    question: &'a Question,
    gate: &'a Gate,
    deadline: Deadline,
    asker: &'a Asker,
    deaths: u32,
    refusals: u32,
    retry: Duration,
}

impl<'a> Call<'a> {
    fn new(provider: &'a Provider, question: &'a Question, asking: Asking<'a>) -> Self {
        let Asking { gate, deadline, asker } = asking;
        asker.takes_part(&provider.kind);
        Self { provider, question, gate, deadline, asker, deaths: 0, refusals: 0, retry: RETRY_FIRST }
    }

    /// Attempts until one holds: deaths and refusals are forgiven once, outdated answers as long as time allows.
    async fn settle(&mut self) -> Result<Attempt, ProviderFailure> {
        loop {
            match self.attempt().await? {
                Attempt::Outdated | Attempt::Unimplemented => self.pause().await,
                Attempt::Died if self.deaths >= 1 => {
                    return Err(self.unavailable("crashed", "the language server ended while it was answering"));
                }
                Attempt::Died => self.deaths += 1,
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
        let ask = Ask { question: self.question.clone(), deadline: self.deadline };
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
            Asked::Reply(pending) => self.await_reply(pending, method_of(self.question)).await,
            Asked::Project(report) => Ok(Attempt::Report(report)),
            Asked::Push(pending) => match (pending.pushed.await, self.question.uri()) {
                (Ok(diagnostics), Some(uri)) => {
                    pending.expiry.answered();
                    let file = RawFileDiagnostics { uri: uri.text(), diagnostics: diagnostics.as_ref().clone() };
                    Ok(Attempt::Pushed(file, pending.encoding))
                }
                _ => {
                    pending.expiry.closed();
                    Ok(Attempt::Died)
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
                reply.in_its_turn().await;
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
                self.provider.server.try_send(Restart { reason: "broken" }).ok();
                Ok(Attempt::Died)
            }
            Err(_) => {
                pending.expiry.closed();
                Ok(Attempt::Died)
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
        let question = self.question.clone();
        let decoded = if reply.get().len() > limits::INLINE_DECODE_BYTES {
            blocking::spawn(move || decode(&question, &reply)).await.map_err(|_| internal())?
        } else {
            decode(&question, &reply)
        };
        match decoded {
            Ok(mut answer) => {
                if let Some(stands_for) = &self.provider.stands_for {
                    stands_for.keep_own(&mut answer);
                }
                self.to_utf16(answer, encoding).await
            }
            Err(_) => Err(self.malformed()),
        }
    }

    async fn to_utf16(&self, answer: RawAnswer, encoding: PositionEncoding) -> Result<RawAnswer, ProviderFailure> {
        columns::to_utf16(answer, encoding, self.gate, self.question.document()).await.map_err(|_| internal())
    }

    /// A document's diagnostics that were pulled count as reported from now on.
    async fn remember(&self, answer: &RawAnswer, incarnation: u64) {
        if let (Question::DocumentDiagnostics(_), RawAnswer::Diagnostics(files)) = (self.question, answer) {
            for file in files {
                self.report(file, incarnation).await;
            }
        }
    }

    async fn report(&self, file: &RawFileDiagnostics, incarnation: u64) {
        if let Admitted::Inside(uri) = self.gate.admit(&file.uri) {
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
                Attempt::Outdated | Attempt::Unimplemented | Attempt::Died => return Ok(None),
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
                Attempt::Outdated | Attempt::Unimplemented | Attempt::Died => return Ok(None),
                Attempt::Refused(code) => {
                    tracing::warn!(server = %self.provider.kind, code, "language server refused its report");
                    return Err(self.unavailable("server_error", "the project's diagnostics could not be pulled"));
                }
                _ => return Err(internal()),
            };
            let reports = convert::workspace_diagnostic_report(&reply).map_err(|_| self.malformed())?;
            let whole = reports.into_iter().filter_map(|entry| match entry.report {
                convert::FileReport::Full { items, .. } => {
                    Some(RawFileDiagnostics { uri: entry.uri, diagnostics: items })
                }
                convert::FileReport::Unchanged { .. } => None,
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
fn end(rpc: LspCall, reply: &Result<codeyard_lsp::pending::Reply, RequestError>) {
    rpc.end(match reply {
        Ok(_) => RpcOutcome::Ok,
        Err(RequestError::Server { code, .. }) => RpcOutcome::Error(*code),
        Err(_) => RpcOutcome::Lost,
    });
}

/// The LSP method of a question.
pub(crate) fn method_of(question: &Question) -> &'static str {
    match question {
        Question::Definition(..) => methods::DEFINITION,
        Question::References(..) => methods::REFERENCES,
        Question::Hover(..) => methods::HOVER,
        Question::DocumentSymbols(_) => methods::DOCUMENT_SYMBOL,
        Question::Implementation(..) => methods::IMPLEMENTATION,
        Question::PrepareCalls(..) => methods::PREPARE_CALL_HIERARCHY,
        Question::IncomingCalls(..) => methods::INCOMING_CALLS,
        Question::OutgoingCalls(..) => methods::OUTGOING_CALLS,
        Question::WorkspaceSymbols(_) => methods::WORKSPACE_SYMBOL,
        Question::DocumentDiagnostics(_) => methods::DOCUMENT_DIAGNOSTIC,
        Question::WorkspaceDiagnostics => methods::WORKSPACE_DIAGNOSTIC,
    }
}

fn internal() -> ProviderFailure {
    ProviderFailure::Failed(ToolError::new(ErrorCode::Internal, "internal error; the server's log has the particulars"))
}
