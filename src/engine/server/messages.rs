//! Messages of the language-server actor and the answers to them.

use std::sync::Arc;

use actix::prelude::*;
use futures::future::{BoxFuture, Shared};

use crate::server::child_key::ChildKey;
use crate::server::diagnostics::diagnostics_budget::DropReason;
use crate::server::requests::expiry::ExpiryGuard;
use crate::server::requests::request::ServerRequest;
use crate::status::server_state::Unavailable;
use codeyard_base::clock::Deadline;
use codeyard_files::watch::Changes;
use codeyard_lsp::client::lifecycle::StopPace;
use codeyard_lsp::client::pending_requests::PendingReply;
use codeyard_lsp::text::encoding::PositionRules;
use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};
use codeyard_model::uri::CanonicalUri;

/// Sends one request to the server. The handler doesn't wait.
#[derive(Message)]
#[rtype(result = "SendOutcome")]
pub struct SendRequest {
    /// The request.
    pub request: Arc<dyn ServerRequest>,
    /// The next deadline of a call that waits for it.
    pub deadline: Deadline,
}

/// The immediate result of [`SendRequest`].
pub enum SendOutcome {
    /// The request was sent.
    Reply(PendingAnswer),
    /// The server pushes diagnostics; this resolves when those of the current content have arrived.
    Push(PendingPush),
    /// The reported diagnostics, and the pulls that must be answered before they are current.
    Project(ProjectReport),
    /// The document changed on disk after it was read for the request: start the query again.
    Outdated,
    /// Wait for the state to change, then ask again.
    NotReady,
    /// The projects are prepared again, or another document that may have crashed the server has its turn; wait for the end of that, then
    /// ask again.
    Preparing(PreparationEnd),
    /// The server doesn't support this request.
    Unsupported,
    /// The server is not available.
    Down(Unavailable),
}

/// Resolves when a preparation of projects has ended and its result is in effect, or the turn of a document has ended.
pub type PreparationEnd = Shared<BoxFuture<'static, ()>>;

/// A request in flight; dropping it cancels the request at the server.
pub struct PendingAnswer {
    /// Resolves to the undecoded result.
    pub reply: PendingReply,
    /// The encoding of its positions.
    pub encoding: PositionRules,
    /// The incarnation of the server that it was sent to.
    pub incarnation: u64,
    /// Counts the request as expired when the deadline of a call passes.
    pub expiry: ExpiryGuard,
}

/// An awaited push.
pub struct PendingPush {
    /// Resolves to the diagnostics of the current content, or to why they aren't kept; `None`: the server is to be asked for them. Fails when
    /// the server goes away.
    pub pushed: tokio::sync::oneshot::Receiver<Option<Result<Arc<Vec<RawDiagnostic>>, DropReason>>>,
    /// The encoding of their positions.
    pub encoding: PositionRules,
    /// Counts the wait as expired when the deadline of a call passes.
    pub expiry: ExpiryGuard,
}

/// The diagnostics that a server has reported for its project.
pub struct ProjectReport {
    /// Files whose diagnostics are known and current.
    pub files: Vec<RawFileDiagnostics>,
    /// Files whose diagnostics aren't kept, because the server has reported more than the budget.
    pub dropped: Vec<Arc<str>>,
    /// There are more such files, whose names aren't known.
    pub has_unknown_files: bool,
    /// Pulls of open documents, by URI.
    pub pulls: Vec<(Arc<str>, PendingAnswer)>,
    /// `workspace/diagnostic`, where supported.
    pub workspace: Option<PendingAnswer>,
    /// The encoding of `files`.
    pub encoding: PositionRules,
}

/// Files changed on disk. Sent before any later request, so that the server processes the changes first.
#[derive(Message, Clone)]
#[rtype(result = "()")]
pub struct FilesChanged(pub Arc<Changes>);

/// PulledDiagnostics diagnostics, to be recorded as reported.
#[derive(Message)]
#[rtype(result = "()")]
pub struct PulledDiagnostics {
    /// The file.
    pub uri: CanonicalUri,
    /// The diagnostics, with positions in UTF-16.
    pub diagnostics: Vec<RawDiagnostic>,
    /// The incarnation of the server that reported them.
    pub incarnation: u64,
}

/// Kills the process, because its answers can't be trusted any more. The restart rule decides when it is restarted.
#[derive(Message)]
#[rtype(result = "()")]
pub struct KillServer {
    /// Why, for the log and the metrics.
    pub reason: &'static str,
}

/// Stops the process in four steps: `shutdown`, `exit`, TERM, KILL. `None`: it was not running.
#[derive(Message)]
#[rtype(result = "Option<codeyard_lsp::client::lifecycle::StopReport>")]
pub struct StopServer(pub StopPace);

/// The workspace actor is gone: stops the actor and kills its process. The new workspace actor has servers of its own.
#[derive(Message)]
#[rtype(result = "()")]
pub struct WorkspaceGone;

/// A notice of a server to its workspace.
#[derive(Message, Debug, Clone, PartialEq, Eq)]
#[rtype(result = "()")]
pub struct ServerNotice {
    /// The server.
    pub from: ChildKey,
    /// What happened.
    pub kind: NoticeKind,
}

/// What a [`ServerNotice`] reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    /// It became ready or asked for a refresh: answers and diagnostics may have changed.
    AnswersMayDiffer,
    /// A document was opened at a server whose answers depend on the open documents.
    OpenSetChanged,
    /// The diagnostics of a file changed.
    DiagnosticsChanged,
    /// A new process runs in place of one that ended.
    Replaced,
    /// It was unused for the idle time.
    Idle,
    /// It handles several projects and is quarantined: each may need a process of its own.
    Quarantined,
}

/// Restarts the server because an operator asked for it. It doesn't count as a failure; it ends a quarantine, a back-off and a start in
/// progress, and clears the crash suspects.
#[derive(Message)]
#[rtype(result = "()")]
pub struct RestartServer;
