//! What operators do with the running engine: look, put and remove workspaces, restart and stop language servers.
//!
//! A handle that may be cloned and kept; it doesn't keep the engine alive. Invariant: every question has a bounded wait: a
//! workspace that hangs is reported as not answering and holds nobody else up.

use std::sync::Arc;
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Addr, Handler, Message};
use tokio::time::timeout;

use crate::directory::{Directory, WorkspaceHandle};
use crate::limits::OPERATOR_PATIENCE_MS;
use crate::supervisor::{
    Condition, Departing, GetRoster, PutDone, PutError, PutWorkspace, RemoveError, RemoveWorkspace, Roster, Supervisor,
};
use crate::workspace::{GetSnapshots, GetTroubles, HaltChild, RestartChild, StoppedServer, Trouble, WorkspaceHealth};
use codeyard_base::ids::WorkspaceName;
use codeyard_config::WorkspaceConfig;
use codeyard_paging::SnapshotStats;

/// The supervisor doesn't answer, or is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine does not answer")]
pub struct Silent;

/// See the module.
#[derive(Clone)]
pub struct Control {
    directory: Arc<Directory>,
    supervisor: Addr<Supervisor>,
}

/// All workspaces, and how they are.
pub struct Overview {
    /// Which there are.
    pub roster: Roster,
    /// The health of each of `roster.entries`, in that order; `None` if it isn't open, or doesn't answer.
    pub healths: Vec<Option<WorkspaceHealth>>,
}

/// What keeps the service from answering as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failing {
    /// The service is stopping.
    Stopping,
    /// A workspace couldn't be opened.
    NotOpen(WorkspaceName),
    /// A workspace doesn't answer.
    NotAnswering(WorkspaceName),
    /// Something is wrong in a workspace.
    Trouble(WorkspaceName, Trouble),
}

impl Control {
    pub(super) fn new(directory: Arc<Directory>, supervisor: Addr<Supervisor>) -> Self {
        Self { directory, supervisor }
    }

    /// Which workspaces there are: all, or the one of a name.
    pub async fn roster(&self, only: Option<&WorkspaceName>) -> Result<Roster, Silent> {
        self.ask(GetRoster(only.cloned())).await
    }

    /// All workspaces, or the one of a name, and how they are.
    pub async fn overview(&self, only: Option<&WorkspaceName>) -> Result<Overview, Silent> {
        let roster = self.roster(only).await?;
        let healths = self.of_each(&roster, |handle| async move { handle.health().await }).await;
        Ok(Overview { healths, roster })
    }

    /// What is retained, in the order of the roster; `None` for those that aren't open, or don't answer.
    pub async fn snapshots(&self) -> Result<(Roster, Vec<Option<SnapshotStats>>), Silent> {
        let roster = self.roster(None).await?;
        let stats = self.of_each(&roster, |handle| async move { handle.ask(GetSnapshots).await }).await;
        Ok((roster, stats))
    }

    /// What keeps the service from answering as it should; empty if nothing does.
    pub async fn failing(&self) -> Result<Vec<Failing>, Silent> {
        let roster = self.roster(None).await?;
        let all = self.of_each(&roster, |handle| async move { Some(handle.ask(GetTroubles).await) }).await;
        let mut failing: Vec<Failing> = roster.stopping.then_some(Failing::Stopping).into_iter().collect();
        for (entry, troubles) in roster.entries.into_iter().zip(all) {
            let name = entry.config.name;
            match troubles {
                None => failing.push(Failing::NotOpen(name)),
                Some(None) => failing.push(Failing::NotAnswering(name)),
                Some(Some(troubles)) => {
                    failing.extend(troubles.into_iter().map(|trouble| Failing::Trouble(name.clone(), trouble)));
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
    ) -> Result<Result<PutDone, PutError>, Silent> {
        self.ask(PutWorkspace { config: Box::new(config), condition }).await
    }

    /// Removes a workspace; the report is to be waited for.
    pub async fn remove(
        &self,
        name: WorkspaceName,
        condition: Condition,
    ) -> Result<Result<Departing, RemoveError>, Silent> {
        self.ask(RemoveWorkspace { name, condition }).await
    }

    /// Starts a language server anew; `false` if there is no such one.
    pub async fn restart(&self, workspace: &WorkspaceName, id: &str) -> Result<bool, Silent> {
        let Some(handle) = self.directory.get(workspace) else { return Ok(false) };
        handle.ask(RestartChild(id.to_owned())).await.ok_or(Silent)
    }

    /// Stops a language server and waits until it has ended, which the ladder down bounds; `None` if there is no such one.
    pub async fn stop(&self, workspace: &WorkspaceName, id: &str) -> Result<Option<StoppedServer>, Silent> {
        let Some(handle) = self.directory.get(workspace) else { return Ok(None) };
        handle.actor.send(HaltChild(id.to_owned())).await.map_err(|_| Silent)
    }

    async fn of_each<T, F>(&self, roster: &Roster, ask: impl Fn(WorkspaceHandle) -> F) -> Vec<Option<T>>
    where
        F: Future<Output = Option<T>>,
    {
        let asked = roster.entries.iter().map(|entry| {
            let asked = entry.handle.clone().map(&ask);
            async move { asked?.await }
        });
        futures::future::join_all(asked).await
    }

    async fn ask<M>(&self, message: M) -> Result<M::Result, Silent>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        Supervisor: Handler<M>,
        <Supervisor as actix::Actor>::Context: ToEnvelope<Supervisor, M>,
    {
        let limit = Duration::from_millis(OPERATOR_PATIENCE_MS);
        timeout(limit, self.supervisor.send(message)).await.map_err(|_| Silent)?.map_err(|_| Silent)
    }
}
