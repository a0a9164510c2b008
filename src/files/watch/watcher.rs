//! The process's one watcher: the queue, who listens, and the thread that wakes them.
//!
//! The thread only moves events from the kernel's queue to inboxes and calls wake-ups; it never touches the disk.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::queue::{Happened, Queue, WatchId};
use super::routes::Routes;
use super::subscription::{Subscriber, Subscription};
use super::traffic::Traffic;
use codeyard_base::priority::give_way;

/// The one watcher of the process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Watcher(Arc<Running>);

/// What to watch and whom to tell.
#[derive(Clone)]
pub struct WatchSpec {
    /// Real paths of the directories.
    pub roots: Vec<PathBuf>,
    /// Which files belong into [`Subscription::source_files`] unless they are ignored; if they are, their changes are
    /// told all the same. Called for many paths, also from the watcher's thread; must not touch the disk.
    pub is_source: Arc<dyn Fn(&Path) -> bool + Send + Sync>,
    /// What changes from this moment on is told, also if the walk comes there later; in nanoseconds since 1970. A file's
    /// stamp may lag a tick of the kernel's clock behind, so whoever is to hear of everything reads nothing that soon.
    pub since_ns: i128,
    /// Something may have happened: call `barrier` and `take`. Called at most once until the next `take`, from the
    /// watcher's thread or from another workspace's barrier: it must only send a message and return.
    pub on_change: Arc<dyn Fn() + Send + Sync>,
}

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// No queue could be made; on Linux mostly the user's limit of inotify instances.
    #[error("file watching is not available")]
    Unavailable(#[source] std::io::Error),
    /// One of the roots can't be read.
    #[error("a root can't be watched")]
    RootUnreadable,
}

/// Everything behind all clones.
#[derive(Debug)]
pub(super) struct Shared {
    pub queue: Queue,
    pub routes: Routes,
    subscribers: Mutex<BTreeMap<u64, Weak<Subscriber>>>,
    /// Held while the queue is emptied, so that whoever finds it empty also finds the events delivered.
    pump: Mutex<()>,
    next_id: AtomicU64,
    traffic: Arc<Traffic>,
}

/// Ends the thread with the last clone.
#[derive(Debug)]
struct Running(Arc<Shared>);

impl Watcher {
    /// A watcher without watches, and its thread. `cookie_dir`, a directory of ours outside all roots, is for systems
    /// whose queue can't be read empty at will; Linux doesn't need it.
    pub fn new(cookie_dir: &Path) -> Result<Self, WatchError> {
        let watcher = Self::unattended(cookie_dir)?;
        let waking = watcher.0.0.clone();
        let run = move || {
            while waking.queue.wait() {
                waking.pump(None);
            }
        };
        std::thread::Builder::new().name("watcher".into()).spawn(run).map_err(WatchError::Unavailable)?;
        Ok(watcher)
    }

    /// A watcher without its thread: nobody is woken unless [`Watcher::attend`] is called. For simulations, which decide
    /// themselves when the thread would have had its turn.
    pub fn unattended(cookie_dir: &Path) -> Result<Self, WatchError> {
        let _ = cookie_dir;
        let shared = Arc::new(Shared {
            queue: Queue::open().map_err(WatchError::Unavailable)?,
            routes: Routes::default(),
            subscribers: Mutex::default(),
            pump: Mutex::default(),
            next_id: AtomicU64::new(1),
            traffic: Arc::default(),
        });
        Ok(Self(Arc::new(Running(shared))))
    }

    /// One turn of the watcher's thread: what waits in the queue goes to the inboxes, and who has mail is woken.
    pub fn attend(&self) {
        self.0.0.pump(None);
    }

    /// Walks the roots and watches them. Blocks for the walk (about a second for 100,000 files): call it where blocking
    /// is allowed. What can't be watched is told by [`Subscription::degraded`].
    pub fn subscribe(&self, spec: WatchSpec) -> Result<Subscription, WatchError> {
        if spec.roots.iter().any(|root| root.read_dir().is_err()) {
            return Err(WatchError::RootUnreadable);
        }
        let shared = &self.0.0;
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        let subscriber = Arc::new(Subscriber::new(id, shared.clone(), spec));
        // What others haven't heard yet is older than this walk.
        shared.pump(None);
        shared.subscribers.lock().insert(id, Arc::downgrade(&subscriber));
        let subscription = Subscription { subscriber, watcher: self.clone() };
        unhurried(|| subscription.subscriber.walk());
        Ok(subscription)
    }

    /// What came out of the kernel's queue so far.
    pub fn traffic(&self) -> Arc<Traffic> {
        self.0.0.traffic.clone()
    }

    /// Watches set in the kernel.
    pub fn watch_count(&self) -> usize {
        self.0.0.routes.len()
    }

    pub(super) fn forget(&self, id: u64) {
        let shared = &self.0.0;
        shared.subscribers.lock().remove(&id);
        shared.routes.remove_all(&shared.queue, id);
    }
}

/// Runs `work` on a thread that gives way to others, and waits for it: language servers start while a walk is under way,
/// and somebody waits for their answers. A thread's priority can't be raised again, so it isn't one that is used again.
fn unhurried(work: impl FnOnce() + Send) {
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

impl Drop for Running {
    fn drop(&mut self) {
        self.0.queue.end();
    }
}

impl Shared {
    /// Moves everything from the queue to the inboxes, and wakes whose inbox isn't empty, except `own`.
    pub(super) fn pump(&self, own: Option<u64>) {
        let mut reached: BTreeMap<u64, Arc<Subscriber>> = BTreeMap::new();
        {
            let _alone = self.pump.lock();
            if self.queue.waiting_bytes() == 0 {
                return;
            }
            self.queue.drain(|id, name, happened| self.deliver(id, name, happened, &mut reached));
        }
        for subscriber in reached.values().filter(|subscriber| Some(subscriber.id) != own && subscriber.has_mail()) {
            subscriber.wake();
        }
    }

    fn deliver(
        &self,
        id: WatchId,
        name: Option<&OsStr>,
        happened: Happened,
        reached: &mut BTreeMap<u64, Arc<Subscriber>>,
    ) {
        let subscribers = self.subscribers.lock();
        self.traffic.event();
        if happened == Happened::Overflow {
            self.traffic.overflow();
            tracing::warn!("file events were lost; everything watched is compared with disk");
            for subscriber in subscribers.values().filter_map(Weak::upgrade) {
                subscriber.lose_events();
                reached.insert(subscriber.id, subscriber);
            }
            return;
        }
        let routes = if happened == Happened::Unwatched { self.routes.drop_watch(id) } else { self.routes.of(id) };
        for route in routes {
            if let Some(subscriber) = subscribers.get(&route.subscription).and_then(Weak::upgrade) {
                subscriber.deliver(&route, name.map(Path::new), happened);
                reached.insert(route.subscription, subscriber);
            }
        }
    }

    /// Keeps everybody from emptying the queue, to make it run over.
    #[cfg(test)]
    pub(super) fn stop_pumping(&self) -> parking_lot::MutexGuard<'_, ()> {
        self.pump.lock()
    }
}
