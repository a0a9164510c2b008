//! Applies the ignore rules to one directory: which entries are followed, entered, or left out.
//!
//! It reads the directory and changes nothing in the table except the changes recorded during the first walk.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Table;
use crate::dir_listing::DirListing;
use crate::ignores::{DirRule, PYTHON_ENVIRONMENT, Rules, is_environment};
use crate::limits::MAX_LOOKS;
use crate::stamp::{FileAudience, KnownFile};
use crate::watch::context::WatchContext;
use crate::watch::routes::WatchRole;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FollowMode {
    /// Why it is watched.
    pub role: WatchRole,
    /// The code index lists no file in it.
    pub is_hidden: bool,
}

/// The rules' decision about a directory.
#[derive(Default)]
pub(super) struct DirDecision {
    /// How it is followed. `None`: it isn't followed.
    pub mode: Option<FollowMode>,
    /// If it holds dependencies of language servers: the directories to watch for them.
    pub dependencies: Option<Vec<PathBuf>>,
}

/// The entries of a directory, sorted by how they are followed.
#[derive(Default)]
pub(super) struct FollowedEntries {
    pub files: BTreeMap<OsString, KnownFile>,
    pub children: BTreeMap<OsString, FollowMode>,
    pub dependencies: Vec<PathBuf>,
    /// Entries that exist but aren't followed. They are removed from the table without a reported change.
    pub left_out: BTreeSet<OsString>,
    /// The limit left no room for all files.
    pub full: bool,
    /// The limit left no room for all files that only the code index uses.
    pub index_only_full: bool,
}

impl FollowMode {
    pub(super) fn of_root(context: &WatchContext<'_>) -> Self {
        Self { role: WatchRole::Files, is_hidden: !context.is_indexed }
    }

    /// Whether it is inside an ignored directory or ignored itself.
    pub(super) fn is_ignored(self) -> bool {
        matches!(self.role, WatchRole::Ignored | WatchRole::Listed)
    }

    /// Whether it is followed, fully or partly, because the code index lists it.
    pub(super) fn is_for_index(self) -> bool {
        matches!(self.role, WatchRole::Listed | WatchRole::Indexed)
    }
}

impl Table {
    /// Reads a directory and applies the rules to its entries. No entries if it is a Python environment that no rule names.
    /// `None` if it doesn't exist or can't be read.
    pub(super) fn read_followed_dir(
        &mut self,
        dir: &Path,
        mode: FollowMode,
        context: &WatchContext<'_>,
    ) -> Option<(Arc<Rules>, Option<FollowedEntries>)> {
        let dir_listing = DirListing::read(dir).ok()?;
        let is_root = self.is_root(dir);
        let above = dir.parent().filter(|_| !is_root).and_then(|above| self.dirs.get(above));
        let rules = match above {
            Some(above) => Rules::among(&above.rules, dir, |name| dir_listing.holds(name)),
            None => Rules::of_root(dir),
        };
        if !is_root && mode.role == WatchRole::Files && dir_listing.holds(PYTHON_ENVIRONMENT) && is_environment(dir) {
            return Some((rules, None));
        }
        if let Some(walk_changes) =
            self.walk_changes.as_mut().filter(|walk_changes| dir_listing.changed_ns > walk_changes.began_ns)
        {
            // A file may have been deleted, which the listing can't show.
            match mode.role {
                WatchRole::Indexed => walk_changes.changes.record_index_only_rescan(),
                _ => walk_changes.changes.record_incomplete(),
            }
        }
        let classification = self.sort_entries(dir, &dir_listing, &rules, mode, context);
        if let Some(walk_changes) = &mut self.walk_changes {
            for (name, known) in &classification.files {
                if !known.stamp.is_later_than(walk_changes.began_ns) {
                    continue;
                }
                match known.is_reported() {
                    true => walk_changes.changes.record(dir.join(name), true, true),
                    false => walk_changes.changes.record_index_only(dir.join(name)),
                }
            }
        }
        Some((rules, Some(classification)))
    }

    /// The rules' decision about the directory `path` in a directory that is followed with mode `inside`. `is_opened`: its
    /// entries may be read for the decision.
    pub(super) fn classify(
        &self,
        path: &Path,
        rules: &Rules,
        inside: FollowMode,
        is_opened: bool,
        context: &WatchContext<'_>,
    ) -> DirDecision {
        let is_root = self.is_root(path);
        let is_hidden = inside.is_hidden || !context.is_indexed || rules.hides(path, true);
        let for_index = Some(FollowMode { role: WatchRole::Indexed, is_hidden }).filter(|_| !is_hidden);
        // The files of a directory that is a root are listed, even if rules ignore it.
        let only_for_index = if is_root { Some(FollowMode::of_root(context)) } else { for_index };
        if inside.role == WatchRole::Indexed {
            return DirDecision { mode: only_for_index, dependencies: None };
        }
        let verdict = match is_opened {
            true => rules.classify(path, inside.is_ignored()),
            false => rules.classify_unopened(path, inside.is_ignored()),
        };
        match verdict {
            DirRule::Enter | DirRule::EnterIgnored if is_root => {
                DirDecision { mode: only_for_index, dependencies: None }
            }
            DirRule::Enter => {
                DirDecision { mode: Some(FollowMode { role: WatchRole::Files, is_hidden }), dependencies: None }
            }
            DirRule::EnterIgnored => {
                let role = if is_hidden { WatchRole::Ignored } else { WatchRole::Listed };
                DirDecision { mode: Some(FollowMode { role, is_hidden }), dependencies: None }
            }
            DirRule::Skip => DirDecision { mode: only_for_index, dependencies: None },
            DirRule::Dependencies(dirs) => DirDecision { mode: only_for_index, dependencies: Some(dirs) },
        }
    }

    /// Whom changes of the file `path` are reported to, in a directory that is followed with mode `inside`. `None`: nobody.
    pub(super) fn audience(
        path: &Path,
        rules: &Rules,
        inside: FollowMode,
        context: &WatchContext<'_>,
    ) -> Option<FileAudience> {
        if inside.role != WatchRole::Indexed {
            if !inside.is_ignored() && !rules.ignores(path, false) {
                return Some(FileAudience::Listed);
            }
            if context.follows_ignored(path) {
                return Some(FileAudience::Reported);
            }
        }
        (!inside.is_hidden && !rules.hides(path, false)).then_some(FileAudience::IndexOnly)
    }

    /// Looks at a file, unless too many were looked at that are no sources by their names.
    fn look(&self, path: &Path, context: &WatchContext<'_>) -> Option<u32> {
        let is_unknown = !(context.is_source)(path);
        if is_unknown && self.looks.get() >= MAX_LOOKS {
            return None;
        }
        self.looks.set(self.looks.get() + usize::from(is_unknown));
        (context.look)(path)
    }

    fn sort_entries(
        &self,
        dir: &Path,
        dir_listing: &DirListing,
        rules: &Rules,
        mode: FollowMode,
        context: &WatchContext<'_>,
    ) -> FollowedEntries {
        let mut classification = FollowedEntries::default();
        let (reported, index_only) = self.dirs.get(dir).map_or((0, 0), |known| super::counts(&known.files));
        let mut room = self.files_max.saturating_sub(self.file_count - reported);
        let before = self.dirs.get(dir).map(|known| &known.files);
        let mut index_only_room = self.files_max.saturating_sub(self.index_only_count - index_only);
        for entry in &dir_listing.entries {
            let path = dir.join(&entry.name);
            let name = entry.name.clone();
            if entry.is_dir {
                let decision = self.classify(&path, rules, mode, false, context);
                classification.dependencies.extend(decision.dependencies.into_iter().flatten());
                match decision.mode {
                    Some(mode) => drop(classification.children.insert(name, mode)),
                    None => drop(classification.left_out.insert(name)),
                }
                continue;
            }
            let Some(audience) = Self::audience(&path, rules, mode, context) else {
                classification.left_out.insert(name);
                continue;
            };
            let Some(stamp) = dir_listing.stamp(entry) else { continue };
            let is_index_only = audience == FileAudience::IndexOnly;
            let left = if is_index_only { &mut index_only_room } else { &mut room };
            if *left > 0 {
                *left -= 1;
                let before = before.and_then(|files| files.get(&name));
                let known = KnownFile::new(stamp, audience).looked_at(before, || self.look(&path, context));
                classification.files.insert(name, known);
            } else if is_index_only {
                classification.index_only_full = true;
            } else {
                classification.full = true;
            }
        }
        classification
    }
}
