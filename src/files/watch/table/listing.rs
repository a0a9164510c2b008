//! One directory as the rules see it: what of its contents is followed, entered, or left out.
//!
//! It reads the directory and notes nothing in the table but what changed since the walk began.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Table;
use crate::watch::contents::Contents;
use crate::watch::ground::Ground;
use crate::watch::ignores::{PYTHON_ENVIRONMENT, Rules, Verdict, is_environment};
use crate::watch::routes::Role;
use crate::watch::stamp::{Known, Standing};

/// How a directory is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    /// For whom.
    pub role: Role,
    /// The code index lists nothing in it.
    pub is_hidden: bool,
}

/// What the rules say of a directory.
#[derive(Default)]
pub(super) struct Judged {
    /// How it is followed; `None`: it isn't.
    pub way: Option<Way>,
    /// For language servers it holds dependencies, and these are the directories to watch for them.
    pub dependencies: Option<Vec<PathBuf>>,
}

/// One listing of a directory.
#[derive(Default)]
pub(super) struct Listing {
    pub files: BTreeMap<OsString, Known>,
    pub children: BTreeMap<OsString, Way>,
    pub dependencies: Vec<PathBuf>,
    /// There, but not followed: forgotten without a report.
    pub left_out: BTreeSet<OsString>,
    /// There was no room for all files.
    pub full: bool,
    /// There was no room for all files that the code index alone wants.
    pub aside_full: bool,
}

impl Way {
    /// How a root is followed.
    pub(super) fn of_root(ground: &Ground<'_>) -> Self {
        Self { role: Role::Files, is_hidden: !ground.is_indexed }
    }

    /// Whether everything in it is ignored.
    pub(super) fn is_ignored(self) -> bool {
        matches!(self.role, Role::Ignored | Role::Listed)
    }

    /// Whether it is followed, in whole or in part, because the code index lists it.
    pub(super) fn is_for_index(self) -> bool {
        matches!(self.role, Role::Listed | Role::Indexed)
    }
}

impl Table {
    /// Reads a directory and sorts what is in it by the rules; without a listing if it is a Python environment that no
    /// rule names. `None`: it isn't there, or can't be read.
    pub(super) fn look_into(
        &mut self,
        dir: &Path,
        way: Way,
        ground: &Ground<'_>,
    ) -> Option<(Arc<Rules>, Option<Listing>)> {
        let contents = Contents::read(dir).ok()?;
        let is_root = self.is_root(dir);
        let above = dir.parent().filter(|_| !is_root).and_then(|above| self.dirs.get(above));
        let rules = match above {
            Some(above) => Rules::among(&above.rules, dir, |name| contents.holds(name)),
            None => Rules::of_root(dir),
        };
        if !is_root && way.role == Role::Files && contents.holds(PYTHON_ENVIRONMENT) && is_environment(dir) {
            return Some((rules, None));
        }
        if let Some(since) = self.since.as_mut().filter(|since| contents.changed_ns > since.began_ns) {
            // Something may have gone of which nothing is left to be seen.
            match way.role {
                Role::Indexed => since.changes.note_aside_bulk(),
                _ => since.changes.note_incomplete(),
            }
        }
        let listing = self.sort_out(dir, &contents, &rules, way, ground);
        if let Some(since) = &mut self.since {
            for (name, known) in &listing.files {
                if !known.stamp.is_later_than(since.began_ns) {
                    continue;
                }
                match known.is_told() {
                    true => since.changes.note(dir.join(name), true, true),
                    false => since.changes.note_aside(dir.join(name)),
                }
            }
        }
        Some((rules, Some(listing)))
    }

    /// What the rules say of the directory `path` in one that is followed this way. `is_opened`: it may be looked into.
    pub(super) fn judge(
        &self,
        path: &Path,
        rules: &Rules,
        inside: Way,
        is_opened: bool,
        ground: &Ground<'_>,
    ) -> Judged {
        let is_root = self.is_root(path);
        let is_hidden = inside.is_hidden || !ground.is_indexed || rules.hides(path, true);
        let for_index = Some(Way { role: Role::Indexed, is_hidden }).filter(|_| !is_hidden);
        // Who names a directory as a root wants its files listed.
        let only_for_index = if is_root { Some(Way::of_root(ground)) } else { for_index };
        if inside.role == Role::Indexed {
            return Judged { way: only_for_index, dependencies: None };
        }
        let verdict = match is_opened {
            true => rules.judge(path, inside.is_ignored()),
            false => rules.judge_unopened(path, inside.is_ignored()),
        };
        match verdict {
            Verdict::Enter | Verdict::EnterIgnored if is_root => Judged { way: only_for_index, dependencies: None },
            Verdict::Enter => Judged { way: Some(Way { role: Role::Files, is_hidden }), dependencies: None },
            Verdict::EnterIgnored => {
                let role = if is_hidden { Role::Ignored } else { Role::Listed };
                Judged { way: Some(Way { role, is_hidden }), dependencies: None }
            }
            Verdict::Skip => Judged { way: only_for_index, dependencies: None },
            Verdict::Dependencies(dirs) => Judged { way: only_for_index, dependencies: Some(dirs) },
        }
    }

    /// Who hears of the file `path` in a directory that is followed this way; `None`: nobody.
    pub(super) fn standing(path: &Path, rules: &Rules, inside: Way, ground: &Ground<'_>) -> Option<Standing> {
        if inside.role != Role::Indexed {
            if !inside.is_ignored() && !rules.ignores(path, false) {
                return Some(Standing::Listed);
            }
            if ground.follows_ignored(path) {
                return Some(Standing::Told);
            }
        }
        (!inside.is_hidden && !rules.hides(path, false)).then_some(Standing::Aside)
    }

    fn sort_out(&self, dir: &Path, contents: &Contents, rules: &Rules, way: Way, ground: &Ground<'_>) -> Listing {
        let mut listing = Listing::default();
        let (told, aside) = self.dirs.get(dir).map_or((0, 0), |known| super::counts(&known.files));
        let mut room = self.files_max.saturating_sub(self.file_count - told);
        let mut room_aside = self.files_max.saturating_sub(self.aside_count - aside);
        for entry in &contents.entries {
            let (path, name) = (dir.join(&entry.name), entry.name.clone());
            if entry.is_dir {
                let judged = self.judge(&path, rules, way, false, ground);
                listing.dependencies.extend(judged.dependencies.into_iter().flatten());
                match judged.way {
                    Some(way) => drop(listing.children.insert(name, way)),
                    None => drop(listing.left_out.insert(name)),
                }
                continue;
            }
            let Some(standing) = Self::standing(&path, rules, way, ground) else {
                listing.left_out.insert(name);
                continue;
            };
            let Some(stamp) = contents.stamp(entry) else { continue };
            let is_aside = standing == Standing::Aside;
            let left = if is_aside { &mut room_aside } else { &mut room };
            if *left > 0 {
                *left -= 1;
                listing.files.insert(name, Known::new(stamp, standing));
            } else if is_aside {
                listing.aside_full = true;
            } else {
                listing.full = true;
            }
        }
        listing
    }
}
