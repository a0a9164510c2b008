//! A workspace's subscription to the watcher.
//!
//! Events wait in an inbox until [`Subscription::barrier`], which compares each named path with the disk on a blocking
//! thread. The inbox of an idle workspace is bounded and costs nothing else. Invariant: two workspaces share only the
//! kernel's queue and the routes, so a workspace that walks a huge tree delays no other.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::changes::{Changes, PendingChanges};
use super::context::WatchContext;
use super::git::{self, GitHead};
use super::queue::{EventKind, WatchId};
use super::routes::{Route, WatchRole};
use super::table::{EventFlags, Table};
use super::watcher::{WatchSpec, Watcher, WatcherShared};
use crate::ignores::{IGNORE_FILES, INDEX_IGNORE_FILE, REPOSITORY_MARKS, is_cache, is_dependency_source};
use crate::limits::MAX_WATCH_INBOX;
use codeyard_base::blocking;

/// Longest time of one barrier, in milliseconds. Beyond it the changes become one bulk change.
const WATCH_BARRIER_MS: u64 = 250;

const NOT_FOLLOWED_YET: &str = "index-only files are not watched yet";

/// The subscription of one workspace. Dropping it removes its watches, in the dropping thread.
#[derive(Debug)]
pub struct Subscription {
    pub(super) subscriber: Arc<Subscriber>,
    /// Keeps the watcher's thread alive.
    pub(super) watcher: Watcher,
}

/// The state of a subscription that the watcher and the blocking threads share.
pub(super) struct Subscriber {
    pub id: u64,
    pub shared: Arc<WatcherShared>,
    spec: WatchSpec,
    inbox: Mutex<Inbox>,
    /// Held during a comparison with the disk.
    comparison_lock: Arc<tokio::sync::Mutex<()>>,
    disk: Mutex<DiskState>,
    pending: Mutex<PendingChanges>,
    sources: Mutex<Arc<[PathBuf]>>,
    degraded: Mutex<Option<&'static str>>,
    /// Why some files that the code index lists aren't watched.
    index_degraded: Mutex<Option<&'static str>>,
    is_indexed: AtomicBool,
    root_missing: AtomicBool,
    /// The wake-up was called since the last `take`.
    woken: AtomicBool,
    /// A barrier timed out while its comparison was running.
    timed_out: AtomicBool,
    pub closed: AtomicBool,
}

#[derive(Default)]
struct Inbox {
    paths: BTreeMap<PathBuf, EventFlags>,
    git: bool,
    /// A dependency was added or removed, or a source in one changed.
    dependencies: bool,
    /// Folders in dependencies that were created or deleted.
    dependency_folders: BTreeSet<PathBuf>,
    /// Compare compare_all, because events or a root were lost.
    compare_all: bool,
    /// Compare compare_all, because ignore rules may have changed. The set of followed files may change: `bulk`.
    rules: bool,
    /// Compare compare_all, because rules that concern only the code index may have changed.
    index_rules: bool,
    /// The index of a working tree was written, so that git may track other files.
    tracked: bool,
}

struct DiskState {
    table: Table,
    heads: BTreeMap<PathBuf, (GitHead, BTreeMap<PathBuf, WatchId>)>,
}

impl Subscription {
    /// Afterwards [`Subscription::take`] returns every change made on disk before the call. Takes a few microseconds if
    /// nothing changed, and at most [`WATCH_BARRIER_MS`]. If that isn't enough, the next `take` has `bulk`, and a later one
    /// returns the rest. Needs a tokio runtime.
    pub async fn barrier(&self) {
        if tokio::time::timeout(Duration::from_millis(WATCH_BARRIER_MS), self.compare()).await.is_err() {
            self.subscriber.timed_out.store(true, Ordering::SeqCst);
            self.subscriber.pending.lock().record_bulk();
        }
    }

    /// [`Subscription::barrier`] without a limit of time.
    pub(super) async fn compare(&self) {
        let subscriber = self.subscriber.clone();
        let comparison_lock = subscriber.comparison_lock.clone().lock_owned().await;
        subscriber.shared.pump(Some(subscriber.id));
        if !subscriber.has_work() {
            return;
        }
        let work = move || {
            subscriber.compare_with_disk();
            drop(comparison_lock);
        };
        if blocking::spawn(work).await.is_err() {
            self.subscriber.mark_lost();
        }
    }

    /// The changes since the last call, as of the last barrier. Re-arms the wake-up.
    pub fn take(&self) -> Changes {
        self.subscriber.woken.store(false, Ordering::SeqCst);
        self.subscriber.pending.lock().take()
    }

    /// The regular files that aren't ignored and that `WatchSpec::is_source` selects, ordered by the bytes of their paths, as
    /// of the last barrier.
    pub fn source_files(&self) -> Arc<[PathBuf]> {
        self.subscriber.sources.lock().clone()
    }

    /// Why some directories aren't watched: a sentence for the operator. Changes in watched directories are still reported.
    /// Files in the others must be compared with the disk by the consumer.
    pub fn degraded(&self) -> Option<String> {
        self.subscriber.degraded.lock().map(str::to_owned)
    }

    /// Starts to follow the files that only the code index lists, from the next barrier. Their changes are in [`Changes::index_only`].
    /// Returns `false` if they were followed before.
    pub fn follow_index(&self) -> bool {
        let is_new = !self.subscriber.is_indexed.swap(true, Ordering::SeqCst);
        if is_new {
            self.subscriber.inbox.lock().index_rules = true;
            self.subscriber.wake();
        }
        is_new
    }

    /// Why some files that the code index lists aren't watched; also set until the first barrier after
    /// [`Subscription::follow_index`].
    pub fn index_degraded(&self) -> Option<String> {
        self.subscriber.index_degraded.lock().map(str::to_owned)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscriber.closed.store(true, Ordering::SeqCst);
        self.watcher.forget(self.subscriber.id);
    }
}

impl Subscriber {
    pub(super) fn new(id: u64, shared: Arc<WatcherShared>, spec: WatchSpec) -> Self {
        let table = Table::new(spec.roots.clone());
        let is_indexed = AtomicBool::new(spec.follows_index);
        Self {
            id,
            shared,
            spec,
            inbox: Mutex::default(),
            comparison_lock: Arc::default(),
            disk: Mutex::new(DiskState { table, heads: BTreeMap::new() }),
            pending: Mutex::default(),
            sources: Mutex::new(Arc::from([])),
            degraded: Mutex::new(None),
            index_degraded: Mutex::new(Some(NOT_FOLLOWED_YET)),
            is_indexed,
            root_missing: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// The first walk. Changes made during the walk are pending afterwards. Blocks.
    pub(super) fn walk(&self) {
        let mut disk = self.disk.lock();
        let changes = disk.table.walk(self.spec.since_ns, &self.context());
        self.compare_heads(&mut disk, &mut PendingChanges::default());
        self.publish(&mut disk);
        self.pending.lock().merge(changes);
    }

    /// Puts an event into the inbox. Blocks no longer than a map insertion.
    pub(super) fn deliver(&self, route: &Route, name: Option<&Path>, kind: EventKind) {
        let mut inbox = self.inbox.lock();
        match (kind, route.role, name) {
            (EventKind::SelfLost | EventKind::Unwatched, WatchRole::Files, _) => {
                inbox.compare_all |= self.spec.roots.iter().any(|root| **root == *route.dir);
            }
            (EventKind::SelfLost | EventKind::Unwatched, ..) => inbox.git |= route.role == WatchRole::Git,
            (_, WatchRole::Git, Some(name)) => {
                let name = name.to_string_lossy();
                inbox.git |= git::concerns_head(&route.dir, &name) || name == "info";
                inbox.rules |= git::concerns_rules(&route.dir, &name);
                inbox.tracked |= name == "index";
            }
            (_, WatchRole::Dependencies | WatchRole::InDependency, Some(name)) => {
                let path = route.dir.join(name);
                let is_package = kind != EventKind::Written && route.role == WatchRole::Dependencies;
                inbox.dependencies |= is_package || is_dependency_source(&path);
                if kind == EventKind::FolderReplaced && !is_cache(name.as_os_str()) {
                    inbox.dependency_folders.insert(path);
                    inbox.bound();
                }
            }
            (_, WatchRole::Ignored, Some(name)) if !self.concerns_ignored(&route.dir.join(name), kind) => {}
            (_, WatchRole::Files | WatchRole::Ignored | WatchRole::Listed | WatchRole::Indexed, Some(name)) => {
                inbox.git |= name == Path::new(".git") && route.role == WatchRole::Files;
                let flags = inbox.paths.entry(route.dir.join(name)).or_default();
                flags.replaced |= matches!(kind, EventKind::Replaced | EventKind::FolderReplaced);
                flags.written |= kind == EventKind::Written;
                inbox.bound();
            }
            _ => {}
        }
    }

    /// Whether an event in an ignored directory matters. Other files that a build writes there cost only this check.
    fn concerns_ignored(&self, path: &Path, kind: EventKind) -> bool {
        match kind {
            EventKind::FolderReplaced => true,
            _ => self.context().follows_ignored(path),
        }
    }

    pub(super) fn has_events(&self) -> bool {
        !self.inbox.lock().is_empty()
    }

    /// Calls the wake-up, at most once until the next `take`.
    pub(super) fn wake(&self) {
        if !self.woken.swap(true, Ordering::SeqCst) {
            (self.spec.on_change)();
        }
    }

    /// Records that events were lost, so that the next barrier compares compare_all.
    pub(super) fn mark_events_lost(&self) {
        self.inbox.lock().mark_lost();
    }

    fn mark_lost(&self) {
        self.inbox.lock().mark_lost();
        self.pending.lock().record_bulk();
    }

    fn has_work(&self) -> bool {
        self.has_events() || self.root_missing.load(Ordering::SeqCst)
    }

    fn context(&self) -> WatchContext<'_> {
        WatchContext {
            queue: &self.shared.queue,
            routes: &self.shared.routes,
            subscription: self.id,
            closed: &self.closed,
            is_source: &*self.spec.is_source,
            look: &*self.spec.look,
            is_indexed: self.is_indexed.load(Ordering::SeqCst),
        }
    }

    /// Compares the paths in the inbox with the disk. Blocks.
    fn compare_with_disk(&self) {
        let mut disk = self.disk.lock();
        let inbox = std::mem::take(&mut *self.inbox.lock());
        let mut found = PendingChanges::default();
        let rules_changed = inbox.rules
            || inbox.paths.keys().any(|path| is_ignore_file(path))
            || inbox.tracked && disk.table.has_new_tracked_files();
        let index_rules_changed =
            inbox.index_rules || inbox.paths.iter().any(|(path, flags)| is_index_rule(path, *flags));
        if inbox.compare_all || rules_changed || index_rules_changed || disk.table.has_missing_root() {
            if inbox.compare_all || rules_changed {
                found.record_bulk();
            }
            if index_rules_changed {
                found.record_index_only_rescan();
            }
            disk.table.sync_all(&self.context(), &mut found);
        }
        for (path, flags) in &inbox.paths {
            if self.closed.load(Ordering::SeqCst) {
                return;
            }
            disk.table.compare_path(path, *flags, &self.context(), &mut found);
        }
        if disk.table.can_follow_more() {
            found.record_bulk();
            disk.table.sync_all(&self.context(), &mut found);
        }
        let changed = disk.table.compare_dependencies(inbox.dependency_folders, &self.context());
        if inbox.dependencies || changed {
            found.record_incomplete();
        }
        if (inbox.git || inbox.compare_all) && self.compare_heads(&mut disk, &mut found) {
            tracing::debug!("head moved");
        }
        self.publish(&mut disk);
        drop(disk);
        let reported = !found.is_empty();
        self.pending.lock().merge(found);
        if self.timed_out.swap(false, Ordering::SeqCst) && reported {
            self.wake();
        }
    }

    fn publish(&self, disk: &mut DiskState) {
        if let Some(sources) = disk.table.sources(|path| (self.spec.is_source)(path)) {
            *self.sources.lock() = sources;
        }
        *self.degraded.lock() = disk.table.degraded();
        let is_indexed = self.is_indexed.load(Ordering::SeqCst) && !self.inbox.lock().index_rules;
        *self.index_degraded.lock() = if is_indexed { disk.table.index_degraded() } else { Some(NOT_FOLLOWED_YET) };
        self.root_missing.store(disk.table.has_missing_root(), Ordering::SeqCst);
    }

    /// Reads `HEAD` of each root and watches the files that determine it. Returns whether one changed.
    fn compare_heads(&self, disk: &mut DiskState, found: &mut PendingChanges) -> bool {
        let context = self.context();
        let mut moved = false;
        for root in &self.spec.roots {
            let (old, mut watches) = disk.heads.remove(root).unwrap_or_default();
            let mut watched = git::head(root).unwrap_or_default();
            watched.dirs.extend(git::rule_dirs_above(root));
            watches.retain(|dir, id| {
                let kept = watched.dirs.contains(dir);
                if !kept {
                    context.unwatch(*id, dir, WatchRole::Git);
                }
                kept
            });
            for dir in &watched.dirs {
                if let Ok(id) = context.watch_git(dir)
                    && let Some(stale) = watches.insert(dir.clone(), id).filter(|stale| *stale != id)
                {
                    context.unwatch(stale, dir, WatchRole::Git);
                }
            }
            // Read it again now that it is watched: it may have changed in between.
            let head = git::head(root).unwrap_or_default();
            if head.fingerprint != old.fingerprint {
                found.record_head_change();
                moved = true;
            }
            disk.heads.insert(root.clone(), (head, watches));
        }
        moved
    }
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscriber").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Inbox {
    fn is_empty(&self) -> bool {
        let flags = [self.git, self.dependencies, self.compare_all, self.rules, self.index_rules, self.tracked];
        self.paths.is_empty() && self.dependency_folders.is_empty() && !flags.contains(&true)
    }

    fn bound(&mut self) {
        if self.paths.len() + self.dependency_folders.len() > MAX_WATCH_INBOX {
            self.mark_lost();
        }
    }

    fn mark_lost(&mut self) {
        self.paths.clear();
        self.dependency_folders.clear();
        self.compare_all = true;
    }
}

fn is_ignore_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| IGNORE_FILES.iter().any(|known| name == *known))
}

/// Whether a path may change the code index's rules: its own ignore file, or a repository that was created or deleted.
fn is_index_rule(path: &Path, flags: EventFlags) -> bool {
    let is_mark = |name: &OsStr| flags.replaced && REPOSITORY_MARKS.iter().any(|mark| name == *mark);
    path.file_name().is_some_and(|name| name == INDEX_IGNORE_FILE || is_mark(name))
}
