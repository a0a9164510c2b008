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
use crate::watch::stamp::Known;

/// One listing of a directory.
#[derive(Default)]
pub(super) struct Listing {
    pub files: BTreeMap<OsString, Known>,
    pub children: BTreeMap<OsString, Role>,
    pub dependencies: Vec<PathBuf>,
    /// There, but not followed: forgotten without a report.
    pub left_out: BTreeSet<OsString>,
    /// There was no room for all files.
    pub full: bool,
}

impl Table {
    /// Reads a directory and sorts what is in it by the rules; without a listing if it is a Python environment that no
    /// rule names. `None`: it isn't there, or can't be read.
    pub(super) fn look_into(
        &mut self,
        dir: &Path,
        role: Role,
        ground: &Ground<'_>,
    ) -> Option<(Arc<Rules>, Option<Listing>)> {
        let contents = Contents::read(dir).ok()?;
        let is_root = self.is_root(dir);
        let above = dir.parent().filter(|_| !is_root).and_then(|above| self.dirs.get(above));
        let rules = match above {
            Some(above) => Rules::among(&above.rules, dir, |name| contents.holds(name)),
            None => Rules::of_root(dir),
        };
        if !is_root && role == Role::Files && contents.holds(PYTHON_ENVIRONMENT) && is_environment(dir) {
            return Some((rules, None));
        }
        if let Some(since) = self.since.as_mut().filter(|since| contents.changed_ns > since.began_ns) {
            // Something may have gone of which nothing is left to be seen.
            since.changes.note_incomplete();
        }
        let listing = self.sort_out(dir, &contents, &rules, role, ground);
        if let Some(since) = &mut self.since {
            for (name, known) in &listing.files {
                if known.stamp.is_later_than(since.began_ns) {
                    since.changes.note(dir.join(name), true, true);
                }
            }
        }
        Some((rules, Some(listing)))
    }

    fn sort_out(&self, dir: &Path, contents: &Contents, rules: &Rules, role: Role, ground: &Ground<'_>) -> Listing {
        let mut listing = Listing::default();
        let others = self.file_count - self.dirs.get(dir).map_or(0, |known| known.files.len());
        let room = self.files_max.saturating_sub(others);
        for entry in &contents.entries {
            let (path, name) = (dir.join(&entry.name), entry.name.clone());
            if entry.is_dir {
                match rules.judge_unopened(&path, role == Role::Ignored) {
                    verdict @ (Verdict::Enter | Verdict::EnterIgnored) => {
                        listing.children.insert(name, self.role_of(&path, &verdict));
                    }
                    Verdict::Skip => drop(listing.left_out.insert(name)),
                    Verdict::Dependencies(dirs) => {
                        listing.dependencies.extend(dirs);
                        listing.left_out.insert(name);
                    }
                }
                continue;
            }
            let ignored = role == Role::Ignored || rules.ignores(&path, false);
            if ignored && !ground.follows_ignored(&path) {
                listing.left_out.insert(name);
            } else if let Some(stamp) = contents.stamp(entry) {
                if listing.files.len() < room {
                    listing.files.insert(name, Known::new(stamp, ignored));
                } else {
                    listing.full = true;
                }
            }
        }
        listing
    }
}
