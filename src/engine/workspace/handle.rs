//! How a call reaches its workspace without asking the supervisor.

use std::sync::Arc;
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Addr, Handler, Message};
use actix_rt::ArbiterHandle;
use tokio::sync::Semaphore;

use crate::indexer::indexes::Indexes;
use crate::limits;
use crate::query::watch_slot::WatchSlot;
use crate::status::registry::WorkspaceStatus;
use crate::workspace::actor::Workspace;
use crate::workspace::messages::{GetWorkspaceHealth, WorkspaceHealth};
use codeyard_base::ids::{TenantId, WorkspaceName};
use codeyard_config::PermissionSection;
use codeyard_files::gate::Gate;
use codeyard_model::limits::Limits;

/// How a call reaches its workspace.
#[derive(Clone)]
pub struct WorkspaceHandle {
    /// Its name.
    pub name: WorkspaceName,
    /// Its tenant.
    pub tenant: TenantId,
    /// The path gate of its roots.
    pub gate: Gate,
    /// The limits of its answers.
    pub limits: Limits,
    /// The permissions of callers.
    pub permission: Arc<PermissionSection>,
    /// Its actor.
    pub actor: Addr<Workspace>,
    /// The thread that it and its calls run on.
    pub arbiter: ArbiterHandle,
    /// Call slots; closed when the workspace drains.
    pub places: Arc<Semaphore>,
    /// Its subscription to file changes.
    pub watch: WatchSlot,
    /// Its entry in the status registry.
    pub status: Arc<WorkspaceStatus>,
    /// The resources that the code indexes share.
    pub indexes: Arc<Indexes>,
    /// The largest payload of an answer from its code index, in bytes.
    pub payload_bytes: usize,
}

impl WorkspaceHandle {
    /// A semaphore with the call slots of one workspace.
    pub fn new_places() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(limits::MAX_CALLS_PER_WORKSPACE))
    }

    /// Number of calls in flight.
    pub fn calls(&self) -> usize {
        limits::MAX_CALLS_PER_WORKSPACE.saturating_sub(self.places.available_permits())
    }

    /// Sends an operator's message; `None` if the workspace doesn't answer in time or is gone.
    pub async fn ask<M>(&self, message: M) -> Option<M::Result>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        Workspace: Handler<M>,
        <Workspace as actix::Actor>::Context: ToEnvelope<Workspace, M>,
    {
        let limit = Duration::from_millis(limits::OPERATOR_PATIENCE_MS);
        tokio::time::timeout(limit, self.actor.send(message)).await.ok()?.ok()
    }

    /// Its health; `None` if the workspace doesn't answer in time or is gone.
    pub async fn health(&self) -> Option<WorkspaceHealth> {
        self.ask(GetWorkspaceHealth).await.flatten()
    }
}
