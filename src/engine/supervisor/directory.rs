//! The tables of running workspaces and of their groups: every transport thread reads them, and only the supervisor writes them.
//!
//! Invariant: a group names only workspaces that the asking principal sees, in the order of their names; the group `all` has all of these.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::admission::start_queue::StartQueue;
use crate::server::diagnostics::diagnostics_budget::DiagnosticsBudget;
use crate::status::memory_gate::MemoryGate;
use crate::status::registry::StatusRegistry;
use crate::supervisor::messages::WorkspaceListing;
use crate::workspace::handle::WorkspaceHandle;
use codeyard_access::{NamePatterns, Principal};
use codeyard_base::ids::{GroupName, TenantId, WorkspaceName};
use codeyard_config::GroupSection;

/// The table of running workspaces.
pub struct Directory {
    table: RwLock<Table>,
    status_registry: Arc<StatusRegistry>,
    memory: Arc<MemoryGate>,
    start_queue: StartQueue,
    diagnostics: Arc<DiagnosticsBudget>,
    listing: RwLock<Arc<WorkspaceListing>>,
}

impl Default for Directory {
    fn default() -> Self {
        let status_registry = Arc::<StatusRegistry>::default();
        let memory = Arc::new(MemoryGate::new(status_registry.clone()));
        let (table, start_queue, diagnostics, listing) = Default::default();
        Self { table, status_registry, memory, start_queue, diagnostics, listing }
    }
}

#[derive(Default)]
struct Table {
    workspaces: BTreeMap<WorkspaceName, Arc<WorkspaceHandle>>,
    defaults: BTreeMap<TenantId, WorkspaceName>,
    groups: BTreeMap<GroupName, NamePatterns>,
}

impl Directory {
    /// The workspace of this name.
    pub fn get(&self, name: &WorkspaceName) -> Option<Arc<WorkspaceHandle>> {
        self.table.read().workspaces.get(name).cloned()
    }

    /// The workspace that this text names for `principal`; `None` if there is none, or none that it sees.
    pub fn seen(&self, principal: &Principal, name: &str) -> Option<Arc<WorkspaceHandle>> {
        let name = WorkspaceName::in_tenant(&principal.tenant, name).filter(|name| principal.sees(name))?;
        self.get(&name)
    }

    /// The workspace that an endpoint without a name refers to: the default of the tenant if `principal` sees it, else the first that it sees.
    pub fn default_of(&self, principal: &Principal) -> Option<Arc<WorkspaceHandle>> {
        let table = self.table.read();
        let default = table.defaults.get(&principal.tenant).filter(|name| principal.sees(name));
        let found = match default {
            Some(name) => table.workspaces.get(name),
            None => table.workspaces.values().find(|handle| principal.sees(&handle.name)),
        };
        found.cloned()
    }

    /// The workspaces that `principal` sees.
    pub fn all_seen(&self, principal: &Principal) -> Vec<Arc<WorkspaceHandle>> {
        self.table.read().workspaces.values().filter(|handle| principal.sees(&handle.name)).cloned().collect()
    }

    /// All workspaces.
    pub fn all(&self) -> Vec<Arc<WorkspaceHandle>> {
        self.table.read().workspaces.values().cloned().collect()
    }

    /// The workspaces of the group `name` that `principal` sees. `None` if there is no such group, or if it has no such workspace:
    /// callers can't tell these cases apart.
    pub fn group(&self, name: &GroupName, principal: &Principal) -> Option<Vec<Arc<WorkspaceHandle>>> {
        let table = self.table.read();
        let patterns = match name.as_str() {
            GroupName::ALL => None,
            _ => Some(table.groups.get(name)?),
        };
        let is_member = |handle: &&Arc<WorkspaceHandle>| {
            principal.sees(&handle.name) && patterns.is_none_or(|patterns| patterns.matches(handle.name.short()))
        };
        let members: Vec<_> = table.workspaces.values().filter(is_member).cloned().collect();
        (!members.is_empty()).then_some(members)
    }

    /// The queue of all starts of language servers.
    pub fn start_queue(&self) -> &StartQueue {
        &self.start_queue
    }

    /// Admits starts of language servers within the memory budget.
    pub fn memory(&self) -> &Arc<MemoryGate> {
        &self.memory
    }

    /// Bounds the diagnostics that are kept of all language servers.
    pub fn diagnostics(&self) -> &Arc<DiagnosticsBudget> {
        &self.diagnostics
    }

    /// The configured and the draining workspaces, as the supervisor published them last.
    pub fn listing(&self) -> Arc<WorkspaceListing> {
        self.listing.read().clone()
    }

    /// Publishes the configured and the draining workspaces.
    pub fn publish_listing(&self, listing: WorkspaceListing) {
        *self.listing.write() = Arc::new(listing);
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

    pub(super) fn set_defaults(&self, names: BTreeMap<TenantId, WorkspaceName>) {
        self.table.write().defaults = names;
    }

    /// Replaces the groups. A group whose patterns don't compile, which a checked configuration excludes, is left out.
    pub(super) fn set_groups(&self, groups: &BTreeMap<String, GroupSection>) {
        let compiled = groups.iter().filter_map(|(name, group)| Some((GroupName::new(name)?, group.patterns().ok()?)));
        self.table.write().groups = compiled.collect();
    }
}
