//! Keeps the place of a start in the queue while its server loads.
//!
//! After `initialize` a server reads its project: by itself, or for the first requests. It loads as long as its processes use a processor.
//! The place is free when they yield, or after [`limits::MAX_LOAD_MS`], whichever is first. Where processor time is unknown, a server has
//! loaded when it is ready. `docs/internals/decisions/start-admission.md` has the measurements.

use std::time::Duration;

use actix::prelude::*;

use crate::admission::start_queue::StartTicket;
use crate::limits;
use crate::server::actor::LanguageServer;
use crate::status::server_state::ServerState;
use codeyard_base::blocking;
use codeyard_base::clock::Instant;

/// Time between two samples at first, and later. Processor time is counted in steps of 10 ms.
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
const LATER_INTERVAL: Duration = Duration::from_millis(400);
/// The number of samples that are taken at the first interval.
const FIRST_SAMPLES: u32 = 10;
/// Processes that use less than this part of one processor have yielded.
const BUSY_PERCENT: u32 = 10;

/// A server that holds a place in the queue of starts.
pub(in crate::server) struct Loading {
    ticket: StartTicket,
    began: Instant,
    /// The last sample: when, and the processor time used until then.
    last: Option<(Instant, Duration)>,
    samples: u32,
}

impl Loading {
    /// Begins when the server has answered `initialize`.
    pub(in crate::server) fn new(ticket: StartTicket) -> Self {
        Self { ticket, began: Instant::now(), last: None, samples: 0 }
    }

    /// Takes a sample; returns whether the server still loads.
    fn is_busy(&mut self, used: Option<Duration>, is_ready: bool, now: Instant) -> bool {
        self.samples += 1;
        if now.saturating_duration_since(self.began) >= Duration::from_millis(limits::MAX_LOAD_MS) {
            return false;
        }
        let Some(used) = used else { return !is_ready };
        let Some((at, before)) = self.last.replace((now, used)) else { return true };
        let busy = now.saturating_duration_since(at) * BUSY_PERCENT / 100;
        used.saturating_sub(before) > busy
    }

    fn interval(&self) -> Duration {
        if self.samples <= FIRST_SAMPLES { FIRST_INTERVAL } else { LATER_INTERVAL }
    }
}

impl LanguageServer {
    /// Measures how much the server works; frees the place in the queue if it has yielded or ended.
    pub(in crate::server) fn watch_load(&mut self, ctx: &mut Context<Self>) {
        let Some(session) = self.session.as_ref().filter(|_| self.loading.is_some()) else {
            self.loading = None;
            return;
        };
        let process = session.child.process().clone();
        let incarnation = self.incarnation;
        let measured = blocking::spawn(move || process.cpu_time());
        ctx.spawn(measured.into_actor(self).map(move |used, server, ctx| {
            if incarnation == server.incarnation {
                server.on_load_sample(used.ok().flatten(), ctx);
            }
        }));
    }

    fn on_load_sample(&mut self, used: Option<Duration>, ctx: &mut Context<Self>) {
        let is_ready = matches!(*self.state.borrow(), ServerState::Ready);
        let Some(mut loading) = self.loading.take() else { return };
        if loading.is_busy(used, is_ready, Instant::now()) {
            let interval = loading.interval();
            let incarnation = self.incarnation;
            self.loading = Some(loading);
            ctx.run_later(interval, move |server, ctx| {
                if incarnation == server.incarnation {
                    server.watch_load(ctx);
                }
            });
        } else {
            loading.ticket.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::start_queue::StartQueue;
    use codeyard_base::ids::{ServerKind, WorkspaceName};

    fn loading() -> Loading {
        let workspace = WorkspaceName::new("w").unwrap();
        Loading::new(StartQueue::new(1).join(&workspace, &ServerKind::new("ty"), true))
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_loads_while_it_uses_a_processor_and_at_most_for_the_limit() {
        let ms = Duration::from_millis;
        let mut busy = loading();
        let began = busy.began;
        assert!(busy.is_busy(Some(ms(500)), true, began), "one sample shows no work");
        assert!(busy.is_busy(Some(ms(520)), true, began + ms(100)));
        assert!(!busy.is_busy(Some(ms(530)), false, began + ms(200)), "it waits for something else");
        let mut endless = loading();
        let used = |at: u64| Some(ms(at));
        assert!((0..limits::MAX_LOAD_MS).step_by(100).all(|at| endless.is_busy(used(at), false, began + ms(at))));
        assert!(!endless.is_busy(used(limits::MAX_LOAD_MS), false, began + ms(limits::MAX_LOAD_MS)));
        assert_eq!((loading().interval(), endless.interval()), (FIRST_INTERVAL, LATER_INTERVAL));
    }

    #[tokio::test(start_paused = true)]
    async fn where_processor_time_is_unknown_readiness_decides() {
        let mut unknown = loading();
        let began = unknown.began;
        assert!(unknown.is_busy(None, false, began));
        assert!(!unknown.is_busy(None, true, began));
    }
}
