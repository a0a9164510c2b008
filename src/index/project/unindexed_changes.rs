//! The reported changes of a working tree that no job has indexed yet.
//!
//! Invariant: a reported change stays until a job has published that began after it.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use codeyard_files::limits::MAX_PENDING_CHANGES;

/// The unindexed changes of one working tree.
#[derive(Debug, Default)]
pub(super) struct UnindexedChanges(Mutex<ReportedChanges>);

#[derive(Debug, Default)]
struct ReportedChanges {
    /// The number of reports so far.
    report: u64,
    is_watched: bool,
    /// The number of the latest report that any file may have changed.
    everything: Option<u64>,
    /// The changed paths, each with the number of its latest report.
    paths: BTreeMap<String, u64>,
}

/// The changes that a job indexes.
#[derive(Debug, Clone)]
pub(super) struct TakenChanges {
    /// `None`: any file may have changed.
    pub paths: Option<BTreeSet<String>>,
    report: u64,
}

impl ReportedChanges {
    fn changed_paths(&self) -> Option<BTreeSet<String>> {
        (self.is_watched && self.everything.is_none()).then(|| self.paths.keys().cloned().collect())
    }
}

impl UnindexedChanges {
    /// Changes are reported from now on. Earlier changes are unknown.
    pub(super) fn watch(&self) {
        let is_new = !std::mem::replace(&mut self.0.lock().is_watched, true);
        if is_new {
            self.everything();
        }
    }

    /// Changes are no longer reported.
    pub(super) fn unwatch(&self) {
        self.0.lock().is_watched = false;
    }

    /// Reports that these paths have changed.
    pub(super) fn paths(&self, paths: impl IntoIterator<Item = String>) {
        let mut state = self.0.lock();
        state.report += 1;
        let report = state.report;
        state.paths.extend(paths.into_iter().map(|path| (path, report)));
        if state.paths.len() > MAX_PENDING_CHANGES {
            state.paths.clear();
            state.everything = Some(report);
        }
    }

    /// Reports that any file may have changed.
    pub(super) fn everything(&self) {
        let mut state = self.0.lock();
        state.report += 1;
        state.everything = Some(state.report);
    }

    /// The changes that a new job has to index.
    pub(super) fn take(&self) -> TakenChanges {
        let state = self.0.lock();
        TakenChanges { paths: state.changed_paths(), report: state.report }
    }

    /// Removes the changes of a job that has published.
    pub(super) fn done(&self, taken: &TakenChanges) {
        let mut state = self.0.lock();
        if taken.paths.is_none() && state.everything.is_some_and(|report| report <= taken.report) {
            state.everything = None;
        }
        state.paths.retain(|_, report| *report > taken.report);
    }

    /// Whether changes are reported and none is unindexed.
    pub(super) fn is_clean(&self) -> bool {
        self.changed().is_some_and(|paths| paths.is_empty())
    }

    /// The changed paths; `None`: any file may have changed.
    pub(super) fn changed(&self) -> Option<BTreeSet<String>> {
        self.0.lock().changed_paths()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> Option<BTreeSet<String>> {
        Some(paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn changes_during_a_job_stay_unindexed() {
        let changes = UnindexedChanges::default();
        assert!(!changes.is_clean());
        changes.watch();
        let taken = changes.take();
        assert_eq!(taken.paths, None);
        changes.paths(["a".to_owned()]);
        changes.done(&taken);
        assert_eq!(changes.changed(), set(&["a"]));
        let taken = changes.take();
        changes.paths(["a".to_owned(), "b".to_owned()]);
        changes.done(&taken);
        assert_eq!(changes.changed(), set(&["a", "b"]));
        let taken = changes.take();
        changes.everything();
        changes.done(&taken);
        assert_eq!(changes.changed(), None);
        let taken = changes.take();
        changes.done(&taken);
        assert!(changes.is_clean());
        changes.unwatch();
        assert!(!changes.is_clean());
    }

    #[test]
    fn too_many_paths_mean_any_file() {
        let changes = UnindexedChanges::default();
        changes.watch();
        changes.done(&changes.take());
        changes.paths((0..=MAX_PENDING_CHANGES).map(|number| number.to_string()));
        assert_eq!(changes.changed(), None);
    }
}
