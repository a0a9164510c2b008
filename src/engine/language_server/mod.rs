//! The actor of one language server: one per workspace, kind and project root, shared by every client.
//!
//! It starts the child, keeps it, restarts it by rule, keeps its open documents equal to the disk, and hands out questions
//! as futures that cancel when dropped. It never waits in a handler, changes no epoch itself (it tells its workspace), and
//! knows no tool.
//! Invariants: at most one child at a time; no event of an earlier incarnation is ever taken for one of the present one; a
//! dropped actor leaves no process.

mod ask;
mod diagnostics;
mod disk;
mod follow;
mod health;
mod life;
mod operate;
mod prepare;
mod unread;
mod up;
mod watched;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

use actix::prelude::*;

use crate::census::ServerPhase;
use crate::exit::{ExitGuard, ExitKind};
use crate::providers::ChildKey;
use crate::restart::RestartHistory;
use crate::server_context::ServerContext;
use crate::server_state::{Down, ServerState, Unavailable};
use crate::state_watch;
use codeyard_base::clock::{Deadline, Instant};
use codeyard_files::watch::Changes;
use codeyard_lsp::encoding::PositionEncoding;
use codeyard_lsp::pending::PendingReply;
use codeyard_model::diagnostic::{RawDiagnostic, RawFileDiagnostics};
use codeyard_model::uri::CanonicalUri;

use super::question::Question;

pub use health::{GetHealth, ServerHealth};
pub use life::KillOnDrop;
pub use operate::StartAnew;
use up::Up;

/// Messages that may wait for the actor. Beyond it senders wait.
const MAILBOX: usize = 4_096;
/// How often a running server is looked after.
const CARE_INTERVAL: Duration = Duration::from_secs(1);
/// Every so many looks the child's memory is read and its descendants are noted in the ledger.
const LEDGER_EVERY: u32 = 15;
/// Expired requests that, with silence, make a server count as hung.
const HUNG_AFTER_EXPIRED: u32 = 3;
/// Deaths a document may cause before it is refused until it changes.
const POISON_DEATHS: u32 = 2;
/// What ends a process from outside.
const SIGKILL: i32 = 9;
/// Documents that are remembered as having killed the server.
const MAX_POISONED: usize = 256;

/// Asks one question. The handler doesn't wait.
#[derive(Message)]
#[rtype(result = "Asked")]
pub struct Ask {
    /// What is asked.
    pub question: Question,
    /// By when the asker will have gone.
    pub deadline: Deadline,
}

/// What comes of a question right away.
pub enum Asked {
    /// It's under way.
    Reply(PendingAnswer),
    /// The server pushes diagnostics by itself; this resolves when those of the present content are there.
    Push(PendingPush),
    /// What is reported, and the pulls that must come in before that is fresh.
    Project(ProjectReport),
    /// The document isn't on disk any more as it was read for the question: begin anew.
    Outdated,
    /// Wait for the state to change, then ask again.
    NotReady,
    /// The server can't do this.
    Unsupported,
    /// The server isn't there.
    Down(Unavailable),
}

/// A request on its way; dropping it cancels at the server.
pub struct PendingAnswer {
    /// Resolves to the undecoded result.
    pub reply: PendingReply,
    /// The encoding of its positions.
    pub encoding: PositionEncoding,
    /// Which life of the server it was asked in.
    pub incarnation: u64,
    /// Counts the request as expired if it is dropped after its deadline.
    pub expiry: ExpiryGuard,
}

/// A push that is waited for.
pub struct PendingPush {
    /// Resolves to the diagnostics of the present content; fails when the server goes away.
    pub pushed: tokio::sync::oneshot::Receiver<Arc<Vec<RawDiagnostic>>>,
    /// The encoding of their positions.
    pub encoding: PositionEncoding,
    /// Counts the wait as expired if it is dropped after its deadline.
    pub expiry: ExpiryGuard,
}

/// What a server has reported about its project.
pub struct ProjectReport {
    /// Files whose diagnostics are known and current.
    pub files: Vec<RawFileDiagnostics>,
    /// Pulls of open documents, by URI.
    pub pulls: Vec<(Arc<str>, PendingAnswer)>,
    /// `workspace/diagnostic`, where supported.
    pub workspace: Option<PendingAnswer>,
    /// The encoding of `files`.
    pub encoding: PositionEncoding,
}

/// Files changed on disk. Sent before any later question, so that the server knows them first.
#[derive(Message, Clone)]
#[rtype(result = "()")]
pub struct FilesChanged(pub Arc<Changes>);

/// Diagnostics that were pulled, to be remembered as reported.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Pulled {
    /// The file.
    pub uri: CanonicalUri,
    /// What the server said, positions in UTF-16.
    pub diagnostics: Vec<RawDiagnostic>,
    /// Which life of the server said so.
    pub incarnation: u64,
}

/// The server's answers can't be trusted any more: start it anew.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Restart {
    /// Why, for the log and the metrics.
    pub reason: &'static str,
}

/// Ends the child by the ladder: shutdown, exit, TERM, KILL. `None`: there was none.
#[derive(Message)]
#[rtype(result = "Option<codeyard_lsp::lifecycle::StopReport>")]
pub struct StopServer;

/// Ends the child at once: the workspace is gone, and the one built in its place has children of its own.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Orphaned;

/// A server tells its workspace something.
#[derive(Message, Debug, Clone, PartialEq, Eq)]
#[rtype(result = "()")]
pub struct ServerNews {
    /// Which child.
    pub from: ChildKey,
    /// What.
    pub what: News,
}

/// What a server tells its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// It has become ready, or asked for a refresh: texts and diagnostics may read differently now.
    AnswersMayDiffer,
    /// A document was opened at a server whose answers hang on what is open.
    OpenSetChanged,
    /// The diagnostics of a file differ from those before.
    DiagnosticsChanged,
    /// Another child runs in place of one that ended.
    Replaced,
    /// It stopped because nobody used it.
    Idle,
}

/// Counts a request as expired if it is dropped unanswered after its deadline.
pub struct ExpiryGuard {
    deadline: Deadline,
    expired: Option<Arc<AtomicU32>>,
    trace: Arc<AtomicU8>,
}

/// A request is under way.
const TRACE_OPEN: u8 = 0;
/// It was answered, or its asker went away.
const TRACE_OVER: u8 = 1;
/// The server went away first.
const TRACE_DIED: u8 = 2;

impl ExpiryGuard {
    fn new(deadline: Deadline, expired: Arc<AtomicU32>) -> Self {
        Self { deadline, expired: Some(expired), trace: Arc::new(AtomicU8::new(TRACE_OPEN)) }
    }

    /// The request was answered.
    pub fn answered(mut self) {
        if let Some(expired) = self.expired.take() {
            expired.store(0, Ordering::Relaxed);
        }
        self.trace.store(TRACE_OVER, Ordering::Relaxed);
    }

    fn trace(&self) -> Arc<AtomicU8> {
        self.trace.clone()
    }

    /// The server went away before it answered: the document stays under suspicion.
    pub fn closed(mut self) {
        self.expired = None;
        self.trace.store(TRACE_DIED, Ordering::Relaxed);
    }
}

impl Drop for ExpiryGuard {
    fn drop(&mut self) {
        if let Some(expired) = self.expired.take()
            && self.deadline.passed()
        {
            expired.fetch_add(1, Ordering::Relaxed);
        }
        self.trace.compare_exchange(TRACE_OPEN, TRACE_OVER, Ordering::Relaxed, Ordering::Relaxed).ok();
    }
}

/// A document that was asked about when the server died.
struct Poisoned {
    hash: [u8; 32],
    deaths: u32,
    at: Instant,
}

/// See the module.
pub struct LanguageServer {
    context: Arc<ServerContext>,
    state: state_watch::Sender,
    since: Instant,
    up: Option<Up>,
    incarnation: u64,
    history: RestartHistory,
    restarts: u64,
    /// When the present child was started, until it is ready.
    launched: Option<Instant>,
    poisoned: HashMap<CanonicalUri, Poisoned>,
    reopen: Vec<PathBuf>,
    last_used: Instant,
    stopping: bool,
    /// The look at readiness that is due next.
    timer: Option<SpawnHandle>,
    /// The start that is under way.
    birth: Option<SpawnHandle>,
    /// The start that waits for a back-off or a quarantine to pass.
    retry: Option<SpawnHandle>,
    cared: u32,
    /// What changed on disk since the present child was launched, while that is news to it.
    early: Changes,
    _exit: ExitGuard,
}

impl LanguageServer {
    /// An actor for `context`, and where its state can be watched. `on_exit` hears how it ended.
    pub fn new(
        context: Arc<ServerContext>,
        on_exit: impl FnOnce(ExitKind) + Send + 'static,
    ) -> (Self, state_watch::Receiver) {
        let (state, watcher) = state_watch::channel(ServerState::Starting);
        let now = Instant::now();
        let history = RestartHistory::new(context.restart);
        let server = Self {
            context,
            state,
            since: now,
            up: None,
            incarnation: 0,
            history,
            restarts: 0,
            launched: None,
            poisoned: HashMap::new(),
            reopen: Vec::new(),
            last_used: now,
            stopping: false,
            timer: None,
            birth: None,
            retry: None,
            cared: 0,
            early: Changes::default(),
            _exit: ExitGuard::new(on_exit),
        };
        (server, watcher)
    }

    /// Starts the actor, with its mailbox large enough from the first message on.
    pub fn start_roomy(self) -> Addr<Self> {
        Self::create(|ctx| {
            ctx.set_mailbox_capacity(MAILBOX);
            self
        })
    }

    fn set_state(&mut self, next: ServerState) {
        let changed = *self.state.borrow() != next;
        if changed {
            let same_kind = std::mem::discriminant(&*self.state.borrow()) == std::mem::discriminant(&next);
            if !same_kind {
                self.since = Instant::now();
                tracing::info!(
                    workspace = %self.context.workspace, server = %self.context.kind, state = ?next.phase(),
                    ready = matches!(next, ServerState::Ready), "language server changed state"
                );
            }
            self.context.cell.set_phase(ServerPhase::from(&next));
            self.state.send_replace(next);
        }
    }

    /// Tells the workspace, without waiting for it. A full mailbox delays the news; none is lost.
    fn tell(&self, what: News, ctx: &mut Context<Self>) {
        let sent = self.context.tell.send(ServerNews { from: self.context.key.clone(), what });
        ctx.spawn(
            async move {
                sent.await.ok();
            }
            .into_actor(self),
        );
    }

    fn down(&mut self, reason: &'static str, message: String, stderr: String) {
        self.set_state(ServerState::Down(Down { reason, message, stderr }));
    }
}

impl Actor for LanguageServer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.launch(ctx);
        ctx.run_interval(CARE_INTERVAL, |server, ctx| server.care(ctx));
    }
}
