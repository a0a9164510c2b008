//! The operations of operators on the running engine: list, add, change and remove workspaces, restart and stop language servers.
//!
//! The handle may be cloned and kept; it doesn't keep the engine alive. Invariants: what operators read was published before, so reading
//! it waits for no actor; every request that changes something has a bounded wait.

use std::sync::Arc;
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, Handler, Message};
use tokio::time::timeout;

use crate::limits::{MEASUREMENT_WAIT_MS, OPERATOR_PATIENCE_MS};
use crate::supervisor::actor::Supervisor;
use crate::supervisor::directory::Directory;
use crate::supervisor::drain_state::PendingDrain;
use crate::supervisor::messages::{
    Condition, PutDone, PutError, PutWorkspace, RemoveError, RemoveWorkspace, WorkspaceListing,
};
use crate::supervisor::problems::ServiceProblems;
use crate::workspace::messages::{HaltChild, RestartChild, StoppedServer, WorkspaceHealth};
use codeyard_base::blocking;
use codeyard_base::ids::WorkspaceName;
use codeyard_config::WorkspaceConfig;
use codeyard_paging::SnapshotStats;
use codeyard_process::launch::Launcher;

/// The supervisor doesn't answer in time, or is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine does not answer")]
pub struct NoReply;

/// The operators' handle of the engine.
#[derive(Clone)]
pub struct Control {
    directory: Arc<Directory>,
    launcher: Arc<dyn Launcher>,
    supervisor: Addr<Supervisor>,
}

/// All workspaces and their health.
pub struct Overview {
    pub list: WorkspaceListing,
    /// The health of each of `list.entries`, in that order; `None` if it isn't open.
    pub healths: Vec<Option<WorkspaceHealth>>,
}

impl Control {
    pub(super) fn new(directory: Arc<Directory>, launcher: Arc<dyn Launcher>, supervisor: Addr<Supervisor>) -> Self {
        Self { directory, launcher, supervisor }
    }

    /// The configured workspaces: all, or the one of a name.
    pub async fn list(&self, only: Option<&WorkspaceName>) -> Result<WorkspaceListing, NoReply> {
        if !self.supervisor.connected() {
            return Err(NoReply);
        }
        let mut listing = WorkspaceListing::clone(&self.directory.listing());
        listing.entries.retain(|entry| only.is_none_or(|only| *only == entry.config.name));
        listing.draining.retain(|draining| only.is_none_or(|only| *only == draining.name) && draining.is_pending());
        Ok(listing)
    }

    /// The health of all workspaces, or of the one of a name, as published. Language servers that were started since the last
    /// measurement are measured first, within a bounded time.
    pub async fn overview(&self, only: Option<&WorkspaceName>) -> Result<Overview, NoReply> {
        let list = self.list(only).await?;
        let memory = self.directory.memory().clone();
        if memory.has_unmeasured() {
            let launcher = self.launcher.clone();
            let measured = blocking::spawn(move || memory.measure(&*launcher));
            // Without it, their memory is unknown.
            drop(timeout(Duration::from_millis(MEASUREMENT_WAIT_MS), measured).await);
        }
        let healths = list.entries.iter().map(|entry| entry.handle.as_ref().map(|handle| handle.health()));
        Ok(Overview { healths: healths.collect(), list })
    }

    /// The retained results of each workspace, in the order of the listing; `None` for those that aren't open.
    pub async fn snapshots(&self) -> Result<(WorkspaceListing, Vec<Option<SnapshotStats>>), NoReply> {
        let list = self.list(None).await?;
        let stats = list.entries.iter().map(|entry| entry.handle.as_ref().map(|handle| handle.snapshot_stats()));
        let stats = stats.collect();
        Ok((list, stats))
    }

    /// The current problems of the service.
    pub async fn problems(&self) -> Result<ServiceProblems, NoReply> {
        Ok(ServiceProblems::of(&self.list(None).await?))
    }

    /// Creates or changes a workspace.
    pub async fn put(
        &self,
        config: WorkspaceConfig,
        condition: Condition,
    ) -> Result<Result<PutDone, PutError>, NoReply> {
        ask(&self.supervisor, PutWorkspace { config: Box::new(config), condition }).await
    }

    /// Removes a workspace; the result resolves to the report of its drain.
    pub async fn remove(
        &self,
        name: WorkspaceName,
        condition: Condition,
    ) -> Result<Result<PendingDrain, RemoveError>, NoReply> {
        ask(&self.supervisor, RemoveWorkspace { name, condition }).await
    }

    /// Restarts a language server; `false` if there is none with this id.
    pub async fn restart(&self, workspace: &WorkspaceName, id: &str) -> Result<bool, NoReply> {
        let Some(handle) = self.directory.get(workspace) else { return Ok(false) };
        ask(&handle.actor, RestartChild(id.to_owned())).await
    }

    /// Stops a language server and waits until its process has ended; the time of the stop is bounded. `None` if there is none with this id.
    pub async fn stop(&self, workspace: &WorkspaceName, id: &str) -> Result<Option<StoppedServer>, NoReply> {
        let Some(handle) = self.directory.get(workspace) else { return Ok(None) };
        handle.actor.send(HaltChild(id.to_owned())).await.map_err(|_| NoReply)
    }
}

/// Sends an operator's message and waits for the answer.
async fn ask<A, M>(actor: &Addr<A>, message: M) -> Result<M::Result, NoReply>
where
    A: Actor + Handler<M>,
    A::Context: ToEnvelope<A, M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    let limit = Duration::from_millis(OPERATOR_PATIENCE_MS);
    timeout(limit, actor.send(message)).await.map_err(|_| NoReply)?.map_err(|_| NoReply)
}
