//! Birth, care and death of the child: launch, events, readiness timers, hang detection, restart, stop.
//!
//! Not here: questions (`ask`) and what is open at the server (`up`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::prelude::*;
use futures::{FutureExt, StreamExt};
use tokio::time::timeout;

use super::*;
use crate::restart::Verdict;
use crate::seats::Seat;
use crate::server_state::{QUARANTINED, STOPPED};
use codeyard_base::blocking;
use codeyard_base::digest::sha256;
use codeyard_lsp::client::{Client, ClientOptions};
use codeyard_lsp::events::{Event, Events};
use codeyard_lsp::lifecycle::{self, Initialized, StopReport};
use codeyard_lsp::pending::RequestError;
use codeyard_process::launch::Process;

/// Kills the child's whole group when dropped, unless it has been stopped in order.
pub struct KillOnDrop {
    process: Arc<dyn Process>,
    armed: bool,
    _seat: Seat,
}

impl KillOnDrop {
    fn new(process: Arc<dyn Process>, seat: Seat) -> Self {
        Self { process, armed: true, _seat: seat }
    }

    /// The process.
    pub fn process(&self) -> &Arc<dyn Process> {
        &self.process
    }

    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if self.armed {
            self.process.kill();
        }
    }
}

struct Born {
    client: Client,
    events: Events,
    child: KillOnDrop,
    initialized: Initialized,
}

/// Why a start failed, with the tail of the child's standard error.
struct StillBorn {
    message: String,
    stderr: String,
}

/// An event of the child, with the life it belongs to.
struct Tagged {
    incarnation: u64,
    event: Event,
}

impl LanguageServer {
    /// Starts the child in the background; the state says `Starting` until it's up.
    pub(super) fn launch(&mut self, ctx: &mut Context<Self>) {
        self.retry = None;
        if self.stopping || self.up.is_some() {
            return;
        }
        self.incarnation += 1;
        let incarnation = self.incarnation;
        self.early = Changes::default();
        self.launched = Some(Instant::now());
        if !matches!(*self.state.borrow(), ServerState::Restarting(_)) {
            self.set_state(ServerState::Starting);
        }
        let birth = give_birth(self.context.clone()).into_actor(self);
        self.birth = Some(ctx.spawn(birth.map(move |result, server, ctx| server.on_born(incarnation, result, ctx))));
    }

    fn on_born(&mut self, incarnation: u64, result: Result<Born, StillBorn>, ctx: &mut Context<Self>) {
        if self.stopping || incarnation != self.incarnation {
            return;
        }
        self.birth = None;
        match result {
            Err(still) => self.after_death("start_failed", still.message, still.stderr, ctx),
            Ok(born) => {
                let events = futures::stream::unfold(born.events, |mut events| async move {
                    events.recv().await.map(|event| (event, events))
                });
                ctx.add_stream(events.map(move |event| Tagged { incarnation, event }));
                let mut up = Up::new(&self.context, born.client, born.child, born.initialized, incarnation);
                let opened = up.open_anchors(&self.context).and_then(|()| up.open_all(&self.context, &self.reopen));
                if incarnation > 1 {
                    self.tell(News::Replaced, ctx);
                }
                self.up = Some(up);
                if let Err(error) = opened {
                    return self.lost(&error, ctx);
                }
                self.refresh_state(ctx);
                self.follow_early(ctx);
            }
        }
    }

    /// Publishes what the readiness machine says now, and arms the timer for its next possible change.
    pub(super) fn refresh_state(&mut self, ctx: &mut Context<Self>) {
        let Some(up) = &self.up else { return };
        let now = Instant::now();
        let next = up.readiness_state(now);
        let check = up.next_check(now);
        let was_ready = matches!(*self.state.borrow(), ServerState::Ready);
        let is_ready = matches!(next, ServerState::Ready);
        self.set_state(next);
        if is_ready && !was_ready {
            if let Some(launched) = self.launched.take() {
                self.context.metrics.ready(self.context.kind.as_str(), now.saturating_duration_since(launched));
            }
            self.tell(News::AnswersMayDiffer, ctx);
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

    /// A message couldn't be sent. Of a closed connection its own event tells, with the blame that belongs to it.
    pub(super) fn lost(&mut self, error: &RequestError, ctx: &mut Context<Self>) {
        if !matches!(error, RequestError::Closed(_)) {
            self.die("queue_full", ctx);
        }
    }

    /// Ends the present child at once, because it misbehaved, and lets the restart rule decide.
    pub(super) fn die(&mut self, reason: &'static str, ctx: &mut Context<Self>) {
        let Some(up) = self.up.take() else { return };
        let stderr = up.child.process().stderr_tail();
        drop(up);
        self.after_death(reason, "the language server was ended because it misbehaved".into(), stderr, ctx);
    }

    fn after_death(&mut self, reason: &'static str, message: String, stderr: String, ctx: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            ctx.cancel_future(timer);
        }
        let was_ready = matches!(*self.state.borrow(), ServerState::Ready);
        self.tell(News::AnswersMayDiffer, ctx);
        if self.stopping {
            return self.down(STOPPED, message, stderr);
        }
        self.context.metrics.restart(self.context.kind.as_str(), reason);
        tracing::warn!(
            workspace = %self.context.workspace, server = %self.context.kind, reason,
            "language server ended; `codeyard doctor` shows what it wrote last"
        );
        match self.history.on_death(Instant::now(), was_ready, self.jitter()) {
            Verdict::Restart(wait) => {
                self.set_state(ServerState::Restarting(Down { reason: "crashed", message, stderr }));
                self.restarts += 1;
                self.retry = Some(ctx.run_later(wait, |server, ctx| server.launch(ctx)));
            }
            Verdict::Quarantine(wait) => {
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

    /// In [0, 1): spreads the restarts of many servers, and is the same for the same server each time.
    fn jitter(&self) -> f64 {
        let context = &self.context;
        let within =
            context.gate.root_set().root_of(&context.root).and_then(|root| context.root.strip_prefix(root).ok());
        let within = within.unwrap_or(Path::new("")).display();
        let digest = sha256(format!("{}|{}|{within}|{}", context.workspace, context.kind, self.restarts));
        f64::from(u16::from_be_bytes([digest[0], digest[1]])) / 65_536.0
    }

    fn on_closed(&mut self, ctx: &mut Context<Self>) {
        let Some(up) = self.up.take() else { return };
        self.remember_open(&up);
        self.blame(&up);
        let stderr = up.child.process().stderr_tail();
        self.after_death("crashed", "the language server ended by itself".into(), stderr, ctx);
    }

    /// Notes which documents may have killed it. A server that was killed from outside died of none of them.
    fn blame(&mut self, up: &Up) {
        let exit = up.child.process().exited().now_or_never();
        if exit.is_some_and(|exit| exit.signal == Some(SIGKILL) || exit.code == Some(128 + SIGKILL)) {
            return;
        }
        let now = Instant::now();
        for (uri, hash) in up.documents_in_question() {
            if self.poisoned.len() >= MAX_POISONED {
                self.poisoned.clear();
            }
            let before = self.poisoned.get(&uri).filter(|before| before.hash == hash);
            let deaths = before.map_or(1, |before| before.deaths + 1);
            self.poisoned.insert(uri, Poisoned { hash, deaths, at: now });
        }
    }

    /// What was open at a server whose answers hang on it is opened again at the next one.
    pub(super) fn remember_open(&mut self, up: &Up) {
        let quirks = &self.context.server.quirks;
        if quirks.open_set_matters || quirks.index_follows_open {
            self.reopen = up.open_paths(&self.context);
        }
    }

    /// Once a second: hangs, stability, idleness.
    pub(super) fn care(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        let Some(up) = &self.up else { return };
        let silent = now.saturating_duration_since(up.client.last_byte_at());
        let indexing = matches!(*self.state.borrow(), ServerState::Indexing { .. });
        let limit = if indexing { self.context.times.silent_with_progress } else { self.context.times.silent };
        if up.expired.load(Ordering::Relaxed) >= HUNG_AFTER_EXPIRED && silent >= limit {
            return self.die("hung", ctx);
        }
        if self.cared.is_multiple_of(LEDGER_EVERY) {
            // Reading the memory also notes the child's descendants in the ledger, for the case that all of us are killed.
            let (process, cell) = (up.child.process().clone(), self.context.cell.clone());
            blocking::spawn(move || cell.set_memory(process.memory_bytes().unwrap_or(0)));
        }
        self.cared = self.cared.wrapping_add(1);
        if !self.is_young() {
            self.early = Changes::default();
        }
        if now.saturating_duration_since(up.born) >= self.history.rule().window {
            self.history.on_stable();
        }
        let unused = now.saturating_duration_since(self.last_used);
        if unused >= self.context.times.idle && up.client.pending() == 0 && !self.stopping {
            tracing::info!(workspace = %self.context.workspace, server = %self.context.kind, "language server is idle, stopping it");
            self.tell(News::Idle, ctx);
        }
    }
}

impl StreamHandler<Tagged> for LanguageServer {
    fn handle(&mut self, tagged: Tagged, ctx: &mut Self::Context) {
        if tagged.incarnation != self.incarnation {
            return;
        }
        match tagged.event {
            Event::Closed(_) => self.on_closed(ctx),
            event => self.on_event(event, ctx),
        }
    }

    fn finished(&mut self, _: &mut Self::Context) {
        // The default would stop the actor; it lives on to restart its child.
    }
}

impl Handler<Restart> for LanguageServer {
    type Result = ();

    fn handle(&mut self, message: Restart, ctx: &mut Self::Context) {
        self.die(message.reason, ctx);
    }
}

impl Handler<Orphaned> for LanguageServer {
    type Result = ();

    fn handle(&mut self, _: Orphaned, ctx: &mut Self::Context) {
        ctx.stop();
    }
}

impl Handler<StopServer> for LanguageServer {
    type Result = ResponseActFuture<Self, Option<StopReport>>;

    fn handle(&mut self, _: StopServer, _: &mut Self::Context) -> Self::Result {
        self.stopping = true;
        self.down(STOPPED, "the language server has been stopped".into(), String::new());
        let up = self.up.take();
        let stopped = async move {
            let (client, child) = up?.into_parts();
            let report = lifecycle::stop(&client, child.process().as_ref()).await;
            tracing::info!(report = ?report, "language server stopped");
            child.disarm();
            Some(report)
        };
        // An actor with timers doesn't end by itself, not even when nobody knows it any more.
        Box::pin(stopped.into_actor(self).map(|report, _, ctx| {
            ctx.stop();
            report
        }))
    }
}

async fn give_birth(context: Arc<ServerContext>) -> Result<Born, StillBorn> {
    let failed = |message: String, stderr: String| StillBorn { message, stderr };
    let seat = context.seats.take(&context.workspace, &context.key).await;
    let own = context.clone();
    let prepared = match blocking::spawn(move || prepare::prepare(&own)).await {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(error)) => {
            return Err(failed(format!("the cache folder can't be used: {}", error.kind()), String::new()));
        }
        Err(_) => return Err(failed("preparing the start failed".into(), String::new())),
    };
    let spec = prepared.spec;
    let launched = context.launcher.launch(&spec).await;
    let connection = launched.map_err(|error| failed(error.to_string(), String::new()))?;
    let child = KillOnDrop::new(connection.process, seat);
    let options = ClientOptions {
        label: spec.label,
        no_cancel: context.server.quirks.no_cancel.clone(),
        omit_null_params: context.server.quirks.omit_null_params,
        restart_on_error: context.server.quirks.restart_on_error.clone(),
        host: Arc::new(prepared.host),
        frames: context.frames.clone(),
    };
    let (client, events) = Client::start(connection.reader, connection.writer, options);
    match timeout(context.times.start, lifecycle::initialize(&client, &prepared.initialize)).await {
        Ok(Ok(initialized)) => Ok(Born { client, events, child, initialized }),
        Ok(Err(error)) => Err(failed(error.to_string(), child.process().stderr_tail())),
        Err(_) => Err(failed("the language server did not start in time".into(), child.process().stderr_tail())),
    }
}
