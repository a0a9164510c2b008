//! The folders that hold dependencies, and the folders inside them.
//!
//! Their files have no stamps: an event of a source in one is a change. Invariants: a folder is watched before it is listed; the folders
//! inside use at most half of the watches that the system allows, and at most [`MAX_WATCHED_DEPENDENCY_DIRS`]; the deep ones are left out
//! first; links aren't followed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::context::WatchContext;
use super::keys_below;
use super::queue::{AddError, WatchId};
use super::routes::WatchRole;
use crate::dir_listing::DirListing;
use crate::ignores::{is_cache, is_dependency_source};
use crate::limits::MAX_WATCHED_DEPENDENCY_DIRS;

/// The folders of one subscription.
#[derive(Debug)]
pub(super) struct DependencyFolders {
    folders: BTreeMap<PathBuf, Folder>,
    folders_max: usize,
}

#[derive(Debug)]
struct Folder {
    watch: WatchId,
    role: WatchRole,
    /// It holds a source itself.
    has_sources: bool,
}

impl Default for DependencyFolders {
    fn default() -> Self {
        Self { folders: BTreeMap::new(), folders_max: MAX_WATCHED_DEPENDENCY_DIRS }
    }
}

impl DependencyFolders {
    /// Follows folders that hold dependencies, and what is inside them now.
    ///
    /// # Errors
    /// If there was no watch left for one of `tops`.
    pub(super) fn follow(&mut self, tops: &[PathBuf], context: &WatchContext<'_>) -> Result<(), AddError> {
        let mut before: BTreeMap<PathBuf, Folder> = BTreeMap::new();
        for top in tops {
            before.extend(self.take_below(top));
        }
        let todo = tops.iter().map(|top| (top.clone(), WatchRole::Dependencies)).collect();
        let all_watched = self.walk(todo, context);
        for (path, old) in before {
            if self.folders.get(&path).is_none_or(|now| (now.watch, now.role) != (old.watch, old.role)) {
                context.unwatch(old.watch, &path, old.role);
            }
        }
        all_watched
    }

    /// Compares folders in dependencies with the disk, and returns whether sources came or went with one.
    pub(super) fn compare(&mut self, paths: BTreeSet<PathBuf>, context: &WatchContext<'_>) -> bool {
        let mut changed = false;
        for path in paths {
            changed |= self.forget(&path, context);
            if path.parent().is_some_and(|dir| self.folders.contains_key(dir)) {
                let _ = self.walk(VecDeque::from([(path.clone(), WatchRole::InDependency)]), context);
                changed |= keys_below(&self.folders, &path).iter().any(|dir| self.folders[dir].has_sources);
            }
        }
        changed
    }

    /// Forgets a folder and everything below it, and returns whether there was a source.
    pub(super) fn forget(&mut self, path: &Path, context: &WatchContext<'_>) -> bool {
        let mut had_sources = false;
        for (dir, folder) in self.take_below(path) {
            context.unwatch(folder.watch, &dir, folder.role);
            had_sources |= folder.has_sources || folder.role == WatchRole::Dependencies;
        }
        had_sources
    }

    fn take_below(&mut self, path: &Path) -> Vec<(PathBuf, Folder)> {
        keys_below(&self.folders, path).into_iter().filter_map(|dir| self.folders.remove_entry(&dir)).collect()
    }

    /// Watches and lists folders, level by level.
    fn walk(&mut self, mut todo: VecDeque<(PathBuf, WatchRole)>, context: &WatchContext<'_>) -> Result<(), AddError> {
        let mut all_watched = Ok(());
        while let Some((path, role)) = todo.pop_front() {
            if role == WatchRole::InDependency && !self.has_room(context) {
                tracing::info!(
                    folders = self.folders.len(),
                    "changes in deeper folders of dependencies aren't noticed"
                );
                break;
            }
            let watch = match context.watch(&path, role) {
                Ok(watch) => watch,
                Err(AddError::Full) if role == WatchRole::Dependencies => {
                    all_watched = Err(AddError::Full);
                    continue;
                }
                Err(_) => continue,
            };
            let entries = DirListing::read(&path).map(|listing| listing.entries).unwrap_or_default();
            let has_sources = entries.iter().any(|entry| is_dependency_source(Path::new(&entry.name)));
            let inside = entries.iter().filter(|entry| entry.is_dir && !is_cache(&entry.name));
            todo.extend(inside.map(|entry| (path.join(&entry.name), WatchRole::InDependency)));
            self.folders.insert(path, Folder { watch, role, has_sources });
        }
        all_watched
    }

    fn has_room(&self, context: &WatchContext<'_>) -> bool {
        self.folders.len() < self.folders_max && context.routes.len() < context.queue.watches_max() / 2
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::watch::queue::EventQueue;
    use crate::watch::routes::Routes;

    #[test]
    fn the_deep_folders_are_left_out_and_no_watch_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("node_modules");
        for file in ["a/deep/er/x.d.ts", "b/deep/y.js", "c/z.js", ".cache/w.ts"] {
            std::fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
            std::fs::write(top.join(file), "").unwrap();
        }
        let queue = EventQueue::open().unwrap();
        let routes = Routes::default();
        let closed = AtomicBool::new(false);
        let is_source = |_: &Path| true;
        let context = WatchContext {
            queue: &queue,
            routes: &routes,
            subscription: 1,
            closed: &closed,
            is_source: &is_source,
            look: &|_| None,
            is_indexed: false,
        };
        let mut followed = DependencyFolders { folders_max: 5, ..DependencyFolders::default() };
        followed.follow(std::slice::from_ref(&top), &context).unwrap();
        assert_eq!((followed.folders.len(), routes.len()), (5, 5));
        assert!(
            followed.folders.contains_key(&top.join("c")) && !followed.folders.contains_key(&top.join("a/deep/er"))
        );
        // With room, the rest is found; what is gone is left.
        followed.folders_max = 100;
        std::fs::remove_dir_all(top.join("c")).unwrap();
        followed.follow(std::slice::from_ref(&top), &context).unwrap();
        assert_eq!((followed.folders.len(), routes.len()), (6, 6));
        std::fs::rename(top.join("a"), top.join("d")).unwrap();
        assert!(followed.compare([top.join("a"), top.join("d")].into(), &context));
        assert!(followed.folders.contains_key(&top.join("d/deep/er")));
        assert!(!followed.compare([top.join("b")].into(), &context), "it has no source");
        assert_eq!((followed.folders.len(), routes.len()), (6, 6));
        assert!(followed.forget(&top, &context));
        assert_eq!((followed.folders.len(), routes.len()), (0, 0));
    }
}
