//! Workspaces that leave: calls in flight end, language servers stop, and whoever waits is told how it went.
//!
//! A departure goes on whether or not somebody waits for it. Invariants: calls have their own deadline and no more;
//! everybody who asks about one departure gets the same report.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::prelude::*;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::sync::Semaphore;

use super::{DrainAll, Running, Supervisor};
use crate::census::WorkspaceState;
use crate::directory::WorkspaceHandle;
use crate::limits;
use crate::workspace::{Drain, StoppedServer};
use codeyard_base::clock::Instant;
use codeyard_base::ids::WorkspaceName;

/// How long calls in flight have when their workspace is removed.
const DRAIN_CALLS: Duration = Duration::from_millis(codeyard_model::limits::REQUEST_TIMEOUT_MS + 500);

/// How a workspace left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// Which one.
    pub name: WorkspaceName,
    /// Calls that were in flight when it began.
    pub calls: usize,
    /// Those of them that hadn't ended in time and were cut off.
    pub calls_cut: usize,
    /// Its language servers, and how each ended.
    pub servers: Vec<StoppedServer>,
    /// How long it took.
    pub took: Duration,
}

/// The report to come. May be waited for by many.
pub type Departing = Shared<BoxFuture<'static, Arc<Departure>>>;

/// A workspace on its way out.
#[derive(Clone)]
pub struct Leaving {
    /// Which one.
    pub name: WorkspaceName,
    /// When it began.
    pub since: Instant,
    /// Its report to come.
    pub departing: Departing,
    /// It was removed; otherwise another one stands in its place.
    pub removed: bool,
    generation: u64,
    places: Places,
}

/// The places for calls of a workspace that leaves.
#[derive(Clone)]
struct Places {
    all: Arc<Semaphore>,
    /// Those that were taken so that no call can have them.
    taken: Arc<AtomicUsize>,
}

impl Places {
    fn in_flight(&self) -> usize {
        let free = self.all.available_permits() + self.taken.load(Ordering::Relaxed);
        limits::MAX_CALLS_PER_WORKSPACE.saturating_sub(free)
    }

    /// Takes all places, each as soon as its call has ended.
    async fn take(&self) {
        for _ in 0..limits::MAX_CALLS_PER_WORKSPACE {
            let Ok(place) = self.all.acquire().await else { return };
            self.taken.fetch_add(1, Ordering::Relaxed);
            place.forget();
        }
    }
}

impl Leaving {
    /// Whether the report is still to come.
    pub fn goes_on(&self) -> bool {
        self.departing.peek().is_none()
    }

    /// Calls that are still in flight.
    pub fn calls(&self) -> usize {
        self.places.in_flight()
    }
}

impl Supervisor {
    /// Drains a workspace that is no longer in the directory.
    pub(super) fn see_off(&mut self, running: Running, ctx: &mut Context<Self>) {
        let Running { handle, generation } = running;
        let name = handle.name.clone();
        let places = Places { all: handle.places.clone(), taken: Arc::default() };
        let departing = depart(handle, places.clone()).boxed().shared();
        let (since, removed) = (Instant::now(), false);
        self.leaving.push(Leaving { name, since, departing: departing.clone(), removed, generation, places });
        let gone = departing.clone().into_actor(self).map(move |_, supervisor, _| {
            supervisor.leaving.retain(|leaving| leaving.generation != generation);
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
            self.see_off(running, ctx);
        }
        // Also those that were leaving already: their language servers are stopped in order, too.
        let all: Vec<Departing> = self.leaving.iter().map(|leaving| leaving.departing.clone()).collect();
        Box::pin(futures::future::join_all(all).into_actor(self).map(|_, _, ctx| ctx.stop()))
    }
}

/// Lets calls in flight end, then stops the children and the actor.
async fn depart(handle: WorkspaceHandle, places: Places) -> Arc<Departure> {
    handle.cell.set_state(WorkspaceState::Draining);
    let began = Instant::now();
    let calls = places.in_flight();
    let ended = tokio::time::timeout(DRAIN_CALLS, places.take()).await.is_ok();
    let calls_cut = if ended { 0 } else { places.in_flight() };
    handle.places.close();
    let servers = handle.actor.send(Drain).await.unwrap_or_else(|_| {
        tracing::warn!(workspace = %handle.name, "workspace was gone before it could drain");
        Vec::new()
    });
    tracing::info!(workspace = %handle.name, calls, calls_cut, servers = servers.len(), "workspace drained");
    Arc::new(Departure { name: handle.name, calls, calls_cut, servers, took: began.elapsed() })
}
