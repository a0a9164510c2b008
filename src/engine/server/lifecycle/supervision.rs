//! Supervises a running server process: detects a hang, and notices stability and idleness.
//!
//! One timer is set for the next thing that can be due, so a server that nobody uses costs nothing until it is idle for long enough, except
//! a look at folders that no watcher follows. Invariant: while a session runs and something can become due, the timer is set; only while
//! requests are in flight does it fire every second.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::prelude::*;

use crate::limits;
use crate::server::actor::LanguageServer;
use crate::server::documents::file_changes::SETTLES_WITHIN;
use crate::server::messages::NoticeKind;
use crate::server::session::LiveServer;
use crate::status::server_state::ServerState;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;
use codeyard_files::watch::Changes;

/// The shortest time over which the work of a silent server is measured.
const WORK_WINDOW: Duration = Duration::from_secs(10);
/// A silent server works if it uses at least one part in this many of a processor's time.
const WORK_PART: u32 = 100;
/// Time between two checks while requests are in flight.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Time between two looks at folders that no watcher follows, at least.
const UNWATCHED_INTERVAL: Duration = Duration::from_secs(5);

/// The timer of the next check.
#[derive(Default)]
pub(in crate::server) struct SupervisionTimer {
    next: Option<(Instant, SpawnHandle)>,
    /// When the folders that no watcher follows were looked at last.
    looked_at: Option<Instant>,
}

impl LanguageServer {
    /// Sets the timer for the next check, unless it is set for an earlier one.
    pub(in crate::server) fn supervise_later(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        let Some(due) = self.session.as_ref().and_then(|session| self.next_check(session, now)) else { return };
        if let Some((at, timer)) = self.supervision.next.take() {
            if at <= due {
                self.supervision.next = Some((at, timer));
                return;
            }
            ctx.cancel_future(timer);
        }
        let timer = ctx.run_later(due.saturating_duration_since(now), |server, ctx| {
            server.supervision.next = None;
            server.supervise(ctx);
            server.supervise_later(ctx);
        });
        self.supervision.next = Some((due, timer));
    }

    /// When something can be due that no event announces.
    fn next_check(&self, session: &LiveServer, now: Instant) -> Option<Instant> {
        let idle = self.context.times.idle;
        let is_busy = session.client.pending() > 0;
        let soon = now + CHECK_INTERVAL;
        let later = |at: Instant| Some(at).filter(|at| *at > now);
        let checks = [
            is_busy.then_some(soon),
            (session.expired.load(Ordering::Relaxed) >= limits::HUNG_AFTER_EXPIRED)
                .then(|| (session.client.last_byte_at() + self.silence_limit()).max(soon)),
            later(session.started_at + SETTLES_WITHIN),
            self.next_look(session).map(|at| at.max(now)),
            later(session.started_at + self.history.rule().window),
            (!idle.is_zero()).then(|| (self.last_used + idle).max(soon)),
        ];
        checks.into_iter().flatten().min()
    }

    /// When the folders that no watcher follows are looked at next.
    fn next_look(&self, session: &LiveServer) -> Option<Instant> {
        let last = self.supervision.looked_at.map_or(session.started_at, |at| at.max(session.started_at));
        self.projects.have_unwatched().then(|| last + UNWATCHED_INTERVAL)
    }

    /// Silence after which a server with expired requests counts as hung.
    fn silence_limit(&self) -> Duration {
        match &*self.state.borrow() {
            ServerState::Indexing { .. } => self.context.times.silent_with_progress,
            _ => self.context.times.silent,
        }
    }

    /// A silent server that uses a processor isn't hung: on a busy machine its answers take long. It gets the time of a server that
    /// reports progress.
    fn kill_unless_it_works(&mut self, silent: Duration, ctx: &mut Context<Self>) {
        let Some(session) = self.session.as_ref().filter(|_| silent < self.context.times.silent_with_progress) else {
            return self.kill("hung", ctx);
        };
        let now = Instant::now();
        if self.work_mark.is_some_and(|(at, _)| now.saturating_duration_since(at) < WORK_WINDOW) {
            return;
        }
        let process = session.child.process().clone();
        let incarnation = self.incarnation;
        let measured = blocking::spawn(move || process.cpu_time());
        ctx.spawn(measured.into_actor(self).map(move |used, server, ctx| {
            if incarnation == server.incarnation && !server.has_worked(used.ok().flatten()) {
                server.kill("hung", ctx);
            }
        }));
    }

    /// Whether the processor time `used` until now shows work since the last mark. The first call only sets the mark.
    fn has_worked(&mut self, used: Option<Duration>) -> bool {
        let now = Instant::now();
        let before = std::mem::replace(&mut self.work_mark, used.map(|used| (now, used)));
        match (before, used) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some((at, before)), Some(used)) => {
                used.saturating_sub(before) >= now.saturating_duration_since(at) / WORK_PART
            }
        }
    }

    /// Checks for a hang, for stability and for idleness.
    fn supervise(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        let Some(session) = &self.session else { return };
        let silent = now.saturating_duration_since(session.client.last_byte_at());
        if session.expired.load(Ordering::Relaxed) >= limits::HUNG_AFTER_EXPIRED && silent >= self.silence_limit() {
            return self.kill_unless_it_works(silent, ctx);
        }
        self.work_mark = None;
        let runs_for = now.saturating_duration_since(session.started_at);
        let is_idle = session.client.pending() == 0;
        if !self.is_settling() {
            self.early_changes = Changes::default();
        }
        if runs_for >= self.history.rule().window {
            self.history.on_stable();
        }
        if self.next_look(session).is_some_and(|at| at <= now) {
            self.supervision.looked_at = Some(now);
            self.look_at_unwatched(ctx);
        }
        let unused = now.saturating_duration_since(self.last_used);
        let idle = self.context.times.idle;
        if !idle.is_zero() && unused >= idle && is_idle && !self.stopping {
            tracing::info!(workspace = %self.context.workspace, server = %self.context.kind, "language server is idle, stopping it");
            self.notify_workspace(NoticeKind::Idle, ctx);
        }
    }
}
