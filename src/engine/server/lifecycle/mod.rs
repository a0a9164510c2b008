//! Starts, supervises and stops the server process: launch, events, readiness timers, hang detection, restart.

pub(in crate::server) mod admin;
pub(in crate::server) mod budget_end;
pub(in crate::server) mod crash_suspects;
pub(crate) mod health;
pub(in crate::server) mod load_watch;
pub(crate) mod memory_limit;
pub(in crate::server) mod process_guard;
pub mod program_failures;
pub mod restart_rule;
pub mod start_locks;
pub(in crate::server) mod startup;
pub(in crate::server) mod stopping;
pub(in crate::server) mod supervision;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::{FutureExt, StreamExt};
use tokio::time::timeout;

use crate::limits;
use crate::server::actor::LanguageServer;
use crate::server::documents::document_loading::LoadedDocuments;
use crate::server::lifecycle::load_watch::Loading;
use crate::server::lifecycle::memory_limit::MEMORY_LIMIT;
use crate::server::lifecycle::restart_rule::RestartDecision;
use crate::server::lifecycle::startup::{StartFailure, StartedServer};
use crate::server::messages::NoticeKind;
use crate::server::session::LiveServer;
use crate::status::server_failure::{KILLED_FROM_OUTSIDE, ServerFailure, is_kill_from_outside};
use crate::status::server_state::{CRASHED, Down, QUARANTINED, ServerState};
use crate::status::server_status::LastEnd;
use codeyard_base::clock::Instant;
use codeyard_base::digest::sha256;
use codeyard_base::seeded_faults;
use codeyard_files::watch::Changes;
use codeyard_lsp::client::events::{CloseReason, ServerEvent};
use codeyard_lsp::client::pending_requests::RequestError;
use codeyard_lsp::registry::MultiRoot;
use codeyard_process::launch::ProcessExit;

/// The reason of an end by a signal that codeyard didn't send.
const KILLED: &str = "killed_outside";
/// The reason of an end because codeyard closed the connection: the server broke the protocol or a limit.
const PROTOCOL_ERROR: &str = "protocol_error";

/// The reason of a start that failed.
const START_FAILED: &str = "start_failed";

/// How a server process ended or failed.
pub(in crate::server) struct ServerEnd {
    /// The reason in metrics and the log.
    pub(in crate::server) reason: &'static str,
    /// One sentence for people, without paths.
    pub(in crate::server) message: String,
    pub(in crate::server) stderr: String,
    /// `None` if it was still running, or if its end is unknown.
    pub(in crate::server) exit: Option<ProcessExit>,
    pub(in crate::server) ran: Duration,
    /// For how long it was ready; `None`: it wasn't when it ended.
    pub(in crate::server) served: Option<Duration>,
}

/// An event of the server, with the incarnation it belongs to.
struct Tagged {
    incarnation: u64,
    event: ServerEvent,
}

impl LanguageServer {
    /// Starts the process in the background; the state is `Starting` meanwhile.
    pub(in crate::server) fn launch(&mut self, ctx: &mut Context<Self>) {
        self.retry = None;
        if self.stopping || self.session.is_some() {
            return;
        }
        self.incarnation += 1;
        self.preparation = None;
        let incarnation = self.incarnation;
        self.early_changes = Changes::default();
        self.launched = None;
        self.last_process = None;
        self.loading = None;
        if !matches!(*self.state.borrow(), ServerState::Restarting(_)) {
            self.set_state(ServerState::Starting);
        }
        let start = startup::start(self.context.clone(), self.state.start().clone(), self.reopen.clone());
        let start_task = start.into_actor(self);
        self.start_task =
            Some(ctx.spawn(start_task.map(move |result, server, ctx| server.on_started(incarnation, result, ctx))));
    }

    fn on_started(
        &mut self,
        incarnation: u64,
        result: Result<(StartedServer, LoadedDocuments), StartFailure>,
        ctx: &mut Context<Self>,
    ) {
        if self.stopping || incarnation != self.incarnation {
            return;
        }
        self.start_task = None;
        match result {
            Err(failed) => {
                let StartFailure { message, stderr, exit, ran } = failed;
                let (reason, message) = match budget_end::of(exit, &self.context.kind) {
                    Some(exceeded) => exceeded,
                    None if is_kill_from_outside(exit) => (KILLED, killed_message()),
                    None => (START_FAILED, message),
                };
                self.after_exit(ServerEnd { reason, message, stderr, exit, ran, served: None }, ctx);
            }
            Ok((started, documents)) => {
                let events = futures::stream::unfold(started.events, |mut events| async move {
                    events.recv().await.map(|event| (event, events))
                });
                ctx.add_stream(events.map(move |event| Tagged { incarnation, event }));
                self.context.program_failures.succeeded(&self.context.program);
                let StartedServer { client, child, initialized, folders, projects, ticket, admitted, .. } = started;
                let mut session = LiveServer::new(&self.context, client, child, initialized, folders, incarnation);
                let ignores_opens = self.context.server.quirks.ignores_early_opens;
                let projects = if ignores_opens { projects.without_open() } else { projects };
                let loaded = session.open_projects(&projects, &documents);
                self.projects = projects;
                let anchored = session.open_anchors(&self.context, &documents);
                // Documents are read with the settings that it has then. Those that aren't opened here are when they are asked about.
                let reopens = !ignores_opens && !self.projects.have_settings_when_ready();
                let reopened: &[_] = if reopens { &self.reopen } else { &[] };
                let opened = anchored.and_then(|_| session.open_all(reopened, &documents));
                if incarnation > 1 {
                    self.notify_workspace(NoticeKind::Replaced, ctx);
                }
                let expired = Arc::downgrade(&session.expired);
                self.context.status.set_process(session.child.process(), session.client.reader(), expired);
                self.session = Some(session);
                self.publish_documents();
                self.supervise_later(ctx);
                self.launched = Some(admitted);
                self.loading = Some(Loading::new(ticket));
                self.watch_load(ctx);
                if let Err(error) = opened {
                    return self.on_send_error(&error, ctx);
                }
                self.keep_replies(loaded, ctx);
                self.refresh_state(ctx);
                self.replay_early_changes(ctx);
            }
        }
    }

    /// Publishes the current readiness and sets the timer for its next possible change.
    pub(in crate::server) fn refresh_state(&mut self, ctx: &mut Context<Self>) {
        let Some(session) = &mut self.session else { return };
        let now = Instant::now();
        let next = session.readiness_state(now);
        let check = session.next_check(now);
        let was_ready = matches!(*self.state.borrow(), ServerState::Ready);
        let is_ready = matches!(next, ServerState::Ready);
        let is_first = is_ready && !std::mem::replace(&mut session.was_ready, true);
        if is_ready {
            session.document_requests.server_is_ready();
        }
        if is_first && let Err(error) = session.send_settings_when_ready(&self.projects) {
            return self.on_send_error(&error, ctx);
        }
        self.set_state(next);
        if is_ready && !was_ready {
            if let Some(launched) = self.launched.take() {
                self.context.metrics.ready(self.context.kind.as_str(), now.saturating_duration_since(launched));
                self.state.start().ready();
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
        if is_first {
            self.on_first_ready(ctx);
        }
    }

    /// A message couldn't be sent. A closed connection has its own event, which is handled there.
    pub(in crate::server) fn on_send_error(&mut self, error: &RequestError, ctx: &mut Context<Self>) {
        if !matches!(error, RequestError::Closed(_)) {
            self.kill("queue_full", ctx);
        }
    }

    /// Kills the current process because it misbehaved; the restart rule decides what follows.
    pub(in crate::server) fn kill(&mut self, reason: &'static str, ctx: &mut Context<Self>) {
        let Some(session) = self.session.take() else { return };
        let stderr = session.child.process().stderr_tail();
        let ran = session.started_at.elapsed();
        self.last_process = Some(session.child.process().clone());
        drop(session);
        let message = "the language server was ended because it misbehaved".into();
        self.after_exit(ServerEnd { reason, message, stderr, exit: None, ran, served: self.ready_for() }, ctx);
    }

    pub(in crate::server) fn after_exit(&mut self, end: ServerEnd, ctx: &mut Context<Self>) {
        let ServerEnd { reason, message, stderr, exit, ran, served } = end;
        self.loading = None;
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        let was_ready = served.is_some();
        let served = served.unwrap_or_default();
        self.context.status.reserve(0);
        self.notify_workspace(NoticeKind::AnswersMayDiffer, ctx);
        if self.stopping {
            return self.stopped(message, stderr);
        }
        self.context.metrics.restart(self.context.kind.as_str(), reason);
        self.last_end = Some(LastEnd::now(reason));
        let roots = self.context.gate.root_set();
        let failure = Arc::new(ServerFailure::now(exit, ran, &stderr, roots, &self.context.env));
        tracing::warn!(
            workspace = %self.context.workspace, server = %self.context.kind, reason, exit_code = failure.exit_code,
            signal = failure.signal, ran_ms = failure.ran_ms, stderr = failure.lines.join(" | "),
            "language server ended; `codeyard doctor` shows its last output"
        );
        let failure = Some(failure);
        let is_hopeless = reason == START_FAILED && self.program_fails_everywhere();
        let decision = match reason {
            MEMORY_LIMIT => self.history.on_memory_limit(served),
            KILLED if !seeded_faults::is_on("kill_from_outside_is_a_crash") => {
                self.history.on_killed(served, self.jitter())
            }
            _ if is_hopeless => self.history.give_up(),
            _ => self.history.on_exit(Instant::now(), was_ready, self.jitter()),
        };
        match decision {
            RestartDecision::Restart(wait) => {
                let retry_at = Some(Instant::now() + wait);
                self.set_state(ServerState::Restarting(Down { reason: CRASHED, message, stderr, failure, retry_at }));
                self.restarts += 1;
                self.publish();
                self.retry = Some(ctx.run_later(wait, |server, ctx| server.launch(ctx)));
            }
            RestartDecision::Quarantine(wait) => {
                let why = match reason {
                    MEMORY_LIMIT => message,
                    _ if is_hopeless => program_failures::FAILS_EVERYWHERE.to_owned(),
                    _ => format!("the language server failed too often ({reason})"),
                };
                let retry_at = Some(Instant::now() + wait);
                self.set_state(ServerState::Down(Down {
                    reason: QUARANTINED,
                    message: why,
                    stderr,
                    failure,
                    retry_at,
                }));
                self.quarantine(wait, ctx);
            }
        }
    }

    /// Schedules the one try after a quarantine.
    fn quarantine(&mut self, wait: Duration, ctx: &mut Context<Self>) {
        self.retry = Some(ctx.run_later(wait, |server, ctx| {
            server.restarts += 1;
            server.launch(ctx);
        }));
        if self.context.multi_root != MultiRoot::No && self.context.folders.count() > 1 {
            self.notify_workspace(NoticeKind::Quarantined, ctx);
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

    /// For how long the server has been ready; `None`: it isn't.
    pub(in crate::server) fn ready_for(&self) -> Option<Duration> {
        matches!(*self.state.borrow(), ServerState::Ready).then(|| self.since.elapsed())
    }

    fn on_closed(&mut self, reason: CloseReason, ctx: &mut Context<Self>) {
        let Some(session) = self.session.take() else { return };
        self.last_process = Some(session.child.process().clone());
        self.remember_open(&session);
        let served = self.ready_for();
        let exit = session.child.process().exited().now_or_never();
        if exit.is_some() || reason.is_violation() {
            return self.on_exited(&session, exit, reason, served, ctx);
        }
        // The process has closed its pipes and is about to end. Until then no call can reach it.
        if !self.stopping {
            let message = "the language server has closed its connection".to_owned();
            let stderr = session.child.process().stderr_tail();
            self.set_state(ServerState::Restarting(Down {
                reason: CRASHED,
                message,
                stderr,
                failure: None,
                retry_at: None,
            }));
        }
        let exited = timeout(Duration::from_millis(limits::EXIT_WAIT_MS), session.child.process().exited());
        let waited = async move { (exited.await.ok(), session) };
        let incarnation = self.incarnation;
        ctx.spawn(waited.into_actor(self).map(move |(exit, session), server, ctx| {
            if incarnation == server.incarnation {
                server.on_exited(&session, exit, reason, served, ctx);
            }
        }));
    }

    fn on_exited(
        &mut self,
        session: &LiveServer,
        exit: Option<ProcessExit>,
        closed: CloseReason,
        served: Option<Duration>,
        ctx: &mut Context<Self>,
    ) {
        self.record_crash_suspects(session, exit);
        let stderr = session.child.process().stderr_tail();
        let ran = session.started_at.elapsed();
        let (reason, message) = self.cause_of_end(exit, &closed);
        self.after_exit(ServerEnd { reason, message, stderr, exit, ran, served }, ctx);
    }

    /// The reason of an end, for metrics and the log, and one sentence for people.
    fn cause_of_end(&self, exit: Option<ProcessExit>, closed: &CloseReason) -> (&'static str, String) {
        if let Some(exceeded) = budget_end::of(exit, &self.context.kind) {
            return exceeded;
        }
        match exit {
            _ if closed.is_violation() => {
                (PROTOCOL_ERROR, format!("codeyard closed the connection to the language server: {closed}"))
            }
            _ if is_kill_from_outside(exit) => (KILLED, killed_message()),
            Some(_) => (CRASHED, "the language server ended by itself".to_owned()),
            None => (CRASHED, "the language server closed its connection and did not exit".to_owned()),
        }
    }

    /// Remembers the open documents of a server whose answers depend on them, so that they are reopened after a restart.
    pub(in crate::server) fn remember_open(&mut self, session: &LiveServer) {
        let quirks = &self.context.server.quirks;
        if quirks.open_set_matters || quirks.index_follows_open {
            self.reopen = session.open_paths();
        }
    }
}

fn killed_message() -> String {
    format!("the language server {KILLED_FROM_OUTSIDE}")
}

impl StreamHandler<Tagged> for LanguageServer {
    fn handle(&mut self, tagged: Tagged, ctx: &mut Self::Context) {
        if tagged.incarnation != self.incarnation {
            return;
        }
        match tagged.event {
            ServerEvent::Closed(reason) => self.on_closed(reason, ctx),
            event => self.on_event(event, ctx),
        }
    }

    fn finished(&mut self, _: &mut Self::Context) {
        // The default would stop the actor, which must stay to restart its process.
    }
}
