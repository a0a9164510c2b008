//! What has changed between two looks, each path once.
//!
//! Invariant: a path's kind is the difference between the last look and this one: a file that came and went in between is
//! `Deleted`, because a language server may have read it, one that was deleted and made again is `Changed`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::limits::MAX_PENDING_CHANGES;

/// Everything that changed since the last look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The files, ordered by path.
    pub files: Vec<FileChange>,
    /// More may have changed than `files` tells, whatever it tells: events were lost, too many came, `HEAD` moved,
    /// dependencies or ignore files changed, or the look took too long.
    pub bulk: bool,
    /// `HEAD` names another branch or commit; implies `bulk`.
    pub head_changed: bool,
    /// `files` leaves out changes that no later look will tell: too many came, or dependencies changed, which aren't
    /// followed file by file; implies `bulk`.
    pub incomplete: bool,
    /// Changed files that only the code index has to hear of, ordered by path.
    pub aside: Vec<PathBuf>,
    /// More of those may have changed than `aside` tells.
    pub aside_bulk: bool,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path below one of the subscription's roots.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: ChangeKind,
}

/// What happened to a file between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// It wasn't there.
    Created,
    /// It was there, and is another one or has another stamp.
    Changed,
    /// It isn't there any more.
    Deleted,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && !self.bulk && self.aside.is_empty() && !self.aside_bulk
    }

    /// Takes out what only the code index has to hear of.
    pub fn split_aside(&mut self) -> (Vec<PathBuf>, bool) {
        (std::mem::take(&mut self.aside), std::mem::take(&mut self.aside_bulk))
    }

    /// Adds what changed after it: each path once, and beyond `MAX_PENDING_CHANGES` of them `incomplete`.
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

/// What to tell of a file that was or wasn't there at the last look, and is or isn't there now.
fn difference(before: bool, now: bool) -> ChangeKind {
    match (before, now) {
        (false, true) => ChangeKind::Created,
        (true, true) => ChangeKind::Changed,
        // What came and went is told as gone: who reads the disk himself may have seen it in between.
        (_, false) => ChangeKind::Deleted,
    }
}

/// Changes being gathered.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Path → (was there at the last look, is there now).
    files: BTreeMap<PathBuf, (bool, bool)>,
    bulk: bool,
    head_changed: bool,
    incomplete: bool,
    aside: BTreeSet<PathBuf>,
    aside_bulk: bool,
}

impl Pending {
    /// A file was there or not before, and is or isn't now.
    pub(super) fn note(&mut self, path: PathBuf, before: bool, now: bool) {
        self.files.entry(path).or_insert((before, now)).1 = now;
        if self.files.len() > MAX_PENDING_CHANGES {
            self.files.clear();
            self.note_incomplete();
        }
    }

    /// A file changed that only the code index has to hear of.
    pub(super) fn note_aside(&mut self, path: PathBuf) {
        self.aside.insert(path);
        if self.aside.len() > MAX_PENDING_CHANGES {
            self.note_aside_bulk();
        }
    }

    /// Everything may have changed that only the code index has to hear of.
    pub(super) fn note_aside_bulk(&mut self) {
        self.aside.clear();
        self.aside_bulk = true;
    }

    /// Everything may have changed.
    pub(super) fn note_bulk(&mut self) {
        self.bulk = true;
    }

    /// Something changed that is never told file by file.
    pub(super) fn note_incomplete(&mut self) {
        self.bulk = true;
        self.incomplete = true;
    }

    /// `HEAD` moved.
    pub(super) fn note_head(&mut self) {
        self.bulk = true;
        self.head_changed = true;
    }

    /// Adds what a later look found.
    pub(super) fn merge(&mut self, later: Self) {
        for (path, (before, now)) in later.files {
            self.note(path, before, now);
        }
        self.bulk |= later.bulk;
        self.head_changed |= later.head_changed;
        self.incomplete |= later.incomplete;
        later.aside.into_iter().for_each(|path| self.note_aside(path));
        if later.aside_bulk {
            self.note_aside_bulk();
        }
    }

    /// Whether there is nothing to tell.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && !self.bulk && self.aside.is_empty() && !self.aside_bulk
    }

    /// What was gathered; begins anew.
    pub(super) fn take(&mut self) -> Changes {
        let gathered = std::mem::take(self);
        let files = gathered.files.into_iter();
        let files = files.map(|(path, (before, now))| FileChange { path, kind: difference(before, now) });
        Changes {
            files: files.collect(),
            bulk: gathered.bulk,
            head_changed: gathered.head_changed,
            incomplete: gathered.incomplete,
            aside: gathered.aside.into_iter().collect(),
            aside_bulk: gathered.aside_bulk,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_differences_between_looks() {
        let mut pending = Pending::default();
        for (path, before, now) in [
            ("came-and-went", false, true),
            ("came-and-went", true, false),
            ("remade", true, false),
            ("remade", false, true),
            ("made", false, true),
            ("made", true, true),
            ("gone", true, true),
            ("gone", true, false),
        ] {
            pending.note(path.into(), before, now);
        }
        let changes = pending.take();
        let told: Vec<_> = changes.files.iter().map(|change| (change.path.to_str().unwrap(), change.kind)).collect();
        let expected = [
            ("came-and-went", ChangeKind::Deleted),
            ("gone", ChangeKind::Deleted),
            ("made", ChangeKind::Created),
            ("remade", ChangeKind::Changed),
        ];
        assert_eq!(told, expected);
        assert!(!changes.bulk && pending.is_empty() && pending.take().is_empty());
    }

    #[test]
    fn what_is_merged_is_the_difference_over_both() {
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
    fn too_many_are_bulk_and_memory_stays_bounded() {
        let mut pending = Pending::default();
        for index in 0..=MAX_PENDING_CHANGES {
            pending.note(index.to_string().into(), true, true);
        }
        assert!(pending.files.is_empty());
        assert!(pending.take().bulk);
    }
}
