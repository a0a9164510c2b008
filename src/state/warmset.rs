//! The workspaces whose code indexes were used last. The service reads those indexes into memory when it starts.
//!
//! Invariants: a record that can't be read counts as empty; the number of workspaces is bounded, and the one that was unused for
//! longest is dropped first. Workspaces are known by their tenant and their roots, because a name may later stand for other folders.

use std::path::PathBuf;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use codeyard_base::ids::TenantId;
use codeyard_model::limits::MAX_WARMSET;

use crate::state_store::{Namespace, StateError, StoreHandle, Write};

/// The namespace, with one record.
pub(crate) const WARMSET: Namespace = Namespace::new("warmset");
/// The key of its record.
pub(crate) const RECENT: &str = "recent";

/// The warm set of one process.
#[derive(Debug)]
pub struct Warmset {
    store: StoreHandle,
    state: Mutex<State>,
}

/// A workspace of the warm set: its tenant and its roots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WarmWorkspace(String, Vec<PathBuf>);

impl WarmWorkspace {
    /// The tenant's workspace with these roots.
    pub fn new(tenant: &TenantId, roots: &[PathBuf]) -> Self {
        Self(tenant.to_string(), roots.to_vec())
    }
}

#[derive(Debug, Default)]
struct State {
    /// The last used first.
    recent: Vec<WarmWorkspace>,
    is_enabled: bool,
    capacity: usize,
}

impl State {
    /// The members: those that are read at the start, in the order of their paths. Which of them was used last changes with every
    /// call.
    fn members(&self) -> Vec<&WarmWorkspace> {
        let mut members: Vec<_> = self.recent.iter().take(self.capacity).collect();
        members.sort_unstable();
        members
    }
}

impl Warmset {
    /// Reads the warm set. Blocks. It has no members until [`Self::configure`] sets a capacity.
    pub fn open(store: StoreHandle) -> Self {
        let recent = match store.get(WARMSET, RECENT) {
            Ok(record) => record.and_then(|record| record.decode::<Vec<WarmWorkspace>>()).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "the warm set can't be read; it starts empty");
                Vec::new()
            }
        };
        let recent = recent.into_iter().take(MAX_WARMSET).collect();
        Self { store, state: Mutex::new(State { recent, ..State::default() }) }
    }

    /// Sets whether the warm set is used, and how many workspaces it has at most.
    pub fn configure(&self, is_enabled: bool, capacity: usize) {
        let mut state = self.state.lock();
        (state.is_enabled, state.capacity) = (is_enabled, capacity.min(MAX_WARMSET));
    }

    /// Whether the warm set is used, and how many workspaces it has at most.
    pub fn settings(&self) -> (bool, usize) {
        let state = self.state.lock();
        (state.is_enabled, state.capacity)
    }

    /// Whether the workspace is a member.
    pub fn contains(&self, workspace: &WarmWorkspace) -> bool {
        let state = self.state.lock();
        state.is_enabled && state.recent.iter().take(state.capacity).any(|known| known == workspace)
    }

    /// Records that the index of the workspace is used. Returns whether [`Self::save`] is due.
    pub fn record_use(&self, workspace: &WarmWorkspace) -> bool {
        let mut state = self.state.lock();
        if state.recent.first().is_some_and(|last| last == workspace) {
            return false;
        }
        let before: Vec<WarmWorkspace> = state.members().into_iter().cloned().collect();
        state.recent.retain(|known| known != workspace);
        state.recent.insert(0, workspace.clone());
        state.recent.truncate(MAX_WARMSET);
        state.members().into_iter().ne(&before)
    }

    /// Stores the warm set. Blocks.
    ///
    /// # Errors
    /// If it can't be stored.
    pub fn save(&self) -> Result<(), StateError> {
        let Ok(value) = encode(&self.state.lock().recent) else {
            tracing::warn!("the warm set isn't stored: a root's path is not UTF-8");
            return Ok(());
        };
        self.store.update(WARMSET, &mut |_| vec![Write::Put { key: RECENT.to_owned(), value: value.clone() }])
    }
}

/// The record's value.
pub(crate) fn encode(recent: &[WarmWorkspace]) -> serde_json::Result<String> {
    serde_json::to_string(recent)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::SqliteStore;

    fn of(tenant: &str, name: &str) -> WarmWorkspace {
        WarmWorkspace::new(&TenantId::new(tenant).unwrap(), &[PathBuf::from("/").join(name)])
    }

    #[test]
    fn workspaces_of_two_tenants_with_the_same_roots_are_two() {
        let dir = tempfile::tempdir().unwrap();
        let set = Warmset::open(Arc::new(SqliteStore::open(dir.path()).unwrap()));
        set.configure(true, 2);
        assert!(set.record_use(&of("default", "a")));
        assert!(!set.contains(&of("team-a", "a")));
        assert!(set.record_use(&of("team-a", "a")));
        assert!(set.contains(&of("team-a", "a")) && set.contains(&of("default", "a")));
    }

    #[test]
    fn the_last_used_are_members_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let store: StoreHandle = Arc::new(SqliteStore::open(dir.path()).unwrap());
        let set = Warmset::open(store.clone());
        set.configure(true, 2);
        assert!(!set.contains(&of("default", "a")));
        assert!(set.record_use(&of("default", "a")) && set.record_use(&of("default", "b")));
        assert!(!set.record_use(&of("default", "b")), "nothing changes");
        assert!(!set.record_use(&of("default", "a")), "the same two are read");
        assert!(set.record_use(&of("default", "c")));
        assert_eq!(["a", "b", "c"].map(|name| set.contains(&of("default", name))), [true, false, true]);
        set.save().unwrap();
        let again = Warmset::open(store.clone());
        assert!(!again.contains(&of("default", "a")), "no capacity yet");
        again.configure(true, 1);
        assert_eq!(["a", "b", "c"].map(|name| again.contains(&of("default", name))), [false, false, true]);
        again.configure(false, 3);
        assert!(!again.contains(&of("default", "c")));
        store.update(WARMSET, &mut |_| vec![Write::Put { key: RECENT.into(), value: "{".into() }]).unwrap();
        let damaged = Warmset::open(store);
        damaged.configure(true, 3);
        assert!(!damaged.contains(&of("default", "c")));
        assert!(damaged.record_use(&of("default", "c")));
    }
}
