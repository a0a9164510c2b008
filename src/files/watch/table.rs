//! What a subscription knows of the disk: its directories, their watches, and a stamp a file.
//!
//! Compares and remembers; when to look is the subscription's business. Invariants: a directory is watched before it is
//! listed, so nothing can slip in between; a directory in the table has exactly one route; nothing is reported that a
//! comparison with the disk didn't show.

mod listing;
mod noting;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::listing::{Judged, Listing, Way};
use self::noting::{counts, note};
use super::changes::Pending;
use super::ground::Ground;
use super::ignores::{Rules, site_packages};
use super::queue::{AddError, WatchId};
use super::routes::Role;
use super::stamp::{Known, Stamp};
use crate::limits::{MAX_WATCHED_FILES, MAX_WATCHED_IGNORED_DIRS, MAX_WATCHED_INDEXED_DIRS};

const TOO_MANY_FILES: &str = "more files than the watcher follows; exclude generated folders with an ignore file";
const TOO_MANY_IGNORED: &str =
    "more ignored folders than the watcher follows; changes of sources in the rest of them are not seen";
const TOO_MANY_INDEXED: &str =
    "more folders that only the code index lists than the watcher follows; name them in .codeyardignore";
const TOO_MANY_INDEXED_FILES: &str =
    "more files that only the code index lists than the watcher follows; name them in .codeyardignore";
const NO_WATCHES_LEFT: &str = "the limit of inotify watches is reached; raise fs.inotify.max_user_watches";

/// What events said of one path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// The entry was made, deleted or moved.
    pub replaced: bool,
    /// Its content or attributes changed.
    pub written: bool,
}

/// The known files below the roots.
#[derive(Debug)]
pub(super) struct Table {
    roots: Vec<PathBuf>,
    dirs: BTreeMap<PathBuf, Dir>,
    dependencies: BTreeMap<PathBuf, WatchId>,
    file_count: usize,
    files_max: usize,
    ignored_count: usize,
    ignored_max: usize,
    aside_count: usize,
    indexed_count: usize,
    indexed_max: usize,
    degraded: Option<&'static str>,
    /// Why not everything is watched that the code index alone wants.
    aside_degraded: Option<&'static str>,
    sources_changed: bool,
    /// Set during the first walk.
    since: Option<Since>,
}

#[derive(Debug)]
struct Dir {
    watch: WatchId,
    rules: Arc<Rules>,
    way: Way,
    files: BTreeMap<OsString, Known>,
    children: BTreeSet<OsString>,
}

/// A directory as it is now.
struct Sight {
    watch: WatchId,
    rules: Arc<Rules>,
    way: Way,
    listing: Listing,
}

/// What changed on disk while the first walk was under way, for those who read the disk meanwhile.
#[derive(Debug)]
struct Since {
    /// From when on, in nanoseconds since 1970.
    began_ns: i128,
    changes: Pending,
}

impl Table {
    /// An empty table over real paths; a root inside another that is walked anyway costs nothing.
    pub(super) fn new(mut roots: Vec<PathBuf>) -> Self {
        roots.sort();
        roots.dedup();
        Self {
            roots,
            dirs: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            file_count: 0,
            files_max: MAX_WATCHED_FILES,
            ignored_count: 0,
            ignored_max: MAX_WATCHED_IGNORED_DIRS,
            aside_count: 0,
            indexed_count: 0,
            indexed_max: MAX_WATCHED_INDEXED_DIRS,
            degraded: None,
            aside_degraded: None,
            sources_changed: false,
            since: None,
        }
    }

    /// The first walk. Tells what has changed on disk since `since_ns` and before it came there: for whoever has read the
    /// disk meanwhile that is news, though the table never knew it otherwise.
    pub(super) fn walk(&mut self, since_ns: i128, ground: &Ground<'_>) -> Pending {
        self.since = Some(Since { began_ns: since_ns, changes: Pending::default() });
        self.sync_all(ground, &mut Pending::default());
        self.since.take().map(|since| since.changes).unwrap_or_default()
    }

    /// Compares everything with disk: after events were lost, or rules changed.
    pub(super) fn sync_all(&mut self, ground: &Ground<'_>, pending: &mut Pending) {
        (self.degraded, self.aside_degraded) = (None, None);
        for root in self.roots.clone() {
            let covered = root.ancestors().skip(1).any(|above| self.roots.iter().any(|other| other == above));
            if covered && self.dirs.contains_key(&root) {
                continue;
            }
            self.sync(root, Way::of_root(ground), ground, pending);
        }
    }

    /// Compares one directory and all below with disk. Ignored ones come last and the higher ones first, so that they
    /// take no room from others, and that the deep ones are those left out.
    fn sync(&mut self, start: PathBuf, way: Way, ground: &Ground<'_>, pending: &mut Pending) {
        let mut todo = VecDeque::from([(start, way)]);
        while let Some((dir, way)) = todo.pop_front() {
            let Some(way) = self.with_room(&dir, way) else {
                self.forget(&dir, ground, pending, false);
                continue;
            };
            let watch = match ground.watch(&dir, way.role) {
                Ok(watch) => watch,
                Err(error) => {
                    self.unwatchable(&dir, way, error, ground, pending);
                    continue;
                }
            };
            let Some((rules, listing)) = self.look_into(&dir, way, ground) else {
                ground.unwatch(watch, &dir, way.role);
                self.forget(&dir, ground, pending, true);
                continue;
            };
            let Some(listing) = listing else {
                // A Python environment: only the coming and going of its packages counts.
                ground.unwatch(watch, &dir, way.role);
                match way.is_hidden {
                    true => self.forget(&dir, ground, pending, false),
                    false => todo.push_back((dir.clone(), Way { role: Role::Indexed, ..way })),
                }
                site_packages(&dir).iter().for_each(|path| self.watch_dependencies(path, ground));
                continue;
            };
            for (name, way) in &listing.children {
                match way.role {
                    Role::Files => todo.push_front((dir.join(name), *way)),
                    _ => todo.push_back((dir.join(name), *way)),
                }
            }
            for path in &listing.dependencies {
                self.watch_dependencies(path, ground);
            }
            self.replace(dir, Sight { watch, rules, way, listing }, ground, pending);
        }
    }

    /// How a directory can be followed that is to be followed this way; `None`: there is no room for it.
    fn with_room(&mut self, dir: &Path, way: Way) -> Option<Way> {
        let known = self.dirs.get(dir).map(|known| known.way);
        let mut way = way;
        if way.is_for_index() && self.indexed_count >= self.indexed_max && !known.is_some_and(Way::is_for_index) {
            self.aside_degraded = Some(TOO_MANY_INDEXED);
            // What language servers read of it is followed all the same.
            way = Some(Way { role: Role::Ignored, ..way }).filter(|_| way.role == Role::Listed)?;
        }
        let is_known = known.is_some_and(|known| known.role == Role::Ignored);
        if way.role == Role::Ignored && self.ignored_count >= self.ignored_max && !is_known {
            self.degraded = Some(TOO_MANY_IGNORED);
            return None;
        }
        Some(way)
    }

    /// Compares one path with disk, about which events said `seen`.
    pub(super) fn look(&mut self, path: &Path, seen: Seen, ground: &Ground<'_>, pending: &mut Pending) {
        let Some((dir, name)) = path.parent().zip(path.file_name()) else { return };
        let Some(parent) = self.dirs.get(dir) else { return };
        let (rules, inside) = (parent.rules.clone(), parent.way);
        match path.symlink_metadata().ok() {
            Some(found) if found.is_dir() => {
                self.look_at_file(dir, name.to_owned(), None, seen, ground, pending);
                let Judged { way, dependencies } = self.judge(path, &rules, inside, true, ground);
                match way {
                    None => self.forget(path, ground, pending, false),
                    Some(way) if seen.replaced || !self.dirs.contains_key(path) => {
                        self.adopt(dir, name.to_owned());
                        self.sync(path.to_owned(), way, ground, pending);
                    }
                    Some(_) => {}
                }
                if let Some(dirs) = dependencies {
                    dirs.iter().for_each(|dir| self.watch_dependencies(dir, ground));
                    pending.note_incomplete();
                }
            }
            found => {
                self.forget(path, ground, pending, true);
                let file = found.filter(Stamp::is_file);
                let standing = file.as_ref().and_then(|_| Self::standing(path, &rules, inside, ground));
                let known = file.zip(standing).map(|(found, standing)| Known::of(&found, standing));
                self.look_at_file(dir, name.to_owned(), known, seen, ground, pending);
            }
        }
    }

    /// Whether one of the roots isn't there.
    pub(super) fn misses_a_root(&self) -> bool {
        self.roots.iter().any(|root| !self.dirs.contains_key(root))
    }

    /// Why not everything is watched.
    pub(super) fn degraded(&self) -> Option<&'static str> {
        self.degraded
    }

    /// Why not everything is watched that the code index lists.
    pub(super) fn index_degraded(&self) -> Option<&'static str> {
        // What is ignored isn't listed, or it is followed for the index.
        self.degraded.filter(|why| *why != TOO_MANY_IGNORED).or(self.aside_degraded)
    }

    /// Whether ignored directories were left out for want of room, and there is plenty now.
    pub(super) fn has_room_again(&self) -> bool {
        self.degraded == Some(TOO_MANY_IGNORED) && self.ignored_count <= self.ignored_max / 2
            || self.aside_degraded == Some(TOO_MANY_INDEXED) && self.indexed_count <= self.indexed_max / 2
    }

    /// The regular, not ignored files that `is_source` picks, ordered by their paths' bytes; `None` if they are the same as at the
    /// last call.
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

    /// Puts what is seen of `dir` in the place of what was known, and reports the difference.
    fn replace(&mut self, dir: PathBuf, now: Sight, ground: &Ground<'_>, pending: &mut Pending) {
        let Sight { watch, rules, way, listing } = now;
        let (old_files, old_children) = self.remove(&dir, Some((watch, way.role)), ground).unwrap_or_default();
        for (name, now) in &listing.files {
            let before = old_files.get(name);
            note(pending, &dir, name, before, Some(now), false);
            self.sources_changed |= before.is_none_or(|before| before.is_listed() != now.is_listed());
        }
        for (name, before) in old_files.iter().filter(|(name, _)| !listing.files.contains_key(*name)) {
            self.sources_changed = true;
            if !listing.left_out.contains(name) {
                note(pending, &dir, name, Some(before), None, false);
            }
        }
        for name in old_children.iter().filter(|name| !listing.children.contains_key(*name)) {
            self.forget(&dir.join(name), ground, pending, !listing.left_out.contains(name));
        }
        if listing.full {
            self.degraded = Some(TOO_MANY_FILES);
        }
        if listing.aside_full {
            self.aside_degraded = Some(TOO_MANY_INDEXED_FILES);
        }
        let (told, aside) = counts(&listing.files);
        self.file_count += told;
        self.aside_count += aside;
        self.ignored_count += usize::from(way.role == Role::Ignored);
        self.indexed_count += usize::from(way.is_for_index());
        let children = listing.children.into_keys().collect();
        self.dirs.insert(dir, Dir { watch, rules, way, files: listing.files, children });
    }

    /// Takes a directory out of the table, its files and children; its watch ends, unless it is the one to be `kept`.
    fn remove(
        &mut self,
        dir: &Path,
        kept: Option<(WatchId, Role)>,
        ground: &Ground<'_>,
    ) -> Option<(BTreeMap<OsString, Known>, BTreeSet<OsString>)> {
        let old = self.dirs.remove(dir)?;
        if kept != Some((old.watch, old.way.role)) {
            ground.unwatch(old.watch, dir, old.way.role);
        }
        let (told, aside) = counts(&old.files);
        self.file_count -= told;
        self.aside_count -= aside;
        self.ignored_count -= usize::from(old.way.role == Role::Ignored);
        self.indexed_count -= usize::from(old.way.is_for_index());
        Some((old.files, old.children))
    }

    /// Drops a directory with everything below, reported as deleted if `gone`.
    fn forget(&mut self, path: &Path, ground: &Ground<'_>, pending: &mut Pending, gone: bool) {
        for dir in keys_below(&self.dependencies, path) {
            if let Some(watch) = self.dependencies.remove(&dir).filter(|_| gone) {
                ground.unwatch(watch, &dir, Role::Dependencies);
                pending.note_incomplete();
            }
        }
        for dir in keys_below(&self.dirs, path) {
            let Some((files, _)) = self.remove(&dir, None, ground) else { continue };
            self.sources_changed = true;
            for (name, before) in files.iter().filter(|_| gone) {
                note(pending, &dir, name, Some(before), None, false);
            }
        }
        if let Some((parent, name)) = path.parent().zip(path.file_name())
            && let Some(parent) = self.dirs.get_mut(parent)
        {
            parent.children.remove(name);
        }
    }

    fn adopt(&mut self, dir: &Path, name: OsString) {
        if let Some(parent) = self.dirs.get_mut(dir) {
            parent.children.insert(name);
        }
    }

    fn unwatchable(&mut self, dir: &Path, way: Way, error: AddError, ground: &Ground<'_>, pending: &mut Pending) {
        match error {
            AddError::Full if way.role == Role::Indexed => {
                self.aside_degraded = Some(NO_WATCHES_LEFT);
            }
            AddError::Full => {
                self.degraded = Some(NO_WATCHES_LEFT);
            }
            AddError::Gone => self.forget(dir, ground, pending, !dir.is_dir()),
        }
    }

    fn watch_dependencies(&mut self, dir: &Path, ground: &Ground<'_>) {
        match ground.watch(dir, Role::Dependencies) {
            Ok(watch) => drop(self.dependencies.insert(dir.to_owned(), watch)),
            Err(AddError::Full) => {
                self.degraded = Some(NO_WATCHES_LEFT);
            }
            Err(AddError::Gone) => {}
        }
    }
}

fn keys_below<V>(map: &BTreeMap<PathBuf, V>, path: &Path) -> Vec<PathBuf> {
    let from = map.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
    from.map(|(dir, _)| dir).take_while(|dir| dir.starts_with(path)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::watch::queue::Queue;
    use crate::watch::routes::Routes;

    fn ground<'a>(queue: &'a Queue, routes: &'a Routes, closed: &'a AtomicBool) -> Ground<'a> {
        Ground { queue, routes, subscription: 1, closed, is_source: &|_| true, is_indexed: false }
    }

    #[test]
    fn too_many_files_are_said_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["a/1", "a/2", "b/3", "c/4"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        }
        let (queue, routes, closed) = (Queue::open().unwrap(), Routes::default(), AtomicBool::new(false));
        let ground = ground(&queue, &routes, &closed);
        let mut pending = Pending::default();
        let mut table = Table { files_max: 3, ..Table::new(vec![root.clone()]) };
        table.sync_all(&ground, &mut pending);
        assert_eq!((table.file_count, table.degraded()), (3, Some(TOO_MANY_FILES)));
        pending.take();
        std::fs::write(root.join("5"), "").unwrap();
        table.look(&root.join("5"), Seen { replaced: true, written: false }, &ground, &mut pending);
        assert!(pending.take().bulk && table.file_count == 3);
        // Room again: the next full comparison finds everything.
        std::fs::remove_dir_all(root.join("a")).unwrap();
        table.sync_all(&ground, &mut pending);
        table.sync_all(&ground, &mut pending);
        assert_eq!((table.file_count, table.degraded()), (3, None));
    }

    #[test]
    fn too_many_ignored_directories_are_said_and_the_deep_ones_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["gen/a/deep/1.py", "gen/b/2.py", "src/x/y/z/3.py", "zen/4.py"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        }
        std::fs::write(root.join(".gitignore"), "?en/\n").unwrap();
        let (queue, routes, closed) = (Queue::open().unwrap(), Routes::default(), AtomicBool::new(false));
        let ground = ground(&queue, &routes, &closed);
        let mut pending = Pending::default();
        let mut table = Table { ignored_max: 4, ..Table::new(vec![root.clone()]) };
        table.sync_all(&ground, &mut pending);
        assert_eq!((table.ignored_count, table.degraded()), (4, Some(TOO_MANY_IGNORED)));
        assert!(!table.dirs.contains_key(&root.join("gen/a/deep")) && table.dirs.contains_key(&root.join("src/x/y/z")));
        assert_eq!(routes.len(), 5 + 4);
        // Again the same: what is followed keeps its place.
        table.sync_all(&ground, &mut pending);
        assert_eq!((table.ignored_count, table.has_room_again()), (4, false));
        std::fs::remove_dir_all(root.join("gen/b")).unwrap();
        std::fs::remove_dir_all(root.join("zen")).unwrap();
        for gone in ["gen/b", "zen"] {
            table.look(&root.join(gone), Seen { replaced: true, written: false }, &ground, &mut pending);
        }
        assert!(table.has_room_again());
        table.sync_all(&ground, &mut pending);
        assert_eq!((table.ignored_count, table.degraded()), (3, None));
        assert!(table.dirs.contains_key(&root.join("gen/a/deep")));
    }

    #[test]
    fn a_closed_subscription_sets_no_watch() {
        let dir = tempfile::tempdir().unwrap();
        let (queue, routes, closed) = (Queue::open().unwrap(), Routes::default(), AtomicBool::new(true));
        let ground = ground(&queue, &routes, &closed);
        Table::new(vec![dir.path().to_owned()]).sync_all(&ground, &mut Pending::default());
        assert_eq!(routes.len(), 0);
    }
}
