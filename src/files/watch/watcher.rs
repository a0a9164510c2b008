//! The one watcher of the process: the queue, the subscribers, and the thread that wakes them.
//!
//! The thread moves events from the kernel's queue to the inboxes and calls the wake-ups. It never reads the disk.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::counters::WatchCounters;
use super::queue::{EventKind, EventQueue, WatchId};
use super::routes::Routes;
use super::subscription::{Subscriber, Subscription};
use super::walk_slots::WalkSlots;
use codeyard_base::priority::give_way;

/// First walks that run at once without waiting: sixty together would take the processors from the searches of a moment after a start.
const MAX_WALKS: usize = 4;
/// Longest time that a first walk waits for others, in milliseconds. Then it runs beside them, so that walks of huge trees delay no
/// workspace for longer.
const WALK_WAIT_MS: u64 = 500;

/// The one watcher of the process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Watcher(Arc<WatcherThread>);

/// What the content of a file makes it.
pub type LookAtFile = dyn Fn(&Path) -> Option<u32> + Send + Sync;

/// What to watch and how to report changes.
#[derive(Clone)]
pub struct WatchSpec {
    /// Real paths of the directories.
    pub roots: Vec<PathBuf>,
    /// Whether a file is a source: in [`Subscription::source_files`] unless it is ignored. Changes of ignored sources are
    /// reported too. Called for many paths, also from the watcher's thread. Must not access the disk.
    pub is_source: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    /// Looks at a regular file that isn't ignored when it appears and when it changes, before it is reported: a number for what its content
    /// makes it, or `None` if only its name counts. A file that gets a number is reported as created; one whose number changes may have any
    /// effect, which is reported as `incomplete`. May access the disk, and changes what `is_source` says.
    pub look: Arc<LookAtFile>,
    /// Changes from this moment on are reported, also those that happen before the first walk reaches them. In nanoseconds
    /// since 1970. A file's stamp may lag one tick of the kernel's clock (up to 10 ms), so a consumer that needs every change
    /// must read no file within that tick.
    pub since_ns: i128,
    /// Whether the first walk already follows the files that only the code index lists, as after [`Subscription::follow_index`]. One
    /// walk for both takes half the time.
    pub follows_index: bool,
    /// Called when something may have changed; the consumer then calls `barrier` and `take`. Called at most once until the
    /// next `take`, from the watcher's thread or from another workspace's barrier: it must only send a message and return.
    pub on_change: Arc<dyn Fn() + Send + Sync>,
}

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The queue could not be created. On Linux the usual cause is the user's limit of inotify instances.
    #[error("file watching is not available")]
    Unavailable(#[source] std::io::Error),
    /// One of the roots can't be read.
    #[error("a root can't be watched")]
    RootUnreadable,
}

/// The state that all clones share.
#[derive(Debug)]
pub(super) struct WatcherShared {
    pub queue: EventQueue,
    pub routes: Routes,
    subscribers: Mutex<BTreeMap<u64, Weak<Subscriber>>>,
    /// Held while the queue is emptied: when it is found empty, its events are delivered.
    pump: Mutex<()>,
    next_id: AtomicU64,
    walk_slots: WalkSlots,
    counters: Arc<WatchCounters>,
}

/// Ends the thread when the last clone is dropped.
#[derive(Debug)]
struct WatcherThread(Arc<WatcherShared>);

impl Watcher {
    /// A watcher without watches, and its thread. `cookie_dir` is a directory outside all roots, for systems where the queue
    /// can't be emptied on demand. Linux doesn't use it.
    pub fn new(cookie_dir: &Path) -> Result<Self, WatchError> {
        let watcher = Self::without_thread(cookie_dir)?;
        let thread_state = watcher.0.0.clone();
        let run = move || {
            while thread_state.queue.wait() {
                thread_state.pump(None);
            }
        };
        std::thread::Builder::new().name("watcher".into()).spawn(run).map_err(WatchError::Unavailable)?;
        Ok(watcher)
    }

    /// A watcher without its thread: subscribers are woken only by [`Watcher::run_once`]. For simulations, which decide
    /// when the thread would run.
    pub fn without_thread(cookie_dir: &Path) -> Result<Self, WatchError> {
        let _ = cookie_dir;
        let shared = Arc::new(WatcherShared {
            queue: EventQueue::open().map_err(WatchError::Unavailable)?,
            routes: Routes::default(),
            subscribers: Mutex::default(),
            pump: Mutex::default(),
            next_id: AtomicU64::new(1),
            walk_slots: WalkSlots::new(MAX_WALKS),
            counters: Arc::default(),
        });
        Ok(Self(Arc::new(WatcherThread(shared))))
    }

    /// One iteration of the watcher's thread: moves the queue's events to the inboxes and wakes their subscribers.
    pub fn run_once(&self) {
        self.0.0.pump(None);
    }

    /// Walks the roots and watches them. Blocks during the walk (about a second for 100,000 files). If something can't be
    /// watched, [`Subscription::degraded`] returns the reason.
    pub fn subscribe(&self, spec: WatchSpec) -> Result<Subscription, WatchError> {
        if spec.roots.iter().any(|root| root.read_dir().is_err()) {
            return Err(WatchError::RootUnreadable);
        }
        let shared = &self.0.0;
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        let subscriber = Arc::new(Subscriber::new(id, shared.clone(), spec));
        // Events that are already in the queue are older than this walk.
        shared.pump(None);
        shared.subscribers.lock().insert(id, Arc::downgrade(&subscriber));
        let subscription = Subscription { subscriber, watcher: self.clone() };
        let walk = shared.walk_slots.enter(Duration::from_millis(WALK_WAIT_MS));
        run_at_low_priority(|| subscription.subscriber.walk());
        drop(walk);
        Ok(subscription)
    }

    /// Counters of the events read so far.
    pub fn counters(&self) -> Arc<WatchCounters> {
        self.0.0.counters.clone()
    }

    /// Number of watches in the kernel.
    pub fn watch_count(&self) -> usize {
        self.0.0.routes.len()
    }

    pub(super) fn forget(&self, id: u64) {
        let shared = &self.0.0;
        shared.subscribers.lock().remove(&id);
        shared.routes.remove_all(&shared.queue, id);
    }
}

/// Runs `work` on a new thread with a low priority, and waits for it. Language servers start during the walk, and callers
/// wait for their answers. The thread isn't reused, because a thread's priority can't be raised again.
fn run_at_low_priority(work: impl FnOnce() + Send) {
    let walked = std::thread::scope(|scope| {
        let walk = move || {
            give_way();
            work();
        };
        scope.spawn(walk).join()
    });
    if let Err(panic) = walked {
        std::panic::resume_unwind(panic);
    }
}

impl Drop for WatcherThread {
    fn drop(&mut self) {
        self.0.queue.end();
    }
}

impl WatcherShared {
    /// Moves all events from the queue to the inboxes, and wakes the subscribers with events, except `own`.
    pub(super) fn pump(&self, own: Option<u64>) {
        let mut receivers: BTreeMap<u64, Arc<Subscriber>> = BTreeMap::new();
        {
            let _guard = self.pump.lock();
            if self.queue.waiting_bytes() == 0 {
                return;
            }
            self.queue.drain(|id, name, kind| self.deliver(id, name, kind, &mut receivers));
        }
        for subscriber in receivers.values().filter(|subscriber| Some(subscriber.id) != own && subscriber.has_events())
        {
            subscriber.wake();
        }
    }

    fn deliver(
        &self,
        id: WatchId,
        name: Option<&OsStr>,
        kind: EventKind,
        receivers: &mut BTreeMap<u64, Arc<Subscriber>>,
    ) {
        let subscribers = self.subscribers.lock();
        self.counters.event();
        if kind == EventKind::Overflow {
            self.counters.overflow();
            tracing::warn!("inotify queue overflowed; comparing all watched files with the disk");
            for subscriber in subscribers.values().filter_map(Weak::upgrade) {
                subscriber.mark_events_lost();
                receivers.insert(subscriber.id, subscriber);
            }
            return;
        }
        let routes = if kind == EventKind::Unwatched { self.routes.drop_watch(id) } else { self.routes.of(id) };
        for route in routes {
            if let Some(subscriber) = subscribers.get(&route.subscription).and_then(Weak::upgrade) {
                subscriber.deliver(&route, name.map(Path::new), kind);
                receivers.insert(route.subscription, subscriber);
            }
        }
    }

    /// Blocks all pumping, so that the queue overflows.
    #[cfg(test)]
    pub(super) fn stop_pumping(&self) -> parking_lot::MutexGuard<'_, ()> {
        self.pump.lock()
    }
}
