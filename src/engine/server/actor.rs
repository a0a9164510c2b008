//! The state of the language-server actor, its start, and its notices to the workspace.
//!
//! A message handler never waits. The actor changes no epoch: it sends a notice to its workspace. It knows no tool.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use crate::server::context::ServerContext;
use crate::server::lifecycle::crash_suspects::CrashSuspects;
use crate::server::lifecycle::load_watch::Loading;
use crate::server::lifecycle::restart_rule::RestartHistory;
use crate::server::lifecycle::supervision::SupervisionTimer;
use crate::server::messages::{NoticeKind, ServerNotice};
use crate::server::projects::prepared_projects::PreparedProjects;
use crate::server::projects::project_updates::RunningPreparation;
use crate::server::session::LiveServer;
use crate::status::actor_exit::{ExitGuard, ExitKind};
use crate::status::server_state::{Down, STOPPED, ServerState};
use crate::status::server_status::LastEnd;
use crate::status::state_watch;
use codeyard_base::clock::Instant;
use codeyard_files::watch::Changes;
use codeyard_process::launch::Process;

/// Capacity of the mailbox. When it is full, senders wait.
const MAILBOX: usize = 4_096;

/// Time until notices are sent again to a workspace whose mailbox was full.
const NOTICE_RETRY: Duration = Duration::from_millis(5);

/// The actor of one language server.
pub struct LanguageServer {
    pub(super) context: Arc<ServerContext>,
    pub(super) state: state_watch::Sender,
    pub(super) since: Instant,
    pub(super) session: Option<LiveServer>,
    /// The process of the last session, which may not have ended yet; `None` since the next launch.
    pub(super) last_process: Option<Arc<dyn Process>>,
    /// The projects as the current process knows them.
    pub(super) projects: PreparedProjects,
    /// The preparation of other projects for the current process.
    pub(super) preparation: Option<RunningPreparation>,
    pub(super) incarnation: u64,
    pub(super) history: RestartHistory,
    pub(super) restarts: u64,
    /// Why it was ended or restarted last.
    pub(super) last_end: Option<LastEnd>,
    /// When the start of the current process was admitted; `None` once it is ready.
    pub(super) launched: Option<Instant>,
    pub(super) crash_suspects: CrashSuspects,
    pub(super) reopen: Vec<PathBuf>,
    pub(super) last_used: Instant,
    pub(super) stopping: bool,
    /// The next check of the readiness.
    pub(super) timer: Option<SpawnHandle>,
    /// The start in progress.
    pub(super) start_task: Option<SpawnHandle>,
    /// When the processor time of a silent server was last measured, and that time.
    pub(super) work_mark: Option<(Instant, Duration)>,
    /// The place in the queue of starts, held while the server loads.
    pub(super) loading: Option<Loading>,
    /// The start that is scheduled after a back-off or a quarantine.
    pub(super) retry: Option<SpawnHandle>,
    /// The next check of the running process.
    pub(super) supervision: SupervisionTimer,
    /// Changes on disk since the current process was launched, kept while it may still register for them.
    pub(super) early_changes: Changes,
    /// Notices that the workspace's mailbox had no room for.
    pub(super) waiting_notices: BTreeSet<NoticeKind>,
    pub(super) _exit: ExitGuard,
}

impl LanguageServer {
    /// An actor for `context`, and the receiver of its state. `on_exit` is called when the actor ends.
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
            session: None,
            last_process: None,
            projects: PreparedProjects::default(),
            preparation: None,
            incarnation: 0,
            history,
            restarts: 0,
            last_end: None,
            launched: None,
            crash_suspects: CrashSuspects::default(),
            reopen: Vec::new(),
            last_used: now,
            stopping: false,
            timer: None,
            start_task: None,
            work_mark: None,
            loading: None,
            retry: None,
            supervision: SupervisionTimer::default(),
            early_changes: Changes::default(),
            waiting_notices: BTreeSet::new(),
            _exit: ExitGuard::new(on_exit),
        };
        (server, watcher)
    }

    /// Starts the actor with its full mailbox capacity from the first message on.
    pub fn start_roomy(self) -> Addr<Self> {
        Self::create(|ctx| {
            ctx.set_mailbox_capacity(MAILBOX);
            self
        })
    }

    pub(super) fn set_state(&mut self, next: ServerState) {
        let changed = *self.state.borrow() != next;
        if changed {
            let same_kind = std::mem::discriminant(&*self.state.borrow()) == std::mem::discriminant(&next);
            if !same_kind {
                self.since = Instant::now();
                let ready = matches!(next, ServerState::Ready);
                tracing::info!(
                    workspace = %self.context.workspace, server = %self.context.kind, state = ?next.phase(), ready,
                    assumed = ready && self.is_assumed_ready(), "language server changed state"
                );
            }
            self.state.send_replace(next);
            self.publish();
        }
    }

    /// Sends a notice to the workspace. A full mailbox delays it. A notice that waits serves for later ones of its kind, so that a server
    /// that causes many costs no memory; none is lost.
    pub(super) fn notify_workspace(&mut self, kind: NoticeKind, ctx: &mut Context<Self>) {
        if self.waiting_notices.insert(kind) && self.waiting_notices.len() == 1 {
            self.send_notices(ctx);
        }
    }

    fn send_notices(&mut self, ctx: &mut Context<Self>) {
        while let Some(kind) = self.waiting_notices.first().copied() {
            let notice = ServerNotice { from: self.context.key.clone(), kind };
            if let Err(SendError::Full(_)) = self.context.notices.try_send(notice) {
                ctx.run_later(NOTICE_RETRY, |server, ctx| server.send_notices(ctx));
                return;
            }
            self.waiting_notices.remove(&kind);
        }
    }

    /// It isn't running and will not start without a request.
    pub(super) fn stopped(&mut self, message: String, stderr: String) {
        let down = Down { reason: STOPPED, message, stderr, failure: None, retry_at: None };
        self.set_state(ServerState::Down(down));
    }
}

impl Actor for LanguageServer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.launch(ctx);
    }
}
