//! The workspaces whose code indexes were used last. The service reads those indexes into memory when it starts.
//!
//! Invariants: a record that can't be read counts as empty; the number of workspaces is bounded, and the one that was unused for
//! longest is dropped first. Workspaces are known by their roots, because a name may later stand for other folders.

use std::path::PathBuf;

use parking_lot::Mutex;

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

#[derive(Debug, Default)]
struct State {
    /// Roots, the last used first.
    recent: Vec<Vec<PathBuf>>,
    is_enabled: bool,
    capacity: usize,
}

impl State {
    /// The members: those that are read at the start, in the order of their paths. Which of them was used last changes with every
    /// call.
    fn members(&self) -> Vec<&Vec<PathBuf>> {
        let mut members: Vec<_> = self.recent.iter().take(self.capacity).collect();
        members.sort_unstable();
        members
    }
}

impl Warmset {
    /// Reads the warm set. Blocks. It has no members until [`Self::configure`] sets a capacity.
    pub fn open(store: StoreHandle) -> Self {
        let recent = match store.get(WARMSET, RECENT) {
            Ok(record) => record.and_then(|record| record.decode::<Vec<Vec<PathBuf>>>()).unwrap_or_default(),
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

    /// Whether the workspace with these roots is a member.
    pub fn contains(&self, roots: &[PathBuf]) -> bool {
        let state = self.state.lock();
        state.is_enabled && state.recent.iter().take(state.capacity).any(|known| known == roots)
    }

    /// Records that the index of the workspace with these roots is used. Returns whether [`Self::save`] is due.
    pub fn record_use(&self, roots: &[PathBuf]) -> bool {
        let mut state = self.state.lock();
        if state.recent.first().is_some_and(|last| last == roots) {
            return false;
        }
        let before: Vec<Vec<PathBuf>> = state.members().into_iter().cloned().collect();
        state.recent.retain(|known| known != roots);
        state.recent.insert(0, roots.to_vec());
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
pub(crate) fn encode(recent: &[Vec<PathBuf>]) -> serde_json::Result<String> {
    serde_json::to_string(recent)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::SqliteStore;

    fn roots(name: &str) -> Vec<PathBuf> {
        vec![PathBuf::from("/").join(name)]
    }

    #[test]
    fn the_last_used_are_members_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let store: StoreHandle = Arc::new(SqliteStore::open(dir.path()).unwrap());
        let set = Warmset::open(store.clone());
        set.configure(true, 2);
        assert!(!set.contains(&roots("a")));
        assert!(set.record_use(&roots("a")) && set.record_use(&roots("b")));
        assert!(!set.record_use(&roots("b")), "nothing changes");
        assert!(!set.record_use(&roots("a")), "the same two are read");
        assert!(set.record_use(&roots("c")));
        assert_eq!(["a", "b", "c"].map(|name| set.contains(&roots(name))), [true, false, true]);
        set.save().unwrap();
        let again = Warmset::open(store.clone());
        assert!(!again.contains(&roots("a")), "no capacity yet");
        again.configure(true, 1);
        assert_eq!(["a", "b", "c"].map(|name| again.contains(&roots(name))), [false, false, true]);
        again.configure(false, 3);
        assert!(!again.contains(&roots("c")));
        store.update(WARMSET, &mut |_| vec![Write::Put { key: RECENT.into(), value: "{".into() }]).unwrap();
        let damaged = Warmset::open(store);
        damaged.configure(true, 3);
        assert!(!damaged.contains(&roots("c")));
        assert!(damaged.record_use(&roots("c")));
    }
}
