//! Drains workspaces: calls in flight end, language servers stop, and every waiter gets the report.
//!
//! A drain continues even if no caller waits for it. Invariants: calls in flight have until their own deadline and no longer; no drain waits
//! for a thread that is stuck: its language servers are ended from here; all waiters of one drain get the same report.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::FutureExt;

use crate::limits;
use crate::status::registry::WorkspaceState;
use crate::supervisor::actor::{Running, Supervisor};
use crate::supervisor::drain_state::{CallSlots, DrainReport, Draining, PendingDrain};
use crate::supervisor::messages::DrainAll;
use crate::workspace::children::work_limit;
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::messages::{Drain, Drained, StoppedServer};
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
        let since = Instant::now();
        self.draining.push(Draining { name, since, report: report.clone(), removed: false, generation, places });
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
    let drained = tokio::select! {
        biased;
        drained = handle.actor.send(Drain(pace)) => Some(drained),
        () = stuck_thread(&handle, pace) => None,
    };
    let Drained { servers, stuck } = match drained {
        Some(Ok(drained)) => drained,
        Some(Err(_)) => {
            tracing::warn!(workspace = %handle.name, "workspace was gone before it could drain");
            Drained::default()
        }
        None => {
            let servers = end_servers(&handle).await;
            Drained { servers, stuck: vec!["the thread of the workspace".to_owned()] }
        }
    };
    if !stuck.is_empty() {
        let parts = stuck.join(", ");
        tracing::error!(workspace = %handle.name, stuck = parts, "a drain left behind what did not end in time");
    }
    tracing::info!(workspace = %handle.name, calls, calls_cut, servers = servers.len(), "workspace drained");
    Arc::new(DrainReport { name: handle.name, calls, calls_cut, servers, stuck, took: began.elapsed() })
}

/// Resolves when the workspace's thread counts as stuck: it runs nothing, or it has had the time of a drain.
async fn stuck_thread(handle: &WorkspaceHandle, pace: StopPace) {
    let heartbeat = handle.status.heartbeat();
    let margin = Duration::from_millis(limits::STUCK_THREAD_MS);
    let stalled = async {
        loop {
            tokio::time::sleep(margin).await;
            if heartbeat.stalled().is_some() {
                return;
            }
        }
    };
    // The end of the limit and a stall mean the same.
    tokio::time::timeout(work_limit(pace) + margin, stalled).await.ok();
}

/// Ends the language servers of a workspace whose thread is stuck. Their connections belong to that thread, so they aren't asked to shut
/// down; and it would be the thread that sees their end, so each step takes its whole time.
async fn end_servers(handle: &WorkspaceHandle) -> Vec<StoppedServer> {
    let statuses = handle.status.servers();
    let running: Vec<_> = statuses.iter().filter_map(|status| Some((status, status.process()?))).collect();
    if running.is_empty() {
        return Vec::new();
    }
    let step = Duration::from_millis(limits::STUCK_STOP_STEP_MS);
    running.iter().for_each(|(_, process)| process.terminate());
    tokio::time::sleep(step).await;
    running.iter().for_each(|(_, process)| process.kill());
    tokio::time::sleep(step).await;
    running.iter().for_each(|(_, process)| process.kill_unseen());
    let stopped = running.iter().map(|(status, _)| StoppedServer {
        id: status.identity().id.clone(),
        kind: status.identity().kind.to_string(),
        ended_by: "kill",
    });
    stopped.collect()
}
