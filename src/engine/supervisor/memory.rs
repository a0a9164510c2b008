//! Measures the memory of all language servers, one pass for all of them, and keeps the limits of their kinds and the memory budget: stops the servers that were unused
//! longest when the budget is exceeded, or when a start waits for room.
//!
//! What is chosen is decided in [`MemoryGate`](crate::status::memory_gate::MemoryGate). Invariants: one pass at a time; while nothing runs,
//! nothing is measured; every server that is stopped here is logged and counted, and doesn't count as a failure of that server.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;

use crate::heap_trim;
use crate::limits::{ACTIVE_MEMORY_PASS_MS, BUDGET_TOLERANCE_PERCENT, MEMORY_PASS_MS, WAITING_MEMORY_PASS_MS};
use crate::status::memory_gate::{MIB, MemoryGate};
use crate::status::registry::ServerPhase;
use crate::status::server_status::LanguageServerStatus;
use crate::status::stopped_servers::StopReason;
use crate::supervisor::actor::Supervisor;
use crate::supervisor::messages::MeasureMemory;
use crate::workspace::messages::{CheckChildMemory, StopChild};
use codeyard_base::blocking;

/// The state of the measurements.
#[derive(Default)]
pub(super) struct MemoryWatch {
    timer: Option<SpawnHandle>,
    is_measuring: bool,
    /// Whether it was logged that the budget can't be kept.
    is_exceeded: bool,
}

impl Supervisor {
    /// The memory budget in bytes; 0 means none.
    pub(super) fn memory_budget(&self) -> u64 {
        self.config.supervision.memory_budget_mib.saturating_mul(MIB)
    }

    /// Begins to measure.
    pub(super) fn watch_memory(&mut self, ctx: &mut Context<Self>) {
        let supervisor = ctx.address();
        // A message that doesn't fit into the mailbox is replaced by the timer.
        self.parts.directory.memory().on_shortage(move || drop(supervisor.try_send(MeasureMemory)));
        self.measure_later(ctx);
    }

    fn measure_later(&mut self, ctx: &mut Context<Self>) {
        let pause = pause(self.parts.directory.memory(), self.memory_budget());
        self.memory_watch.timer = Some(ctx.run_later(pause, |supervisor, ctx| supervisor.measure(ctx)));
    }

    fn measure(&mut self, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.memory_watch.is_measuring, true) {
            return;
        }
        if let Some(timer) = self.memory_watch.timer.take() {
            ctx.cancel_future(timer);
        }
        let gate = self.parts.directory.memory().clone();
        let launcher = self.parts.shared.launcher.clone();
        let measured = blocking::spawn(move || {
            gate.measure(&*launcher);
            heap_trim::if_grown();
        });
        ctx.spawn(measured.into_actor(self).map(|_, supervisor, ctx| {
            supervisor.memory_watch.is_measuring = false;
            supervisor.follow_principals(ctx);
            supervisor.keep_memory_limits(ctx);
            supervisor.keep_memory_budget(ctx);
            supervisor.measure_later(ctx);
        }));
    }

    /// Lets the servers end that use more memory than the limit of their kind.
    fn keep_memory_limits(&self, ctx: &mut Context<Self>) {
        for status in self.parts.directory.memory().over_limit() {
            let Some(running) = self.running.get(&status.identity().workspace) else { continue };
            let check = running.handle.actor.send(CheckChildMemory(status));
            // A workspace that ended has stopped its servers.
            ctx.spawn(async move { check.await.unwrap_or_default() }.into_actor(self));
        }
    }

    fn keep_memory_budget(&mut self, ctx: &mut Context<Self>) {
        let budget = self.memory_budget();
        let gate = self.parts.directory.memory().clone();
        let chosen = gate.evictions();
        let used = gate.used();
        let exceeds = budget > 0 && used > budget + budget / 100 * BUDGET_TOLERANCE_PERCENT && chosen.is_empty();
        if exceeds && !std::mem::replace(&mut self.memory_watch.is_exceeded, exceeds) {
            tracing::warn!(
                used_mib = used / MIB,
                budget_mib = budget / MIB,
                "over the memory budget, and no other language server can be stopped; raise supervision.memory_budget_mib"
            );
        }
        self.memory_watch.is_exceeded &= exceeds || used > budget;
        for status in chosen {
            self.evict(&status, used, ctx);
        }
    }

    /// Stops a server to free its memory.
    fn evict(&self, status: &Arc<LanguageServerStatus>, used: u64, ctx: &mut Context<Self>) {
        let identity = status.identity();
        let Some(running) = self.running.get(&identity.workspace) else { return };
        let unused_s = status.usage().last_request.elapsed().as_secs();
        tracing::warn!(
            workspace = %identity.workspace, server = %identity.kind, id = %identity.id, unused_s,
            memory_mib = status.memory().measured.map(|bytes| bytes / MIB), used_mib = used / MIB,
            budget_mib = self.memory_budget() / MIB, waiting_starts = self.parts.directory.memory().waiting(),
            "language server is stopped to keep the memory budget; the next query starts it again"
        );
        self.parts.shared.metrics.server_evicted(identity.kind.as_str());
        status.retire();
        let stop = running.handle.actor.send(StopChild(status.clone(), StopReason::Evicted));
        // A workspace that ended has stopped its servers.
        ctx.spawn(async move { stop.await.unwrap_or_default() }.into_actor(self));
    }
}

impl Handler<MeasureMemory> for Supervisor {
    type Result = ();

    fn handle(&mut self, _: MeasureMemory, ctx: &mut Self::Context) {
        self.measure(ctx);
    }
}

/// Time until the next pass.
fn pause(gate: &MemoryGate, budget: u64) -> Duration {
    let is_active = |status: &Arc<LanguageServerStatus>| {
        let is_loading = matches!(status.phase(), ServerPhase::Starting | ServerPhase::Indexing);
        is_loading || status.pending() > 0
    };
    Duration::from_millis(match () {
        () if gate.is_waited_for() => WAITING_MEMORY_PASS_MS,
        () if budget > 0 && gate.used() > budget => ACTIVE_MEMORY_PASS_MS,
        () if (budget > 0 || gate.has_limited()) && gate.processes().iter().any(|(status, _)| is_active(status)) => {
            ACTIVE_MEMORY_PASS_MS
        }
        () => MEMORY_PASS_MS,
    })
}
