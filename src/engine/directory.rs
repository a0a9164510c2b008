//! Where the workspaces are: a table that every transport thread reads, and only the supervisor writes.
//!
//! A handle is what a call needs to reach its workspace without asking the supervisor.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::dev::ToEnvelope;
use actix::{Addr, Handler, Message};
use actix_rt::ArbiterHandle;
use parking_lot::RwLock;
use tokio::sync::Semaphore;

use crate::census::{Census, WorkspaceCell};
use crate::indexer::Indexes;
use crate::limits::{self};
use crate::workspace::{GetWorkspaceHealth, Workspace, WorkspaceHealth};
use codeyard_base::ids::{TenantId, WorkspaceName};
use codeyard_config::PermissionSection;
use codeyard_files::gate::Gate;
use codeyard_files::watch::Subscription;
use codeyard_model::limits::Limits;

/// The watcher's subscription of a workspace, once there is one.
#[derive(Clone, Default)]
pub struct WatchSlot(Arc<RwLock<Option<Arc<Subscription>>>>);

impl WatchSlot {
    /// The subscription.
    pub fn get(&self) -> Option<Arc<Subscription>> {
        self.0.read().clone()
    }

    /// Puts the subscription in.
    pub fn set(&self, subscription: Option<Arc<Subscription>>) {
        *self.0.write() = subscription;
    }
}

/// How a call reaches its workspace.
#[derive(Clone)]
pub struct WorkspaceHandle {
    /// Its name.
    pub name: WorkspaceName,
    /// Its tenant.
    pub tenant: TenantId,
    /// The door to its files.
    pub gate: Gate,
    /// The limits of its answers.
    pub limits: Limits,
    /// Who may use what in it.
    pub permission: Arc<PermissionSection>,
    /// Its actor.
    pub actor: Addr<Workspace>,
    /// The thread it lives on; its calls live there too.
    pub arbiter: ArbiterHandle,
    /// Places for calls; closed when it drains.
    pub places: Arc<Semaphore>,
    /// Its subscription to file changes.
    pub watch: WatchSlot,
    /// Where its state can be read.
    pub cell: Arc<WorkspaceCell>,
    /// What its code index shares with those of others.
    pub indexes: Arc<Indexes>,
    /// The largest payload of an answer from its code index, in bytes.
    pub payload_bytes: usize,
}

impl WorkspaceHandle {
    /// A semaphore with the places of one workspace.
    pub fn new_places() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(limits::MAX_CALLS_PER_WORKSPACE))
    }

    /// Calls in flight.
    pub fn calls(&self) -> usize {
        limits::MAX_CALLS_PER_WORKSPACE.saturating_sub(self.places.available_permits())
    }

    /// Its answer to an operator's message; `None` if it doesn't answer in time, or is gone.
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

    /// Its health; `None` if it doesn't answer in time, or is gone.
    pub async fn health(&self) -> Option<WorkspaceHealth> {
        self.ask(GetWorkspaceHealth).await.flatten()
    }
}

/// See the module.
#[derive(Default)]
pub struct Directory {
    table: RwLock<Table>,
    census: Census,
}

#[derive(Default)]
struct Table {
    workspaces: BTreeMap<WorkspaceName, Arc<WorkspaceHandle>>,
    default: Option<WorkspaceName>,
}

impl Directory {
    /// The workspace of this name.
    pub fn get(&self, name: &WorkspaceName) -> Option<Arc<WorkspaceHandle>> {
        self.table.read().workspaces.get(name).cloned()
    }

    /// The workspace whose name this text is.
    pub fn find(&self, name: &str) -> Option<Arc<WorkspaceHandle>> {
        self.table.read().workspaces.get(name).cloned()
    }

    /// The workspace that an endpoint without a name means.
    pub fn default_name(&self) -> Option<WorkspaceName> {
        self.table.read().default.clone()
    }

    /// All workspaces.
    pub fn all(&self) -> Vec<Arc<WorkspaceHandle>> {
        self.table.read().workspaces.values().cloned().collect()
    }

    /// What runs, in numbers.
    pub fn census(&self) -> &Census {
        &self.census
    }

    pub(super) fn put(&self, handle: WorkspaceHandle) {
        self.table.write().workspaces.insert(handle.name.clone(), Arc::new(handle));
    }

    pub(super) fn remove(&self, name: &WorkspaceName) -> Option<Arc<WorkspaceHandle>> {
        self.table.write().workspaces.remove(name)
    }

    pub(super) fn set_default(&self, name: Option<WorkspaceName>) {
        self.table.write().default = name;
    }
}
