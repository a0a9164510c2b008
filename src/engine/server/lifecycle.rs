//! Starts, supervises and stops the server process: launch, events, readiness timers, hang detection, restart.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::prelude::*;
use futures::{FutureExt, StreamExt};
use tokio::time::timeout;

use crate::server::actor::{CrashSuspect, LanguageServer};
use crate::server::context::ServerContext;
use crate::server::launch_spec;
use crate::server::messages::{KillServer, NoticeKind, StopServer, WorkspaceGone};
use crate::server::process_guard::KillOnDrop;
use crate::server::restart_rule::RestartDecision;
use crate::server::session::LiveServer;
use crate::status::server_state::{Down, QUARANTINED, STOPPED, ServerState};
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_base::digest::sha256;
use codeyard_files::watch::Changes;
use codeyard_lsp::client::events::{ServerEvent, ServerEvents};
use codeyard_lsp::client::lifecycle::{Initialized, StopReport};
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::client::{ClientOptions, LspClient, lifecycle};

/// Largest number of crash suspects.
const MAX_CRASH_SUSPECTS: usize = 256;
/// The signal that kills a process from outside.
const SIGKILL: i32 = 9;
/// Number of expired requests after which a silent server counts as hung.
const HUNG_AFTER_EXPIRED: u32 = 3;
/// Number of ticks between two readings of the process tree's memory.
const LEDGER_EVERY: u32 = 15;

struct StartedServer {
    client: LspClient,
    events: ServerEvents,
    child: KillOnDrop,
    initialized: Initialized,
}

/// Why a start failed, with the last lines of standard error.
struct StartFailure {
    message: String,
    stderr: String,
}

/// An event of the server, with the incarnation it belongs to.
struct Tagged {
    incarnation: u64,
    event: ServerEvent,
}

impl LanguageServer {
    /// Starts the process in the background; the state is `Starting` meanwhile.
    pub(super) fn launch(&mut self, ctx: &mut Context<Self>) {
        self.retry = None;
        if self.stopping || self.session.is_some() {
            return;
        }
        self.incarnation += 1;
        let incarnation = self.incarnation;
        self.early_changes = Changes::default();
        self.launched = Some(Instant::now());
        if !matches!(*self.state.borrow(), ServerState::Restarting(_)) {
            self.set_state(ServerState::Starting);
        }
        let start_task = launch_server(self.context.clone()).into_actor(self);
        self.start_task =
            Some(ctx.spawn(start_task.map(move |result, server, ctx| server.on_started(incarnation, result, ctx))));
    }

    fn on_started(&mut self, incarnation: u64, result: Result<StartedServer, StartFailure>, ctx: &mut Context<Self>) {
        if self.stopping || incarnation != self.incarnation {
            return;
        }
        self.start_task = None;
        match result {
            Err(failure) => self.after_exit("start_failed", failure.message, failure.stderr, ctx),
            Ok(started) => {
                let events = futures::stream::unfold(started.events, |mut events| async move {
                    events.recv().await.map(|event| (event, events))
                });
                ctx.add_stream(events.map(move |event| Tagged { incarnation, event }));
                let mut session =
                    LiveServer::new(&self.context, started.client, started.child, started.initialized, incarnation);
                let opened =
                    session.open_anchors(&self.context).and_then(|()| session.open_all(&self.context, &self.reopen));
                if incarnation > 1 {
                    self.notify_workspace(NoticeKind::Replaced, ctx);
                }
                self.session = Some(session);
                if let Err(error) = opened {
                    return self.on_send_error(&error, ctx);
                }
                self.refresh_state(ctx);
                self.replay_early_changes(ctx);
            }
        }
    }

    /// Publishes the current readiness and sets the timer for its next possible change.
    pub(super) fn refresh_state(&mut self, ctx: &mut Context<Self>) {
        let Some(session) = &self.session else { return };
        let now = Instant::now();
        let next = session.readiness_state(now);
        let check = session.next_check(now);
        let was_ready = matches!(*self.state.borrow(), ServerState::Ready);
        let is_ready = matches!(next, ServerState::Ready);
        self.set_state(next);
        if is_ready && !was_ready {
            if let Some(launched) = self.launched.take() {
                self.context.metrics.ready(self.context.kind.as_str(), now.saturating_duration_since(launched));
            }
            self.notify_workspace(NoticeKind::AnswersMayDiffer, ctx);
        }
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        if let Some(at) = check {
            let wait = at.saturating_duration_since(now);
            self.timer = Some(ctx.run_later(wait, |server, ctx| {
                server.timer = None;
                server.refresh_state(ctx);
            }));
        }
    }

    /// A message couldn't be sent. A closed connection has its own event, which is handled there.
    pub(super) fn on_send_error(&mut self, error: &RequestError, ctx: &mut Context<Self>) {
        if !matches!(error, RequestError::Closed(_)) {
            self.kill("queue_full", ctx);
        }
    }

    /// Kills the current process because it misbehaved; the restart rule decides what follows.
    pub(super) fn kill(&mut self, reason: &'static str, ctx: &mut Context<Self>) {
        let Some(session) = self.session.take() else { return };
        let stderr = session.child.process().stderr_tail();
        drop(session);
        self.after_exit(reason, "the language server was ended because it misbehaved".into(), stderr, ctx);
    }

    fn after_exit(&mut self, reason: &'static str, message: String, stderr: String, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        let was_ready = matches!(*self.state.borrow(), ServerState::Ready);
        self.notify_workspace(NoticeKind::AnswersMayDiffer, ctx);
        if self.stopping {
            return self.down(STOPPED, message, stderr);
        }
        self.context.metrics.restart(self.context.kind.as_str(), reason);
        tracing::warn!(
            workspace = %self.context.workspace, server = %self.context.kind, reason,
            "language server ended; `codeyard doctor` shows its last output"
        );
        match self.history.on_exit(Instant::now(), was_ready, self.jitter()) {
            RestartDecision::Restart(wait) => {
                self.set_state(ServerState::Restarting(Down { reason: "crashed", message, stderr }));
                self.restarts += 1;
                self.retry = Some(ctx.run_later(wait, |server, ctx| server.launch(ctx)));
            }
            RestartDecision::Quarantine(wait) => {
                self.down(
                    QUARANTINED,
                    format!(
                        "the language server failed too often ({reason}); it is tried again in {} s",
                        wait.as_secs()
                    ),
                    stderr,
                );
                self.retry = Some(ctx.run_later(wait, |server, ctx| {
                    server.restarts += 1;
                    server.launch(ctx);
                }));
            }
        }
    }

    /// A value in [0, 1) that spreads the restarts of many servers. It is the same for the same server and restart count.
    fn jitter(&self) -> f64 {
        let context = &self.context;
        let within =
            context.gate.root_set().root_of(&context.root).and_then(|root| context.root.strip_prefix(root).ok());
        let within = within.unwrap_or(Path::new("")).display();
        let digest = sha256(format!("{}|{}|{within}|{}", context.workspace, context.kind, self.restarts));
        f64::from(u16::from_be_bytes([digest[0], digest[1]])) / 65_536.0
    }

    fn on_closed(&mut self, ctx: &mut Context<Self>) {
        let Some(session) = self.session.take() else { return };
        self.remember_open(&session);
        self.record_crash_suspects(&session);
        let stderr = session.child.process().stderr_tail();
        self.after_exit("crashed", "the language server ended by itself".into(), stderr, ctx);
    }

    /// Records which documents may have crashed the server; none if it was killed from outside.
    fn record_crash_suspects(&mut self, session: &LiveServer) {
        let exit = session.child.process().exited().now_or_never();
        if exit.is_some_and(|exit| exit.signal == Some(SIGKILL) || exit.code == Some(128 + SIGKILL)) {
            return;
        }
        let now = Instant::now();
        for (uri, hash) in session.suspect_documents() {
            if self.crash_suspects.len() >= MAX_CRASH_SUSPECTS {
                self.crash_suspects.clear();
            }
            let before = self.crash_suspects.get(&uri).filter(|before| before.hash == hash);
            let crashes = before.map_or(1, |before| before.crashes + 1);
            self.crash_suspects.insert(uri, CrashSuspect { hash, crashes, at: now });
        }
    }

    /// Remembers the open documents of a server whose answers depend on them, so that they are reopened after a restart.
    pub(super) fn remember_open(&mut self, session: &LiveServer) {
        let quirks = &self.context.server.quirks;
        if quirks.open_set_matters || quirks.index_follows_open {
            self.reopen = session.open_paths(&self.context);
        }
    }

    /// Runs once a second: checks for a hang, for stability and for idleness.
    pub(super) fn supervise_tick(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        let Some(session) = &self.session else { return };
        let silent = now.saturating_duration_since(session.client.last_byte_at());
        let indexing = matches!(*self.state.borrow(), ServerState::Indexing { .. });
        let limit = if indexing { self.context.times.silent_with_progress } else { self.context.times.silent };
        if session.expired.load(Ordering::Relaxed) >= HUNG_AFTER_EXPIRED && silent >= limit {
            return self.kill("hung", ctx);
        }
        if self.ticks.is_multiple_of(LEDGER_EVERY) {
            // Reading the memory also records the descendants in the process ledger, in case codeyard itself is killed.
            let (process, status) = (session.child.process().clone(), self.context.status.clone());
            blocking::spawn(move || status.set_memory(process.memory_bytes().unwrap_or(0)));
        }
        self.ticks = self.ticks.wrapping_add(1);
        if !self.is_settling() {
            self.early_changes = Changes::default();
        }
        if now.saturating_duration_since(session.started_at) >= self.history.rule().window {
            self.history.on_stable();
        }
        let unused = now.saturating_duration_since(self.last_used);
        if unused >= self.context.times.idle && session.client.pending() == 0 && !self.stopping {
            tracing::info!(workspace = %self.context.workspace, server = %self.context.kind, "language server is idle, stopping it");
            self.notify_workspace(NoticeKind::Idle, ctx);
        }
    }
}

impl StreamHandler<Tagged> for LanguageServer {
    fn handle(&mut self, tagged: Tagged, ctx: &mut Self::Context) {
        if tagged.incarnation != self.incarnation {
            return;
        }
        match tagged.event {
            ServerEvent::Closed(_) => self.on_closed(ctx),
            event => self.on_event(event, ctx),
        }
    }

    fn finished(&mut self, _: &mut Self::Context) {
        // The default would stop the actor, which must stay to restart its process.
    }
}

impl Handler<KillServer> for LanguageServer {
    type Result = ();

    fn handle(&mut self, message: KillServer, ctx: &mut Self::Context) {
        self.kill(message.reason, ctx);
    }
}

impl Handler<WorkspaceGone> for LanguageServer {
    type Result = ();

    fn handle(&mut self, _: WorkspaceGone, ctx: &mut Self::Context) {
        ctx.stop();
    }
}

impl Handler<StopServer> for LanguageServer {
    type Result = ResponseActFuture<Self, Option<StopReport>>;

    fn handle(&mut self, _: StopServer, _: &mut Self::Context) -> Self::Result {
        self.stopping = true;
        self.down(STOPPED, "the language server has been stopped".into(), String::new());
        let session = self.session.take();
        let stopped = async move {
            let (client, child) = session?.into_parts();
            let report = lifecycle::stop(&client, child.process().as_ref()).await;
            tracing::info!(report = ?report, "language server stopped");
            child.disarm();
            Some(report)
        };
        // An actor with timers doesn't end by itself, even without an address.
        Box::pin(stopped.into_actor(self).map(|report, _, ctx| {
            ctx.stop();
            report
        }))
    }
}

async fn launch_server(context: Arc<ServerContext>) -> Result<StartedServer, StartFailure> {
    let failed = |message: String, stderr: String| StartFailure { message, stderr };
    let start_lock = context.start_locks.take(&context.workspace, &context.key).await;
    let own = context.clone();
    let prepared = match blocking::spawn(move || launch_spec::prepare(&own)).await {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(error)) => {
            return Err(failed(format!("the cache folder can't be used: {}", error.kind()), String::new()));
        }
        Err(_) => return Err(failed("preparing the start failed".into(), String::new())),
    };
    let spec = prepared.spec;
    let launched = context.launcher.launch(&spec).await;
    let connection = launched.map_err(|error| failed(error.to_string(), String::new()))?;
    let child = KillOnDrop::new(connection.process, start_lock);
    let options = ClientOptions {
        label: spec.label,
        no_cancel: context.server.quirks.no_cancel.clone(),
        omit_null_params: context.server.quirks.omit_null_params,
        restart_on_error: context.server.quirks.restart_on_error.clone(),
        host: Arc::new(prepared.host),
        frames: context.frames.clone(),
    };
    let (client, events) = LspClient::start(connection.reader, connection.writer, options);
    match timeout(context.times.start, lifecycle::initialize(&client, &prepared.initialize)).await {
        Ok(Ok(initialized)) => Ok(StartedServer { client, events, child, initialized }),
        Ok(Err(error)) => Err(failed(error.to_string(), child.process().stderr_tail())),
        Err(_) => Err(failed("the language server did not start in time".into(), child.process().stderr_tail())),
    }
}
