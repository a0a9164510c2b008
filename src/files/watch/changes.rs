//! The changes between two calls of `Subscription::take`, each path once.
//!
//! Invariant: a change's kind is the difference between the two calls. A file that was created and deleted in between is
//! `Deleted`, because a language server may have read it. A file that was deleted and created again is `Changed`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::gate::LinkChanges;
use crate::limits::MAX_PENDING_CHANGES;

/// Everything that changed since the last call of `Subscription::take`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The files, ordered by path.
    pub files: Vec<FileChange>,
    /// More files than those in `files` may have changed: events were lost, there were too many changes, `HEAD` moved,
    /// dependencies or ignore files changed, or the barrier timed out.
    pub bulk: bool,
    /// `HEAD` names another branch or commit. Implies `bulk`.
    pub head_changed: bool,
    /// `files` lacks changes that are never reported: there were too many, or dependencies changed, which aren't followed
    /// file by file. Implies `bulk`.
    pub incomplete: bool,
    /// The symbolic links among what changed, before or after the change.
    pub links: LinkChanges,
    /// Changed files that concern only the code index, ordered by path.
    pub index_only: Vec<PathBuf>,
    /// More files of that kind than those in `index_only` may have changed.
    pub index_only_rescan: bool,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path below one of the subscription's roots.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: ChangeKind,
}

/// How a file differs between two calls of `Subscription::take`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It didn't exist before.
    Created,
    /// It existed, and its inode or stamp differs.
    Changed,
    /// It doesn't exist any more.
    Deleted,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && !self.bulk && self.index_only.is_empty() && !self.index_only_rescan
    }

    /// Removes and returns `index_only` and `index_only_rescan`.
    pub fn take_index_only(&mut self) -> (Vec<PathBuf>, bool) {
        (std::mem::take(&mut self.index_only), std::mem::take(&mut self.index_only_rescan))
    }

    /// Removes the changes of these files, ordered by path.
    pub fn remove(&mut self, paths: &[&Path]) {
        self.files.retain(|change| paths.binary_search(&change.path.as_path()).is_err());
    }

    /// Adds later changes. Each path stays once. Beyond `MAX_PENDING_CHANGES` files, sets `incomplete`.
    pub fn merge(&mut self, later: &Self) {
        for change in &later.files {
            match self.files.binary_search_by(|known| known.path.cmp(&change.path)) {
                Ok(at) => self.files[at].kind = difference(self.files[at].kind.was_there(), change.kind.is_there()),
                Err(at) => self.files.insert(at, change.clone()),
            }
        }
        self.bulk |= later.bulk;
        self.head_changed |= later.head_changed;
        self.incomplete |= later.incomplete;
        self.links.merge(later.links.clone());
        if self.files.len() > MAX_PENDING_CHANGES {
            self.files.clear();
            (self.bulk, self.incomplete) = (true, true);
        }
    }
}

impl ChangeKind {
    fn was_there(self) -> bool {
        self != Self::Created
    }

    fn is_there(self) -> bool {
        self != Self::Deleted
    }
}

/// The kind of change of a file that existed or not `before`, and exists or not `now`.
fn difference(before: bool, now: bool) -> ChangeKind {
    match (before, now) {
        (false, true) => ChangeKind::Created,
        (true, true) => ChangeKind::Changed,
        // A file that was created and deleted counts as deleted: a language server may have read it in between.
        (_, false) => ChangeKind::Deleted,
    }
}

/// Changes that nobody has taken yet.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    /// Path → (existed at the last `take`, exists now).
    files: BTreeMap<PathBuf, (bool, bool)>,
    bulk: bool,
    head_changed: bool,
    incomplete: bool,
    links: LinkChanges,
    index_only: BTreeSet<PathBuf>,
    index_only_rescan: bool,
}

impl PendingChanges {
    /// Records that a file existed or not `before`, and exists or not `now`.
    pub(super) fn record(&mut self, path: PathBuf, before: bool, now: bool) {
        self.files.entry(path).or_insert((before, now)).1 = now;
        if self.files.len() > MAX_PENDING_CHANGES {
            self.files.clear();
            self.record_incomplete();
        }
    }

    /// Records a symbolic link that appeared, changed or is gone.
    pub(super) fn record_link(&mut self, path: PathBuf) {
        self.links.add(path);
    }

    /// Records a changed file that concerns only the code index.
    pub(super) fn record_index_only(&mut self, path: PathBuf) {
        self.index_only.insert(path);
        if self.index_only.len() > MAX_PENDING_CHANGES {
            self.record_index_only_rescan();
        }
    }

    /// Records that any file that concerns only the code index may have changed.
    pub(super) fn record_index_only_rescan(&mut self) {
        self.index_only.clear();
        self.index_only_rescan = true;
    }

    /// Records that any file may have changed.
    pub(super) fn record_bulk(&mut self) {
        self.bulk = true;
    }

    /// Records a change that is never reported file by file.
    pub(super) fn record_incomplete(&mut self) {
        self.bulk = true;
        self.incomplete = true;
    }

    /// Records that `HEAD` moved.
    pub(super) fn record_head_change(&mut self) {
        self.bulk = true;
        self.head_changed = true;
    }

    /// Adds later changes.
    pub(super) fn merge(&mut self, later: Self) {
        for (path, (before, now)) in later.files {
            self.record(path, before, now);
        }
        self.bulk |= later.bulk;
        self.head_changed |= later.head_changed;
        self.incomplete |= later.incomplete;
        self.links.merge(later.links);
        later.index_only.into_iter().for_each(|path| self.record_index_only(path));
        if later.index_only_rescan {
            self.record_index_only_rescan();
        }
    }

    /// Whether nothing is recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && !self.bulk && self.index_only.is_empty() && !self.index_only_rescan
    }

    /// Returns and removes everything recorded.
    pub(super) fn take(&mut self) -> Changes {
        let recorded = std::mem::take(self);
        let files = recorded.files.into_iter();
        let files = files.map(|(path, (before, now))| FileChange { path, kind: difference(before, now) });
        Changes {
            files: files.collect(),
            bulk: recorded.bulk,
            head_changed: recorded.head_changed,
            incomplete: recorded.incomplete,
            links: recorded.links,
            index_only: recorded.index_only.into_iter().collect(),
            index_only_rescan: recorded.index_only_rescan,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_differences_between_two_takes() {
        let mut pending = PendingChanges::default();
        for (path, before, now) in [
            ("created-and-deleted", false, true),
            ("created-and-deleted", true, false),
            ("recreated", true, false),
            ("recreated", false, true),
            ("created", false, true),
            ("created", true, true),
            ("deleted", true, true),
            ("deleted", true, false),
        ] {
            pending.record(path.into(), before, now);
        }
        let changes = pending.take();
        let reported: Vec<_> =
            changes.files.iter().map(|change| (change.path.to_str().unwrap(), change.kind)).collect();
        let expected = [
            ("created", ChangeKind::Created),
            ("created-and-deleted", ChangeKind::Deleted),
            ("deleted", ChangeKind::Deleted),
            ("recreated", ChangeKind::Changed),
        ];
        assert_eq!(reported, expected);
        assert!(!changes.bulk && pending.is_empty() && pending.take().is_empty());
    }

    #[test]
    fn merged_changes_are_the_difference_over_both() {
        let changes = |files: &[(&str, ChangeKind)]| Changes {
            files: files.iter().map(|(path, kind)| FileChange { path: path.into(), kind: *kind }).collect(),
            ..Changes::default()
        };
        let mut all = changes(&[("a", ChangeKind::Created), ("b", ChangeKind::Changed), ("c", ChangeKind::Deleted)]);
        let more = [("a", ChangeKind::Changed), ("b", ChangeKind::Deleted), ("c", ChangeKind::Created)];
        all.merge(&Changes { bulk: true, ..changes(&more) });
        let expected = [("a", ChangeKind::Created), ("b", ChangeKind::Deleted), ("c", ChangeKind::Changed)];
        assert_eq!(all, Changes { bulk: true, ..changes(&expected) });
        let many: Vec<String> = (0..=MAX_PENDING_CHANGES).map(|number| number.to_string()).collect();
        let many: Vec<(&str, ChangeKind)> = many.iter().map(|path| (path.as_str(), ChangeKind::Changed)).collect();
        all.merge(&changes(&many));
        assert!(all.incomplete && all.bulk && all.files.len() < many.len());
    }

    #[test]
    fn too_many_changes_become_bulk_and_memory_stays_bounded() {
        let mut pending = PendingChanges::default();
        for index in 0..=MAX_PENDING_CHANGES {
            pending.record(index.to_string().into(), true, true);
        }
        assert!(pending.files.is_empty());
        assert!(pending.take().bulk);
    }
}
