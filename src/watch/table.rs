//! What a subscription knows of the disk: its directories, their watches, and a stamp a file.
//!
//! Compares and remembers; when to look is the subscription's business. Invariants: a directory is watched before it is
//! listed, so nothing can slip in between; a directory in the table has exactly one route; nothing is reported that a
//! comparison with the disk didn't show.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::Metadata;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::changes::Pending;
use super::ignores::{Rules, Verdict};
use super::queue::{AddError, Queue, WatchId};
use super::routes::{Role, Routes};
use crate::base::clock::wall_ns;
use crate::base::limits::{FRESH_STAMP_MS, MAX_WATCHED_FILES};

const TOO_MANY_FILES: &str = "more files than the watcher follows; exclude generated folders with an ignore file";
const NO_WATCHES_LEFT: &str = "the limit of inotify watches is reached; raise fs.inotify.max_user_watches";

/// What a table needs to set and drop watches.
pub(super) struct Ground<'a> {
    pub queue: &'a Queue,
    pub routes: &'a Routes,
    pub subscription: u64,
    /// Set when the subscription is dropped: nothing may be watched any more.
    pub closed: &'a AtomicBool,
}

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
    degraded: Option<&'static str>,
    sources_changed: bool,
}

#[derive(Debug)]
struct Dir {
    watch: WatchId,
    rules: Arc<Rules>,
    files: BTreeMap<OsString, Stamp>,
    children: BTreeSet<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    mtime_ns: i128,
    ctime_ns: i128,
    inode: u64,
    link: bool,
}

/// One listing of a directory.
#[derive(Default)]
struct Listing {
    files: BTreeMap<OsString, Stamp>,
    children: BTreeSet<OsString>,
    dependencies: Vec<PathBuf>,
    /// There, but ignored: forgotten without a report.
    ignored: BTreeSet<OsString>,
    /// There was no room for all files.
    full: bool,
}

impl Ground<'_> {
    fn watch(&self, dir: &Path, role: Role) -> Result<WatchId, AddError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(AddError::Gone);
        }
        let id = self.routes.add(self.queue, self.subscription, dir, role)?;
        if self.closed.load(Ordering::SeqCst) {
            self.routes.remove_all(self.queue, self.subscription);
            return Err(AddError::Gone);
        }
        Ok(id)
    }

    /// Watches one of git's directories.
    pub fn watch_git(&self, dir: &Path) -> Result<WatchId, AddError> {
        self.watch(dir, Role::Git)
    }

    /// Ends one watch.
    pub fn unwatch(&self, id: WatchId, dir: &Path, role: Role) {
        self.routes.remove(self.queue, id, self.subscription, dir, role);
    }
}

impl Table {
    /// An empty table over real paths; a root inside another that is walked anyway costs nothing.
    pub fn new(mut roots: Vec<PathBuf>) -> Self {
        roots.sort();
        roots.dedup();
        Self {
            roots,
            dirs: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            file_count: 0,
            files_max: MAX_WATCHED_FILES,
            degraded: None,
            sources_changed: false,
        }
    }

    /// Compares everything with disk: the first walk, and whatever comes after lost events.
    pub fn sync_all(&mut self, ground: &Ground<'_>, pending: &mut Pending) {
        self.degraded = None;
        for root in self.roots.clone() {
            let covered = root.ancestors().skip(1).any(|above| self.roots.iter().any(|other| other == above));
            if covered && self.dirs.contains_key(&root) {
                continue;
            }
            self.sync(root, ground, pending);
        }
    }

    /// Compares one directory and all below with disk.
    pub fn sync(&mut self, start: PathBuf, ground: &Ground<'_>, pending: &mut Pending) {
        let mut todo = vec![start];
        while let Some(dir) = todo.pop() {
            let watch = match ground.watch(&dir, Role::Files) {
                Ok(watch) => watch,
                Err(error) => {
                    self.unwatchable(&dir, error, ground, pending);
                    continue;
                }
            };
            let rules = self.rules_for(&dir);
            let Some(listing) = self.list(&dir, &rules) else {
                ground.unwatch(watch, &dir, Role::Files);
                self.forget(&dir, ground, pending, true);
                continue;
            };
            todo.extend(listing.children.iter().map(|name| dir.join(name)));
            for path in &listing.dependencies {
                self.watch_dependencies(path, ground);
            }
            self.replace(dir, watch, rules, listing, ground, pending);
        }
    }

    /// Compares one path with disk, about which events said `seen`.
    pub fn look(&mut self, path: &Path, seen: Seen, ground: &Ground<'_>, pending: &mut Pending) {
        let Some((dir, name)) = path.parent().zip(path.file_name()) else { return };
        let Some(parent) = self.dirs.get(dir) else { return };
        let rules = parent.rules.clone();
        match path.symlink_metadata().ok() {
            Some(found) if found.is_dir() => {
                self.look_at_file(dir, name.to_owned(), None, seen, pending);
                match rules.judge(path) {
                    Verdict::Enter if seen.replaced || !self.dirs.contains_key(path) => {
                        self.adopt(dir, name.to_owned());
                        self.sync(path.to_owned(), ground, pending);
                    }
                    Verdict::Enter => {}
                    Verdict::Skip => self.forget(path, ground, pending, false),
                    Verdict::Dependencies(dirs) => {
                        self.forget(path, ground, pending, false);
                        dirs.iter().for_each(|dir| self.watch_dependencies(dir, ground));
                        pending.note_incomplete();
                    }
                }
            }
            found => {
                self.forget(path, ground, pending, true);
                let file = found.filter(|found| Stamp::is_file(found) && !rules.ignores(path, false));
                self.look_at_file(dir, name.to_owned(), file.map(|found| Stamp::of(&found)), seen, pending);
            }
        }
    }

    /// Whether one of the roots isn't there.
    pub fn misses_a_root(&self) -> bool {
        self.roots.iter().any(|root| !self.dirs.contains_key(root))
    }

    /// Why not everything is watched.
    pub fn degraded(&self) -> Option<&'static str> {
        self.degraded
    }

    /// The regular files that `is_source` picks, ordered by their paths' bytes; `None` if they are the same as at the
    /// last call.
    pub fn sources(&mut self, is_source: impl Fn(&Path) -> bool) -> Option<Arc<[PathBuf]>> {
        if !std::mem::take(&mut self.sources_changed) {
            return None;
        }
        let files = self.dirs.iter().flat_map(|(dir, entry)| {
            let regular = entry.files.iter().filter(|(_, stamp)| !stamp.link);
            regular.map(move |(name, _)| dir.join(name))
        });
        let mut sources: Vec<PathBuf> = files.filter(|path| is_source(path)).collect();
        sources.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
        Some(sources.into())
    }

    fn rules_for(&self, dir: &Path) -> Arc<Rules> {
        let above = dir.parent().filter(|_| !self.roots.iter().any(|root| root == dir));
        match above.and_then(|above| self.dirs.get(above)) {
            Some(above) => Rules::below(&above.rules, dir),
            None => Rules::of_root(dir),
        }
    }

    fn list(&self, dir: &Path, rules: &Rules) -> Option<Listing> {
        let mut listing = Listing::default();
        let others = self.file_count - self.dirs.get(dir).map_or(0, |known| known.files.len());
        let room = self.files_max.saturating_sub(others);
        for entry in dir.read_dir().ok()?.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                match rules.judge(&path) {
                    Verdict::Enter => drop(listing.children.insert(name)),
                    Verdict::Skip => drop(listing.ignored.insert(name)),
                    Verdict::Dependencies(dirs) => {
                        listing.dependencies.extend(dirs);
                        listing.ignored.insert(name);
                    }
                }
            } else if rules.ignores(&path, false) {
                listing.ignored.insert(name);
            } else if let Some(found) = entry.metadata().ok().filter(Stamp::is_file) {
                if listing.files.len() < room {
                    listing.files.insert(name, Stamp::of(&found));
                } else {
                    listing.full = true;
                }
            }
        }
        Some(listing)
    }

    /// Puts a listing in the place of what was known of `dir`, and reports the difference.
    fn replace(
        &mut self,
        dir: PathBuf,
        watch: WatchId,
        rules: Arc<Rules>,
        listing: Listing,
        ground: &Ground<'_>,
        pending: &mut Pending,
    ) {
        let old = self.dirs.remove(&dir);
        let (old_files, old_children) = match old {
            Some(old) => {
                if old.watch != watch {
                    ground.unwatch(old.watch, &dir, Role::Files);
                }
                (old.files, old.children)
            }
            None => Default::default(),
        };
        for (name, stamp) in &listing.files {
            let before = old_files.get(name);
            if before != Some(stamp) {
                pending.note(dir.join(name), before.is_some(), true);
                self.sources_changed |= before.is_none_or(|before| before.link != stamp.link);
            }
        }
        for name in old_files.keys().filter(|name| !listing.files.contains_key(*name)) {
            self.sources_changed = true;
            if !listing.ignored.contains(name) {
                pending.note(dir.join(name), true, false);
            }
        }
        for name in old_children.iter().filter(|name| !listing.children.contains(*name)) {
            self.forget(&dir.join(name), ground, pending, !listing.ignored.contains(name));
        }
        self.file_count = self.file_count + listing.files.len() - old_files.len();
        if listing.full {
            self.degraded = Some(TOO_MANY_FILES);
        }
        self.dirs.insert(dir, Dir { watch, rules, files: listing.files, children: listing.children });
    }

    fn look_at_file(&mut self, dir: &Path, name: OsString, now: Option<Stamp>, seen: Seen, pending: &mut Pending) {
        let Some(parent) = self.dirs.get_mut(dir) else { return };
        let before = parent.files.get(&name).copied();
        // A second write within the clock's grain leaves the same stamp.
        let hidden = |stamp: &Stamp| seen.written && stamp.is_fresh();
        if before == now && !now.as_ref().is_some_and(hidden) {
            return;
        }
        if before.is_none() && self.file_count >= self.files_max {
            self.degraded = Some(TOO_MANY_FILES);
            return pending.note_bulk();
        }
        self.sources_changed |= before.map(|stamp| stamp.link) != now.map(|stamp| stamp.link);
        self.file_count = self.file_count + usize::from(now.is_some()) - usize::from(before.is_some());
        pending.note(dir.join(&name), before.is_some(), now.is_some());
        match now {
            Some(stamp) => drop(parent.files.insert(name, stamp)),
            None => drop(parent.files.remove(&name)),
        }
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
            let Some(entry) = self.dirs.remove(&dir) else { continue };
            ground.unwatch(entry.watch, &dir, Role::Files);
            self.file_count -= entry.files.len();
            self.sources_changed = true;
            for name in entry.files.keys().filter(|_| gone) {
                pending.note(dir.join(name), true, false);
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

    fn unwatchable(&mut self, dir: &Path, error: AddError, ground: &Ground<'_>, pending: &mut Pending) {
        match error {
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

impl Stamp {
    fn is_file(metadata: &Metadata) -> bool {
        metadata.is_file() || metadata.is_symlink()
    }

    fn of(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Self {
            size: metadata.len(),
            mtime_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            link: metadata.is_symlink(),
        }
    }

    fn is_fresh(&self) -> bool {
        self.ctime_ns + i128::from(FRESH_STAMP_MS) * 1_000_000 > wall_ns()
    }
}

fn keys_below<V>(map: &BTreeMap<PathBuf, V>, path: &Path) -> Vec<PathBuf> {
    let from = map.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
    from.map(|(dir, _)| dir).take_while(|dir| dir.starts_with(path)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_files_are_said_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["a/1", "a/2", "b/3", "c/4"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "").unwrap();
        }
        let (queue, routes, closed) = (Queue::open().unwrap(), Routes::default(), AtomicBool::new(false));
        let ground = Ground { queue: &queue, routes: &routes, subscription: 1, closed: &closed };
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
    fn a_closed_subscription_sets_no_watch() {
        let dir = tempfile::tempdir().unwrap();
        let (queue, routes, closed) = (Queue::open().unwrap(), Routes::default(), AtomicBool::new(true));
        let ground = Ground { queue: &queue, routes: &routes, subscription: 1, closed: &closed };
        Table::new(vec![dir.path().to_owned()]).sync_all(&ground, &mut Pending::default());
        assert_eq!(routes.len(), 0);
    }
}
