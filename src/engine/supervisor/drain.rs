//! Drains workspaces: calls in flight end, language servers stop, and every waiter gets the report.
//!
//! A drain continues even if no caller waits for it. Invariants: calls in flight have until their own deadline and no longer; all
//! waiters of one drain get the same report.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::FutureExt;

use crate::status::registry::WorkspaceState;
use crate::supervisor::actor::{Running, Supervisor};
use crate::supervisor::drain_state::{CallSlots, DrainReport, Draining, PendingDrain};
use crate::supervisor::messages::DrainAll;
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::messages::Drain;
use codeyard_base::clock::Instant;
use codeyard_lsp::client::lifecycle::StopPace;

/// Longest time for calls in flight when their workspace drains.
const DRAIN_CALLS: Duration = Duration::from_millis(codeyard_model::limits::REQUEST_TIMEOUT_MS + 500);

impl Supervisor {
    /// Drains a workspace that is no longer in the directory.
    pub(super) fn start_drain(&mut self, running: Running, pace: StopPace, ctx: &mut Context<Self>) {
        let Running { handle, generation } = running;
        let name = handle.name.clone();
        let places = CallSlots { all: handle.places.clone(), taken: Arc::default() };
        let report = drain_workspace(handle, places.clone(), pace).boxed().shared();
        let (since, removed) = (Instant::now(), false);
        self.draining.push(Draining { name, since, report: report.clone(), removed, generation, places });
        let gone = report.clone().into_actor(self).map(move |_, supervisor, _| {
            supervisor.draining.retain(|draining| draining.generation != generation);
            supervisor.publish_listing();
        });
        ctx.spawn(gone);
    }
}

impl Handler<DrainAll> for Supervisor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: DrainAll, ctx: &mut Self::Context) -> Self::Result {
        self.stopping = true;
        for (name, running) in std::mem::take(&mut self.running) {
            self.parts.directory.remove(&name);
            self.start_drain(running, StopPace::Prompt, ctx);
        }
        self.publish_listing();
        // Includes workspaces that were draining already: their language servers are stopped as well.
        let all: Vec<PendingDrain> = self.draining.iter().map(|draining| draining.report.clone()).collect();
        Box::pin(futures::future::join_all(all).into_actor(self).map(|_, _, ctx| ctx.stop()))
    }
}

/// Waits for the calls in flight, then stops the language servers and the actor.
async fn drain_workspace(handle: WorkspaceHandle, places: CallSlots, pace: StopPace) -> Arc<DrainReport> {
    handle.status.set_state(WorkspaceState::Draining);
    let began = Instant::now();
    let calls = places.in_flight();
    let ended = tokio::time::timeout(DRAIN_CALLS, places.take()).await.is_ok();
    let calls_cut = if ended { 0 } else { places.in_flight() };
    handle.places.close();
    let servers = handle.actor.send(Drain(pace)).await.unwrap_or_else(|_| {
        tracing::warn!(workspace = %handle.name, "workspace was gone before it could drain");
        Vec::new()
    });
    tracing::info!(workspace = %handle.name, calls, calls_cut, servers = servers.len(), "workspace drained");
    Arc::new(DrainReport { name: handle.name, calls, calls_cut, servers, took: began.elapsed() })
}
