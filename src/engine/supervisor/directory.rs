//! The table of running workspaces: every transport thread reads it, and only the supervisor writes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::status::registry::StatusRegistry;
use crate::workspace::handle::WorkspaceHandle;
use codeyard_base::ids::WorkspaceName;

/// The table of running workspaces.
#[derive(Default)]
pub struct Directory {
    table: RwLock<Table>,
    status_registry: StatusRegistry,
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

    /// The workspace of this name, given as text.
    pub fn find(&self, name: &str) -> Option<Arc<WorkspaceHandle>> {
        self.table.read().workspaces.get(name).cloned()
    }

    /// The workspace that an endpoint without a name refers to.
    pub fn default_name(&self) -> Option<WorkspaceName> {
        self.table.read().default.clone()
    }

    /// All workspaces.
    pub fn all(&self) -> Vec<Arc<WorkspaceHandle>> {
        self.table.read().workspaces.values().cloned().collect()
    }

    /// The figures of all workspaces.
    pub fn status_registry(&self) -> &StatusRegistry {
        &self.status_registry
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
