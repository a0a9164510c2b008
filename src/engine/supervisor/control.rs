//! The operations of operators on the running engine: list, add, change and remove workspaces, restart and stop language servers.
//!
//! The handle may be cloned and kept; it doesn't keep the engine alive. Invariant: every request has a bounded wait; a workspace that
//! hangs is reported as not answering and delays no other.

use std::sync::Arc;
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Addr, Handler, Message};
use tokio::time::timeout;

use crate::limits::OPERATOR_PATIENCE_MS;
use crate::supervisor::actor::Supervisor;
use crate::supervisor::directory::Directory;
use crate::supervisor::drain_state::PendingDrain;
use crate::supervisor::messages::{
    Condition, ListWorkspaces, PutDone, PutError, PutWorkspace, RemoveError, RemoveWorkspace, WorkspaceListing,
};
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::messages::{
    GetProblems, GetSnapshots, HaltChild, RestartChild, StoppedServer, WorkspaceHealth, WorkspaceProblem,
};
use codeyard_base::ids::WorkspaceName;
use codeyard_config::WorkspaceConfig;
use codeyard_paging::SnapshotStats;

/// The supervisor doesn't answer in time, or is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine does not answer")]
pub struct NoReply;

/// The operators' handle of the engine.
#[derive(Clone)]
pub struct Control {
    directory: Arc<Directory>,
    supervisor: Addr<Supervisor>,
}

/// All workspaces and their health.
pub struct Overview {
    /// The workspaces.
    pub list: WorkspaceListing,
    /// The health of each of `list.entries`, in that order; `None` if it isn't open or doesn't answer in time.
    pub healths: Vec<Option<WorkspaceHealth>>,
}

/// A problem of the service, as readiness probes report it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceProblem {
    /// The service is stopping.
    Stopping,
    /// A workspace couldn't be opened.
    NotOpen(WorkspaceName),
    /// A workspace doesn't answer.
    NotAnswering(WorkspaceName),
    /// Something is wrong in a workspace.
    InWorkspace(WorkspaceName, WorkspaceProblem),
}

impl Control {
    pub(super) fn new(directory: Arc<Directory>, supervisor: Addr<Supervisor>) -> Self {
        Self { directory, supervisor }
    }

    /// The configured workspaces: all, or the one of a name.
    pub async fn list(&self, only: Option<&WorkspaceName>) -> Result<WorkspaceListing, NoReply> {
        self.ask(ListWorkspaces(only.cloned())).await
    }

    /// The health of all workspaces, or of the one of a name.
    pub async fn overview(&self, only: Option<&WorkspaceName>) -> Result<Overview, NoReply> {
        let list = self.list(only).await?;
        let healths = self.of_each(&list, |handle| async move { handle.health().await }).await;
        Ok(Overview { healths, list })
    }

    /// The retained results of each workspace, in the order of the listing; `None` for those that aren't open or don't answer in time.
    pub async fn snapshots(&self) -> Result<(WorkspaceListing, Vec<Option<SnapshotStats>>), NoReply> {
        let list = self.list(None).await?;
        let stats = self.of_each(&list, |handle| async move { handle.ask(GetSnapshots).await }).await;
        Ok((list, stats))
    }

    /// The current problems of the service.
    pub async fn failing(&self) -> Result<Vec<ServiceProblem>, NoReply> {
        let list = self.list(None).await?;
        let all = self.of_each(&list, |handle| async move { Some(handle.ask(GetProblems).await) }).await;
        let mut failing: Vec<ServiceProblem> = list.stopping.then_some(ServiceProblem::Stopping).into_iter().collect();
        for (entry, troubles) in list.entries.into_iter().zip(all) {
            let name = entry.config.name;
            match troubles {
                None => failing.push(ServiceProblem::NotOpen(name)),
                Some(None) => failing.push(ServiceProblem::NotAnswering(name)),
                Some(Some(troubles)) => {
                    failing
                        .extend(troubles.into_iter().map(|trouble| ServiceProblem::InWorkspace(name.clone(), trouble)));
                }
            }
        }
        Ok(failing)
    }

    /// Creates or changes a workspace.
    pub async fn put(
        &self,
        config: WorkspaceConfig,
        condition: Condition,
    ) -> Result<Result<PutDone, PutError>, NoReply> {
        self.ask(PutWorkspace { config: Box::new(config), condition }).await
    }

    /// Removes a workspace; the result resolves to the report of its drain.
    pub async fn remove(
        &self,
        name: WorkspaceName,
        condition: Condition,
    ) -> Result<Result<PendingDrain, RemoveError>, NoReply> {
        self.ask(RemoveWorkspace { name, condition }).await
    }

    /// Restarts a language server; `false` if there is none with this id.
    pub async fn restart(&self, workspace: &WorkspaceName, id: &str) -> Result<bool, NoReply> {
        let Some(handle) = self.directory.get(workspace) else { return Ok(false) };
        handle.ask(RestartChild(id.to_owned())).await.ok_or(NoReply)
    }

    /// Stops a language server and waits until its process has ended; the time of the stop is bounded. `None` if there is none with this id.
    pub async fn stop(&self, workspace: &WorkspaceName, id: &str) -> Result<Option<StoppedServer>, NoReply> {
        let Some(handle) = self.directory.get(workspace) else { return Ok(None) };
        handle.actor.send(HaltChild(id.to_owned())).await.map_err(|_| NoReply)
    }

    async fn of_each<T, F>(&self, list: &WorkspaceListing, ask: impl Fn(WorkspaceHandle) -> F) -> Vec<Option<T>>
    where
        F: Future<Output = Option<T>>,
    {
        let replies = list.entries.iter().map(|entry| {
            let reply = entry.handle.clone().map(&ask);
            async move { reply?.await }
        });
        futures::future::join_all(replies).await
    }

    async fn ask<M>(&self, message: M) -> Result<M::Result, NoReply>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        Supervisor: Handler<M>,
        <Supervisor as actix::Actor>::Context: ToEnvelope<Supervisor, M>,
    {
        let limit = Duration::from_millis(OPERATOR_PATIENCE_MS);
        timeout(limit, self.supervisor.send(message)).await.map_err(|_| NoReply)?.map_err(|_| NoReply)
    }
}
