//! What is known to have changed in a working tree since its manifest was made.
//!
//! Invariant: a change that was told is here until a job that began after it has published.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use codeyard_files::limits::MAX_PENDING_CHANGES;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct PendingChanges(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Counts what was told.
    told: u64,
    /// Somebody tells what changes.
    is_watched: bool,
    /// Anything may have changed; told then.
    everything: Option<u64>,
    /// What has changed; told then.
    paths: BTreeMap<String, u64>,
}

/// What a job takes on.
#[derive(Debug, Clone)]
pub(super) struct TakenChanges {
    /// `None`: anything may have changed.
    pub paths: Option<BTreeSet<String>>,
    told: u64,
}

impl State {
    fn known(&self) -> Option<BTreeSet<String>> {
        (self.is_watched && self.everything.is_none()).then(|| self.paths.keys().cloned().collect())
    }
}

impl PendingChanges {
    /// Somebody tells from now on what changes; what came before isn't known.
    pub(super) fn watch(&self) {
        let is_new = !std::mem::replace(&mut self.0.lock().is_watched, true);
        if is_new {
            self.everything();
        }
    }

    /// Nobody tells any more.
    pub(super) fn unwatch(&self) {
        self.0.lock().is_watched = false;
    }

    /// These paths have changed.
    pub(super) fn paths(&self, paths: impl IntoIterator<Item = String>) {
        let mut state = self.0.lock();
        state.told += 1;
        let told = state.told;
        state.paths.extend(paths.into_iter().map(|path| (path, told)));
        if state.paths.len() > MAX_PENDING_CHANGES {
            state.paths.clear();
            state.everything = Some(told);
        }
    }

    /// Anything may have changed.
    pub(super) fn everything(&self) {
        let mut state = self.0.lock();
        state.told += 1;
        state.everything = Some(state.told);
    }

    /// What a job has to look at.
    pub(super) fn take(&self) -> TakenChanges {
        let state = self.0.lock();
        TakenChanges { paths: state.known(), told: state.told }
    }

    /// A job that looked at what was taken has published.
    pub(super) fn done(&self, taken: &TakenChanges) {
        let mut state = self.0.lock();
        if taken.paths.is_none() && state.everything.is_some_and(|told| told <= taken.told) {
            state.everything = None;
        }
        state.paths.retain(|_, told| *told > taken.told);
    }

    /// Whether nothing is known to have changed, and somebody would have told.
    pub(super) fn is_clean(&self) -> bool {
        self.changed().is_some_and(|paths| paths.is_empty())
    }

    /// The paths that are known to have changed; `None`: anything may have.
    pub(super) fn changed(&self) -> Option<BTreeSet<String>> {
        self.0.lock().known()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> Option<BTreeSet<String>> {
        Some(paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn what_changes_while_a_job_runs_stays() {
        let dirty = PendingChanges::default();
        assert!(!dirty.is_clean());
        dirty.watch();
        let taken = dirty.take();
        assert_eq!(taken.paths, None);
        dirty.paths(["a".to_owned()]);
        dirty.done(&taken);
        assert_eq!(dirty.changed(), set(&["a"]));
        let taken = dirty.take();
        dirty.paths(["a".to_owned(), "b".to_owned()]);
        dirty.done(&taken);
        assert_eq!(dirty.changed(), set(&["a", "b"]));
        let taken = dirty.take();
        dirty.everything();
        dirty.done(&taken);
        assert_eq!(dirty.changed(), None);
        let taken = dirty.take();
        dirty.done(&taken);
        assert!(dirty.is_clean());
        dirty.unwatch();
        assert!(!dirty.is_clean());
    }

    #[test]
    fn too_many_paths_are_everything() {
        let dirty = PendingChanges::default();
        dirty.watch();
        dirty.done(&dirty.take());
        dirty.paths((0..=MAX_PENDING_CHANGES).map(|number| number.to_string()));
        assert_eq!(dirty.changed(), None);
    }
}
