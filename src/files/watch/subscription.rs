//! One workspace's view of the watcher.
//!
//! Events wait in an inbox until somebody looks ([`Subscription::barrier`]): then each named place is compared with disk
//! on a blocking thread. An idle workspace's inbox is bounded and costs nothing else. Invariant: two workspaces share
//! only the kernel's queue and the routes; one that walks a huge tree delays no other.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::changes::{Changes, Pending};
use super::git::{self, Head};
use super::ground::Ground;
use super::ignores::{IGNORE_FILES, INDEX_IGNORE_FILE, REPOSITORY_MARKS};
use super::queue::{Happened, WatchId};
use super::routes::{Role, Route};
use super::table::{Seen, Table};
use super::watcher::{Shared, WatchSpec, Watcher};
use crate::limits::{MAX_WATCH_INBOX, WATCH_BARRIER_MS};
use codeyard_base::blocking;

const NOT_FOLLOWED_YET: &str = "what only the code index lists is not followed yet";

/// A workspace being watched. Dropping it removes its watches, in the dropping thread.
#[derive(Debug)]
pub struct Subscription {
    pub(super) subscriber: Arc<Subscriber>,
    /// Keeps the waking thread alive.
    pub(super) watcher: Watcher,
}

/// What the watcher and the blocking threads share of a subscription.
pub(super) struct Subscriber {
    pub id: u64,
    pub shared: Arc<Shared>,
    spec: WatchSpec,
    inbox: Mutex<Inbox>,
    /// Whoever holds it may compare with disk.
    turn: Arc<tokio::sync::Mutex<()>>,
    disk: Mutex<Disk>,
    pending: Mutex<Pending>,
    sources: Mutex<Arc<[PathBuf]>>,
    degraded: Mutex<Option<&'static str>>,
    /// Of what the code index lists.
    index_degraded: Mutex<Option<&'static str>>,
    is_indexed: AtomicBool,
    root_missing: AtomicBool,
    /// The wake-up was called and nothing was taken since.
    woken: AtomicBool,
    /// A look took too long: when it ends, its caller has gone on.
    late: AtomicBool,
    pub closed: AtomicBool,
}

#[derive(Default)]
struct Inbox {
    places: BTreeMap<PathBuf, Seen>,
    git: bool,
    dependencies: bool,
    /// Compare everything: events were lost, or a root was.
    everything: bool,
    /// The same because other rules may hold. What language servers follow may be other files: `bulk`.
    rules: bool,
    /// The same, where that is of interest to the code index alone.
    index_rules: bool,
}

struct Disk {
    table: Table,
    heads: BTreeMap<PathBuf, (Head, BTreeMap<PathBuf, WatchId>)>,
}

impl Subscription {
    /// After it, everything that happened on disk before it is in [`Subscription::take`]. Takes a few microseconds when
    /// nothing happened. Bounded by [`WATCH_BARRIER_MS`]; when that isn't enough, the next `take` says `bulk`, and the
    /// rest is told by a later one. Needs a tokio runtime.
    pub async fn barrier(&self) {
        let subscriber = &self.subscriber;
        let look = async {
            let turn = subscriber.turn.clone().lock_owned().await;
            subscriber.shared.pump(Some(subscriber.id));
            if !subscriber.has_work() {
                return;
            }
            let subscriber = subscriber.clone();
            let work = move || {
                subscriber.look();
                drop(turn);
            };
            if blocking::spawn(work).await.is_err() {
                self.subscriber.lose();
            }
        };
        if tokio::time::timeout(Duration::from_millis(WATCH_BARRIER_MS), look).await.is_err() {
            subscriber.late.store(true, Ordering::SeqCst);
            subscriber.pending.lock().note_bulk();
        }
    }

    /// What changed since the last call, as far as the last barrier looked. Re-arms the wake-up.
    pub fn take(&self) -> Changes {
        self.subscriber.woken.store(false, Ordering::SeqCst);
        self.subscriber.pending.lock().take()
    }

    /// The regular, not ignored files that the specification's `is_source` picks, ordered by their paths' bytes; as of
    /// the last barrier.
    pub fn source_files(&self) -> Arc<[PathBuf]> {
        self.subscriber.sources.lock().clone()
    }

    /// Why some directories are not watched: a sentence for a person. What is watched is still told as promised; of the
    /// rest nothing is, so files there must be compared with disk by whoever cares.
    pub fn degraded(&self) -> Option<String> {
        self.subscriber.degraded.lock().map(str::to_owned)
    }

    /// Has what the code index lists followed from now on, also where that is nobody else's business: [`Changes::aside`].
    pub fn follow_index(&self) {
        if !self.subscriber.is_indexed.swap(true, Ordering::SeqCst) {
            self.subscriber.inbox.lock().index_rules = true;
            self.subscriber.wake();
        }
    }

    /// Why some of what the code index lists is not watched, likewise; also before a look has followed
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
    pub(super) fn new(id: u64, shared: Arc<Shared>, spec: WatchSpec) -> Self {
        let table = Table::new(spec.roots.clone());
        Self {
            id,
            shared,
            spec,
            inbox: Mutex::default(),
            turn: Arc::default(),
            disk: Mutex::new(Disk { table, heads: BTreeMap::new() }),
            pending: Mutex::default(),
            sources: Mutex::new(Arc::from([])),
            degraded: Mutex::new(None),
            index_degraded: Mutex::new(Some(NOT_FOLLOWED_YET)),
            is_indexed: AtomicBool::new(false),
            root_missing: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            late: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// The first walk; what changed on disk while it was under way is pending after it. Blocks.
    pub(super) fn walk(&self) {
        let mut disk = self.disk.lock();
        let meanwhile = disk.table.walk(self.spec.since_ns, &self.ground());
        self.compare_heads(&mut disk, &mut Pending::default());
        self.publish(&mut disk);
        self.pending.lock().merge(meanwhile);
    }

    /// Puts an event into the inbox. Blocks for no longer than a map insertion.
    pub(super) fn deliver(&self, route: &Route, name: Option<&Path>, happened: Happened) {
        let mut inbox = self.inbox.lock();
        match (happened, route.role, name) {
            (Happened::SelfLost | Happened::Unwatched, Role::Files, _) => {
                inbox.everything |= self.spec.roots.iter().any(|root| **root == *route.dir);
            }
            (Happened::SelfLost | Happened::Unwatched, ..) => inbox.git |= route.role == Role::Git,
            (_, Role::Git, Some(name)) => {
                let name = name.to_string_lossy();
                inbox.git |= git::concerns_head(&route.dir, &name) || name == "info";
                inbox.rules |= git::concerns_rules(&route.dir, &name);
            }
            (Happened::Replaced | Happened::FolderReplaced, Role::Dependencies, _) => inbox.dependencies = true,
            (_, Role::Ignored, Some(name)) if !self.concerns_ignored(&route.dir.join(name), happened) => {}
            (_, Role::Files | Role::Ignored | Role::Listed | Role::Indexed, Some(name)) => {
                inbox.git |= name == Path::new(".git") && route.role == Role::Files;
                let seen = inbox.places.entry(route.dir.join(name)).or_default();
                seen.replaced |= matches!(happened, Happened::Replaced | Happened::FolderReplaced);
                seen.written |= happened == Happened::Written;
                if inbox.places.len() > MAX_WATCH_INBOX {
                    inbox.lose();
                }
            }
            _ => {}
        }
    }

    /// Whether an event in an ignored directory matters. What a build writes there is noise, and costs no more than this.
    fn concerns_ignored(&self, path: &Path, happened: Happened) -> bool {
        match happened {
            Happened::FolderReplaced => true,
            _ => self.ground().follows_ignored(path),
        }
    }

    /// Whether there is anything for a look.
    pub(super) fn has_mail(&self) -> bool {
        !self.inbox.lock().is_empty()
    }

    /// Calls the wake-up, once until the next `take`.
    pub(super) fn wake(&self) {
        if !self.woken.swap(true, Ordering::SeqCst) {
            (self.spec.on_change)();
        }
    }

    /// Events were lost: everything must be compared.
    pub(super) fn lose_events(&self) {
        self.inbox.lock().lose();
    }

    fn lose(&self) {
        self.inbox.lock().lose();
        self.pending.lock().note_bulk();
    }

    fn has_work(&self) -> bool {
        self.has_mail() || self.root_missing.load(Ordering::SeqCst)
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            queue: &self.shared.queue,
            routes: &self.shared.routes,
            subscription: self.id,
            closed: &self.closed,
            is_source: &*self.spec.is_source,
            is_indexed: self.is_indexed.load(Ordering::SeqCst),
        }
    }

    /// Compares what the inbox names with disk. Blocks.
    fn look(&self) {
        let mut disk = self.disk.lock();
        let inbox = std::mem::take(&mut *self.inbox.lock());
        let mut found = Pending::default();
        let rules_changed = inbox.rules || inbox.places.keys().any(|path| is_ignore_file(path));
        let index_rules_changed =
            inbox.index_rules || inbox.places.iter().any(|(path, seen)| is_index_rule(path, *seen));
        if inbox.everything || rules_changed || index_rules_changed || disk.table.misses_a_root() {
            if inbox.everything || rules_changed {
                found.note_bulk();
            }
            if index_rules_changed {
                found.note_aside_bulk();
            }
            disk.table.sync_all(&self.ground(), &mut found);
        }
        for (path, seen) in &inbox.places {
            if self.closed.load(Ordering::SeqCst) {
                return;
            }
            disk.table.look(path, *seen, &self.ground(), &mut found);
        }
        if disk.table.has_room_again() {
            found.note_bulk();
            disk.table.sync_all(&self.ground(), &mut found);
        }
        if inbox.dependencies {
            found.note_incomplete();
        }
        if (inbox.git || inbox.everything) && self.compare_heads(&mut disk, &mut found) {
            tracing::debug!("head moved");
        }
        self.publish(&mut disk);
        drop(disk);
        let told = !found.is_empty();
        self.pending.lock().merge(found);
        if self.late.swap(false, Ordering::SeqCst) && told {
            self.wake();
        }
    }

    fn publish(&self, disk: &mut Disk) {
        if let Some(sources) = disk.table.sources(|path| (self.spec.is_source)(path)) {
            *self.sources.lock() = sources;
        }
        *self.degraded.lock() = disk.table.degraded();
        let is_indexed = self.is_indexed.load(Ordering::SeqCst) && !self.inbox.lock().index_rules;
        *self.index_degraded.lock() = if is_indexed { disk.table.index_degraded() } else { Some(NOT_FOLLOWED_YET) };
        self.root_missing.store(disk.table.misses_a_root(), Ordering::SeqCst);
    }

    /// Reads each root's `HEAD` and watches the places that say what it is.
    fn compare_heads(&self, disk: &mut Disk, found: &mut Pending) -> bool {
        let ground = self.ground();
        let mut moved = false;
        for root in &self.spec.roots {
            let (old, mut watches) = disk.heads.remove(root).unwrap_or_default();
            let mut seen = git::head(root).unwrap_or_default();
            seen.dirs.extend(git::above(root));
            watches.retain(|dir, id| {
                let kept = seen.dirs.contains(dir);
                if !kept {
                    ground.unwatch(*id, dir, Role::Git);
                }
                kept
            });
            for dir in &seen.dirs {
                if let Ok(id) = ground.watch_git(dir)
                    && let Some(stale) = watches.insert(dir.clone(), id).filter(|stale| *stale != id)
                {
                    ground.unwatch(stale, dir, Role::Git);
                }
            }
            // Read again now that it is watched: it may have moved in between.
            let head = git::head(root).unwrap_or_default();
            if head.fingerprint != old.fingerprint {
                found.note_head();
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
        let is_quiet = !self.git && !self.dependencies && !self.everything && !self.rules && !self.index_rules;
        self.places.is_empty() && is_quiet
    }

    fn lose(&mut self) {
        self.places.clear();
        self.everything = true;
    }
}

fn is_ignore_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| IGNORE_FILES.iter().any(|known| name == *known))
}

/// Whether a place says that the code index's rules are others: its own ignore file, or a repository that came or went.
fn is_index_rule(path: &Path, seen: Seen) -> bool {
    let is_mark = |name: &OsStr| seen.replaced && REPOSITORY_MARKS.iter().any(|mark| name == *mark);
    path.file_name().is_some_and(|name| name == INDEX_IGNORE_FILE || is_mark(name))
}
