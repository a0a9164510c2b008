//! The followed directories of a subscription, their watches, and one stamp per file.
//!
//! It compares the disk with the stored state; the subscription decides when. Invariants: a directory is watched before it
//! is listed, so no change in between is lost; a directory in the table has exactly one route; every reported change comes
//! from a comparison with the disk.

mod change_detection;
mod classification;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::change_detection::{counts, record};
use self::classification::{DirDecision, FollowMode, FollowedEntries};
use super::changes::PendingChanges;
use super::context::WatchContext;
use super::dependencies::DependencyFolders;
use super::keys_below;
use super::queue::{AddError, WatchId};
use super::routes::WatchRole;
use crate::ignores::{Rules, site_packages};
use crate::limits::{MAX_WATCHED_FILES, MAX_WATCHED_IGNORED_DIRS};
use crate::stamp::{KnownFile, Stamp};

/// Directories that the watcher of one workspace follows only because the code index lists them.
const MAX_WATCHED_INDEXED_DIRS: usize = 20_000;

const TOO_MANY_FILES: &str = "too many files to watch; exclude generated directories with an ignore file";
const TOO_MANY_IGNORED: &str =
    "too many ignored directories to watch; changes of sources in the other ones are not detected";
const TOO_MANY_INDEXED: &str = "too many index-only directories to watch; exclude some in .codeyardignore";
const TOO_MANY_INDEXED_FILES: &str = "too many index-only files to watch; exclude some in .codeyardignore";
const NO_WATCHES_LEFT: &str = "the limit of inotify watches is reached; raise fs.inotify.max_user_watches";

/// The events reported for one path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventFlags {
    /// The entry was created, deleted or moved.
    pub replaced: bool,
    /// Its content or attributes changed.
    pub written: bool,
}

/// The followed files below the roots.
#[derive(Debug)]
pub(super) struct Table {
    roots: Vec<PathBuf>,
    dirs: BTreeMap<PathBuf, Dir>,
    dependencies: DependencyFolders,
    file_count: usize,
    files_max: usize,
    ignored_count: usize,
    ignored_max: usize,
    index_only_count: usize,
    indexed_count: usize,
    indexed_max: usize,
    degraded: Option<&'static str>,
    /// Why some directories or files that only the code index uses aren't watched.
    index_only_degraded: Option<&'static str>,
    sources_changed: bool,
    /// Files that were looked at since everything was last compared.
    looks: Cell<usize>,
    /// Set only during the first walk.
    walk_changes: Option<WalkChanges>,
}

#[derive(Debug)]
struct Dir {
    watch: WatchId,
    rules: Arc<Rules>,
    mode: FollowMode,
    files: BTreeMap<OsString, KnownFile>,
    children: BTreeSet<OsString>,
}

/// The state of a directory on disk.
struct DirState {
    watch: WatchId,
    rules: Arc<Rules>,
    mode: FollowMode,
    classification: FollowedEntries,
}

/// Changes during the first walk, for consumers that read the disk at the same time.
#[derive(Debug)]
struct WalkChanges {
    /// Start of the interval, in nanoseconds walk_changes 1970.
    began_ns: i128,
    changes: PendingChanges,
}

impl Table {
    /// An empty table for `roots`, which are real paths. A root inside another one isn't walked twice.
    pub(super) fn new(mut roots: Vec<PathBuf>) -> Self {
        roots.sort();
        roots.dedup();
        Self {
            roots,
            dirs: BTreeMap::new(),
            dependencies: DependencyFolders::default(),
            file_count: 0,
            files_max: MAX_WATCHED_FILES,
            ignored_count: 0,
            ignored_max: MAX_WATCHED_IGNORED_DIRS,
            index_only_count: 0,
            indexed_count: 0,
            indexed_max: MAX_WATCHED_INDEXED_DIRS,
            degraded: None,
            index_only_degraded: None,
            sources_changed: false,
            looks: Cell::new(0),
            walk_changes: None,
        }
    }

    /// The first walk. Returns the changes since `since_ns` that happened before the walk reached them: a consumer may have
    /// read the disk earlier, though the table has no earlier state.
    pub(super) fn walk(&mut self, since_ns: i128, context: &WatchContext<'_>) -> PendingChanges {
        self.walk_changes = Some(WalkChanges { began_ns: since_ns, changes: PendingChanges::default() });
        self.sync_all(context, &mut PendingChanges::default());
        self.walk_changes.take().map(|walk_changes| walk_changes.changes).unwrap_or_default()
    }

    /// Compares everything with the disk, after events were lost or rules changed.
    pub(super) fn sync_all(&mut self, context: &WatchContext<'_>, pending: &mut PendingChanges) {
        (self.degraded, self.index_only_degraded) = (None, None);
        self.looks.set(0);
        for root in self.roots.clone() {
            let covered = root.ancestors().skip(1).any(|above| self.roots.iter().any(|other| other == above));
            if covered && self.dirs.contains_key(&root) {
                continue;
            }
            self.sync(root, FollowMode::of_root(context), context, pending);
        }
    }

    /// Compares a directory and everything below it with the disk. Ignored directories come last, the higher ones first:
    /// they don't use up the limits of the others, and the deep ones are left out first.
    fn sync(&mut self, start: PathBuf, mode: FollowMode, context: &WatchContext<'_>, pending: &mut PendingChanges) {
        let mut todo = VecDeque::from([(start, mode)]);
        let mut dependencies = Vec::new();
        while let Some((dir, mode)) = todo.pop_front() {
            let Some(mode) = self.limit_mode(&dir, mode) else {
                self.forget(&dir, context, pending, false);
                continue;
            };
            let watch = match context.watch(&dir, mode.role) {
                Ok(watch) => watch,
                Err(error) => {
                    self.handle_watch_error(&dir, mode, error, context, pending);
                    continue;
                }
            };
            let Some((rules, classification)) = self.read_followed_dir(&dir, mode, context) else {
                context.unwatch(watch, &dir, mode.role);
                self.forget(&dir, context, pending, true);
                continue;
            };
            let Some(classification) = classification else {
                // A Python environment: only the addition and removal of packages matters.
                context.unwatch(watch, &dir, mode.role);
                match mode.is_hidden {
                    true => self.forget(&dir, context, pending, false),
                    false => todo.push_back((dir.clone(), FollowMode { role: WatchRole::Indexed, ..mode })),
                }
                dependencies.extend(site_packages(&dir));
                continue;
            };
            for (name, mode) in &classification.children {
                match mode.role {
                    WatchRole::Files => todo.push_front((dir.join(name), *mode)),
                    _ => todo.push_back((dir.join(name), *mode)),
                }
            }
            dependencies.extend_from_slice(&classification.dependencies);
            self.replace(dir, DirState { watch, rules, mode, classification }, context, pending);
        }
        self.follow_dependencies(&dependencies, context);
    }

    /// The mode in which a directory is followed within the limits. `None` if the limits leave no room.
    fn limit_mode(&mut self, dir: &Path, mode: FollowMode) -> Option<FollowMode> {
        let known = self.dirs.get(dir).map(|known| known.mode);
        let mut mode = mode;
        if mode.is_for_index() && self.indexed_count >= self.indexed_max && !known.is_some_and(FollowMode::is_for_index)
        {
            self.index_only_degraded = Some(TOO_MANY_INDEXED);
            // Files that language servers read are still followed.
            mode = Some(FollowMode { role: WatchRole::Ignored, ..mode }).filter(|_| mode.role == WatchRole::Listed)?;
        }
        let is_known = known.is_some_and(|known| known.role == WatchRole::Ignored);
        if mode.role == WatchRole::Ignored && self.ignored_count >= self.ignored_max && !is_known {
            self.degraded = Some(TOO_MANY_IGNORED);
            return None;
        }
        Some(mode)
    }

    /// Compares one path with the disk, for which events reported `flags`.
    pub(super) fn compare_path(
        &mut self,
        path: &Path,
        flags: EventFlags,
        context: &WatchContext<'_>,
        pending: &mut PendingChanges,
    ) {
        let Some((dir, name)) = path.parent().zip(path.file_name()) else { return };
        let Some(parent) = self.dirs.get(dir) else { return };
        let rules = parent.rules.clone();
        let inside = parent.mode;
        match path.symlink_metadata().ok() {
            Some(found) if found.is_dir() => {
                self.compare_file(dir, name.to_owned(), None, flags, context, pending);
                let DirDecision { mode, dependencies } = self.classify(path, &rules, inside, true, context);
                match mode {
                    None => self.forget(path, context, pending, false),
                    Some(mode) if flags.replaced || !self.dirs.contains_key(path) => {
                        self.add_child(dir, name.to_owned());
                        self.sync(path.to_owned(), mode, context, pending);
                    }
                    Some(_) => {}
                }
                if let Some(dirs) = dependencies {
                    self.follow_dependencies(&dirs, context);
                    pending.record_incomplete();
                }
            }
            found => {
                self.forget(path, context, pending, true);
                let file = found.filter(Stamp::is_file);
                let audience = file.as_ref().and_then(|_| Self::audience(path, &rules, inside, context));
                let known = file.zip(audience).map(|(found, audience)| KnownFile::of(&found, audience));
                self.compare_file(dir, name.to_owned(), known, flags, context, pending);
            }
        }
    }

    /// Whether a root doesn't exist.
    pub(super) fn has_missing_root(&self) -> bool {
        self.roots.iter().any(|root| !self.dirs.contains_key(root))
    }

    /// Whether a repository around a root tracks other files now, of those that an ignore rule matches.
    pub(super) fn has_new_tracked_files(&self) -> bool {
        let listed = |path: &Path| {
            let dir = self.dirs.get(path.parent()?)?;
            dir.files.get(path.file_name()?).filter(|known| known.is_listed())
        };
        let is_followed = |path: &Path| listed(path).is_some() || !path.is_file();
        self.roots.iter().filter_map(|root| self.dirs.get(root)).any(|dir| dir.rules.has_new_tracked_files(is_followed))
    }

    /// Why some files aren't watched.
    pub(super) fn degraded(&self) -> Option<&'static str> {
        self.degraded
    }

    /// Why some files that the code index lists aren't watched.
    pub(super) fn index_degraded(&self) -> Option<&'static str> {
        // The index doesn't list ignored files, except those followed for the index.
        self.degraded.filter(|why| *why != TOO_MANY_IGNORED).or(self.index_only_degraded)
    }

    /// Whether directories were left out because of a limit, and half of that limit is free now.
    pub(super) fn can_follow_more(&self) -> bool {
        self.degraded == Some(TOO_MANY_IGNORED) && self.ignored_count <= self.ignored_max / 2
            || self.index_only_degraded == Some(TOO_MANY_INDEXED) && self.indexed_count <= self.indexed_max / 2
    }

    /// The regular files that aren't ignored and that `is_source` selects, ordered by the bytes of their paths. `None` if
    /// they are the same as at the last call.
    pub(super) fn sources(&mut self, is_source: impl Fn(&Path) -> bool) -> Option<Arc<[PathBuf]>> {
        if !std::mem::take(&mut self.sources_changed) {
            return None;
        }
        let files = self.dirs.iter().flat_map(|(dir, entry)| {
            let regular = entry.files.iter().filter(|(_, known)| known.is_listed());
            regular.map(move |(name, _)| dir.join(name))
        });
        let mut sources: Vec<PathBuf> = files.filter(|path| is_source(path)).collect();
        sources.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
        Some(sources.into())
    }

    fn is_root(&self, dir: &Path) -> bool {
        self.roots.iter().any(|root| root.as_os_str() == dir.as_os_str())
    }

    /// Replaces the stored state of `dir` by `now` and records the differences.
    fn replace(&mut self, dir: PathBuf, now: DirState, context: &WatchContext<'_>, pending: &mut PendingChanges) {
        let DirState { watch, rules, mode, classification } = now;
        let (old_files, old_children) = self.remove(&dir, Some((watch, mode.role)), context).unwrap_or_default();
        for (name, now) in &classification.files {
            let before = old_files.get(name);
            record(pending, &dir, name, before, Some(now), false);
            self.sources_changed |= before.is_none_or(|before| before.lists_otherwise(now));
        }
        for (name, before) in old_files.iter().filter(|(name, _)| !classification.files.contains_key(*name)) {
            self.sources_changed = true;
            if !classification.left_out.contains(name) {
                record(pending, &dir, name, Some(before), None, false);
            }
        }
        for name in old_children.iter().filter(|name| !classification.children.contains_key(*name)) {
            self.forget(&dir.join(name), context, pending, !classification.left_out.contains(name));
        }
        if classification.full {
            self.degraded = Some(TOO_MANY_FILES);
        }
        if classification.index_only_full {
            self.index_only_degraded = Some(TOO_MANY_INDEXED_FILES);
        }
        let (reported, index_only) = counts(&classification.files);
        self.file_count += reported;
        self.index_only_count += index_only;
        self.ignored_count += usize::from(mode.role == WatchRole::Ignored);
        self.indexed_count += usize::from(mode.is_for_index());
        let children = classification.children.into_keys().collect();
        self.dirs.insert(dir, Dir { watch, rules, mode, files: classification.files, children });
    }

    /// Removes a directory from the table and returns its files and children. Removes its watch unless it is `kept`.
    fn remove(
        &mut self,
        dir: &Path,
        kept: Option<(WatchId, WatchRole)>,
        context: &WatchContext<'_>,
    ) -> Option<(BTreeMap<OsString, KnownFile>, BTreeSet<OsString>)> {
        let old = self.dirs.remove(dir)?;
        if kept != Some((old.watch, old.mode.role)) {
            context.unwatch(old.watch, dir, old.mode.role);
        }
        let (reported, index_only) = counts(&old.files);
        self.file_count -= reported;
        self.index_only_count -= index_only;
        self.ignored_count -= usize::from(old.mode.role == WatchRole::Ignored);
        self.indexed_count -= usize::from(old.mode.is_for_index());
        Some((old.files, old.children))
    }

    /// Removes a directory and everything below it. If `gone`, records its files as deleted.
    fn forget(&mut self, path: &Path, context: &WatchContext<'_>, pending: &mut PendingChanges, gone: bool) {
        if self.dependencies.forget(path, context) && gone {
            pending.record_incomplete();
        }
        for dir in keys_below(&self.dirs, path) {
            let Some((files, _)) = self.remove(&dir, None, context) else { continue };
            self.sources_changed = true;
            for (name, before) in files.iter().filter(|_| gone) {
                record(pending, &dir, name, Some(before), None, false);
            }
        }
        if let Some((parent, name)) = path.parent().zip(path.file_name())
            && let Some(parent) = self.dirs.get_mut(parent)
        {
            parent.children.remove(name);
        }
    }

    fn add_child(&mut self, dir: &Path, name: OsString) {
        if let Some(parent) = self.dirs.get_mut(dir) {
            parent.children.insert(name);
        }
    }

    fn handle_watch_error(
        &mut self,
        dir: &Path,
        mode: FollowMode,
        error: AddError,
        context: &WatchContext<'_>,
        pending: &mut PendingChanges,
    ) {
        match error {
            AddError::Full if mode.role == WatchRole::Indexed => {
                self.index_only_degraded = Some(NO_WATCHES_LEFT);
            }
            AddError::Full => {
                self.degraded = Some(NO_WATCHES_LEFT);
            }
            AddError::Gone => self.forget(dir, context, pending, !dir.is_dir()),
        }
    }

    /// Compares folders in dependencies with the disk, and returns whether sources came or went with one.
    pub(super) fn compare_dependencies(&mut self, folders: BTreeSet<PathBuf>, context: &WatchContext<'_>) -> bool {
        self.dependencies.compare(folders, context)
    }

    fn follow_dependencies(&mut self, dirs: &[PathBuf], context: &WatchContext<'_>) {
        if self.dependencies.follow(dirs, context).is_err() {
            self.degraded = Some(NO_WATCHES_LEFT);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::watch::queue::EventQueue;
    use crate::watch::routes::Routes;

    fn context<'a>(queue: &'a EventQueue, routes: &'a Routes, closed: &'a AtomicBool) -> WatchContext<'a> {
        let is_source = &|_: &Path| true;
        WatchContext { queue, routes, subscription: 1, closed, is_source, look: &|_| None, is_indexed: false }
    }

    #[test]
    fn too_many_files_are_bounded_and_degraded() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["a/1", "a/2", "b/3", "c/4"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        }
        let queue = EventQueue::open().unwrap();
        let routes = Routes::default();
        let closed = AtomicBool::new(false);
        let context = context(&queue, &routes, &closed);
        let mut pending = PendingChanges::default();
        let mut table = Table { files_max: 3, ..Table::new(vec![root.clone()]) };
        table.sync_all(&context, &mut pending);
        assert_eq!((table.file_count, table.degraded()), (3, Some(TOO_MANY_FILES)));
        pending.take();
        std::fs::write(root.join("5"), "").unwrap();
        table.compare_path(&root.join("5"), EventFlags { replaced: true, written: false }, &context, &mut pending);
        assert!(pending.take().bulk && table.file_count == 3);
        // With room again, the next full comparison finds everything.
        std::fs::remove_dir_all(root.join("a")).unwrap();
        table.sync_all(&context, &mut pending);
        table.sync_all(&context, &mut pending);
        assert_eq!((table.file_count, table.degraded()), (3, None));
    }

    #[test]
    fn too_many_ignored_directories_are_degraded_and_leave_out_the_deep_ones() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["gen/a/deep/1.py", "gen/b/2.py", "src/x/y/z/3.py", "zen/4.py"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        }
        std::fs::write(root.join(".gitignore"), "?en/\n").unwrap();
        let queue = EventQueue::open().unwrap();
        let routes = Routes::default();
        let closed = AtomicBool::new(false);
        let context = context(&queue, &routes, &closed);
        let mut pending = PendingChanges::default();
        let mut table = Table { ignored_max: 4, ..Table::new(vec![root.clone()]) };
        table.sync_all(&context, &mut pending);
        assert_eq!((table.ignored_count, table.degraded()), (4, Some(TOO_MANY_IGNORED)));
        assert!(!table.dirs.contains_key(&root.join("gen/a/deep")) && table.dirs.contains_key(&root.join("src/x/y/z")));
        assert_eq!(routes.len(), 5 + 4);
        // A second comparison keeps the followed directories.
        table.sync_all(&context, &mut pending);
        assert_eq!((table.ignored_count, table.can_follow_more()), (4, false));
        std::fs::remove_dir_all(root.join("gen/b")).unwrap();
        std::fs::remove_dir_all(root.join("zen")).unwrap();
        for gone in ["gen/b", "zen"] {
            table.compare_path(&root.join(gone), EventFlags { replaced: true, written: false }, &context, &mut pending);
        }
        assert!(table.can_follow_more());
        table.sync_all(&context, &mut pending);
        assert_eq!((table.ignored_count, table.degraded()), (3, None));
        assert!(table.dirs.contains_key(&root.join("gen/a/deep")));
    }

    #[test]
    fn a_closed_subscription_sets_no_watch() {
        let dir = tempfile::tempdir().unwrap();
        let queue = EventQueue::open().unwrap();
        let routes = Routes::default();
        let closed = AtomicBool::new(true);
        let context = context(&queue, &routes, &closed);
        Table::new(vec![dir.path().to_owned()]).sync_all(&context, &mut PendingChanges::default());
        assert_eq!(routes.len(), 0);
    }
}
