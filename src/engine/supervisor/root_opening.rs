//! Opens the roots of workspaces for the supervisor, on the blocking pool.
//!
//! The supervisor handles nothing else while it opens roots for a change, so changes stay in order. Invariants: a root on a file system that
//! hangs fails its own workspace, after [`limits::MAX_ROOT_OPEN_MS`], and delays the others by [`limits::ROOT_OPEN_TURN_MS`] at most; only
//! [`limits::MAX_ROOT_OPENS`] begin at a time, and only [`limits::MAX_HUNG_ROOT_OPENS`] threads are left behind; roots that hang are not
//! opened a second time meanwhile; no opening delays the end of the service.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::limits;
use crate::supervisor::actor::Supervisor;
use codeyard_base::blocking;
use codeyard_base::ids::WorkspaceName;
use codeyard_config::WorkspaceConfig;
use codeyard_files::gate::Gate;

/// A workspace with its roots and extra roots.
type Key = (WorkspaceName, Vec<PathBuf>, Vec<PathBuf>);

/// Opens the roots of a workspace. Blocks.
type OpenGate = Arc<dyn Fn(&[PathBuf], &[PathBuf]) -> Result<Gate, String> + Send + Sync>;

const HANGS: &str = "the file system of its roots does not answer";

/// Opens gates, and holds those that were opened for the change that is being applied.
pub(super) struct RootOpening {
    opener: Opener,
    opened: Opened,
}

pub(super) type Opened = BTreeMap<Key, Result<Gate, String>>;

/// What all openings share.
#[derive(Clone)]
struct Opener {
    places: Arc<Semaphore>,
    hung: Arc<Mutex<Hung>>,
    open: OpenGate,
    stop: watch::Receiver<bool>,
}

/// The openings whose threads have not returned.
#[derive(Default)]
struct Hung {
    begun: u64,
    /// By their number.
    openings: BTreeMap<u64, Opening>,
}

/// A thread that opens roots.
struct Opening {
    key: Key,
    /// Nobody waits for it any more.
    is_left_behind: bool,
}

impl RootOpening {
    /// Opens roots until `stop` is true.
    pub(super) fn new(stop: watch::Receiver<bool>) -> Self {
        let open = |roots: &[PathBuf], extra: &[PathBuf]| Gate::open(roots, extra).map_err(|error| error.to_string());
        let opener = Opener {
            places: Arc::new(Semaphore::new(limits::MAX_ROOT_OPENS)),
            hung: Arc::default(),
            open: Arc::new(open),
            stop,
        };
        Self { opener, opened: Opened::new() }
    }

    /// The gate of a workspace. `None`: it wasn't opened for this change.
    pub(super) fn gate(&self, config: &WorkspaceConfig) -> Option<Result<Gate, String>> {
        self.opened.get(&key(config)).cloned()
    }

    /// Opens the roots of these workspaces.
    fn open<'c>(&self, workspaces: impl IntoIterator<Item = &'c WorkspaceConfig>) -> BoxFuture<'static, Opened> {
        let keys: BTreeSet<Key> = workspaces.into_iter().map(key).collect();
        let opener = self.opener.clone();
        Box::pin(async move { join_all(keys.into_iter().map(|key| opener.open(key))).await.into_iter().collect() })
    }
}

impl Supervisor {
    /// Opens the roots of these workspaces, and then applies a change.
    pub(super) fn after_opening<'c, T: 'static>(
        &mut self,
        workspaces: impl IntoIterator<Item = &'c WorkspaceConfig>,
        change: impl FnOnce(&mut Self, &mut Context<Self>) -> T + 'static,
    ) -> AtomicResponse<Self, T> {
        let opened = self.roots.open(workspaces).into_actor(self);
        AtomicResponse::new(Box::pin(
            opened.map(|opened, supervisor: &mut Self, ctx| supervisor.with_opened(opened, ctx, change)),
        ))
    }

    /// The same while other messages are handled, so that the change must look at what holds by then.
    pub(super) fn spawn_after_opening<'c>(
        &mut self,
        workspaces: impl IntoIterator<Item = &'c WorkspaceConfig>,
        ctx: &mut Context<Self>,
        change: impl FnOnce(&mut Self, &mut Context<Self>) + 'static,
    ) {
        let opened = self.roots.open(workspaces).into_actor(self);
        ctx.spawn(opened.map(|opened, supervisor: &mut Self, ctx| supervisor.with_opened(opened, ctx, change)));
    }

    fn with_opened<T>(
        &mut self,
        opened: Opened,
        ctx: &mut Context<Self>,
        change: impl FnOnce(&mut Self, &mut Context<Self>) -> T,
    ) -> T {
        self.stopping |= *self.roots.opener.stop.borrow();
        self.roots.opened = opened;
        let done = change(self, ctx);
        self.roots.opened.clear();
        done
    }
}

fn key(config: &WorkspaceConfig) -> Key {
    (config.name.clone(), config.roots.clone(), config.extra_roots.clone())
}

impl Opener {
    /// Opens the roots of `key`, unless that takes too long or the service stops.
    async fn open(&self, key: Key) -> (Key, Result<Gate, String>) {
        let mut stop = self.stop.clone();
        let limit = Duration::from_millis(limits::MAX_ROOT_OPEN_MS);
        let opened = tokio::select! {
            biased;
            // It ends without a value when the engine is gone.
            _ = stop.wait_for(|stops| *stops) => Err("the service is stopping".to_owned()),
            opened = timeout(limit, self.open_in_turn(&key)) => opened.unwrap_or_else(|_| Err(HANGS.to_owned())),
        };
        (key, opened)
    }

    async fn open_in_turn(&self, key: &Key) -> Result<Gate, String> {
        let Ok(place) = self.places.acquire().await else { return Err(HANGS.to_owned()) };
        let waiting = self.begin(key)?;
        let open = self.open.clone();
        let (_, roots, extra) = key.clone();
        let running = RunningOpening { hung: self.hung.clone(), number: waiting.number };
        let mut opening = blocking::spawn(move || {
            let _running = running;
            open(&roots, &extra)
        });
        let quick = timeout(Duration::from_millis(limits::ROOT_OPEN_TURN_MS), &mut opening).await;
        // One that takes longer lets the others go on.
        drop(place);
        let opened = match quick {
            Ok(opened) => opened,
            Err(_) => opening.await,
        };
        opened.unwrap_or_else(|_| Err("opening its roots failed".to_owned()))
    }

    /// Counts a new opening of `key`.
    fn begin(&self, key: &Key) -> Result<WaitingForOpening, String> {
        let mut hung = self.hung.lock();
        let left_behind = || hung.openings.values().filter(|opening| opening.is_left_behind);
        if left_behind().any(|opening| opening.key == *key) {
            return Err(HANGS.to_owned());
        }
        let count = left_behind().count();
        if count >= limits::MAX_HUNG_ROOT_OPENS {
            return Err(format!("the file systems of {count} other workspaces do not answer"));
        }
        hung.begun += 1;
        let number = hung.begun;
        hung.openings.insert(number, Opening { key: key.clone(), is_left_behind: false });
        Ok(WaitingForOpening { hung: self.hung.clone(), number })
    }
}

/// Somebody waits for an opening. Dropping it leaves the opening behind.
struct WaitingForOpening {
    hung: Arc<Mutex<Hung>>,
    number: u64,
}

impl Drop for WaitingForOpening {
    fn drop(&mut self) {
        if let Some(opening) = self.hung.lock().openings.get_mut(&self.number) {
            opening.is_left_behind = true;
        }
    }
}

/// The thread of an opening. Dropping it means that the thread has returned.
struct RunningOpening {
    hung: Arc<Mutex<Hung>>,
    number: u64,
}

impl Drop for RunningOpening {
    fn drop(&mut self) {
        self.hung.lock().openings.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// An opener for which the roots of workspaces whose names begin with `h` hang until the sender is dropped.
    fn hanging() -> (RootOpening, mpsc::Sender<()>, watch::Sender<bool>) {
        let (stop, stops) = watch::channel(false);
        let (end, ended) = mpsc::channel::<()>();
        let ended = Mutex::new(ended);
        let mut roots = RootOpening::new(stops);
        roots.opener.open = Arc::new(move |roots: &[PathBuf], _: &[PathBuf]| {
            if roots[0].starts_with("/hangs") {
                ended.lock().recv().ok();
            }
            Gate::open(&[], &[]).map_err(|error| error.to_string())
        });
        (roots, end, stop)
    }

    fn workspace(name: &str, root: &str) -> WorkspaceConfig {
        WorkspaceConfig::new(WorkspaceName::new(name).unwrap(), vec![root.into()])
    }

    /// The problems of the workspaces in the order of their names.
    fn problems(opened: Opened) -> Vec<Option<String>> {
        opened.into_values().map(Result::err).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn roots_that_hang_fail_their_own_workspaces_and_delay_no_other() {
        let (roots, end, _stop) = hanging();
        let many: Vec<_> =
            (0..limits::MAX_ROOT_OPENS + 4).map(|at| workspace(&format!("h{at:02}"), "/hangs")).collect();
        let good = workspace("well", "/well");
        let began = tokio::time::Instant::now();
        let opening = roots.open(many.iter().chain([&good]));
        tokio::pin!(opening);
        let all = many.len() + 1;
        let hung = roots.opener.hung.clone();
        let counts = || {
            let hung = hung.lock();
            (usize::try_from(hung.begun).unwrap(), hung.openings.len())
        };
        // Each turn lasts a while. The last one is that of the good root, whose thread returns.
        while counts() != (all, many.len()) {
            assert!(futures::poll!(&mut opening).is_pending());
            tokio::task::yield_now().await;
            if counts().0 < all {
                tokio::time::advance(Duration::from_millis(1)).await;
            }
        }
        assert!(began.elapsed() < Duration::from_millis(3 * limits::ROOT_OPEN_TURN_MS));
        tokio::time::advance(Duration::from_millis(limits::MAX_ROOT_OPEN_MS)).await;
        let mut problems = problems(opening.await);
        assert_eq!(problems.pop(), Some(None), "although its turn came after those that hang");
        assert!(problems.iter().all(|problem| problem.as_deref() == Some(HANGS)), "{problems:?}");
        // Later openings neither wait for those nor repeat them.
        assert_eq!(self::problems(roots.open([&good]).await), [None]);
        assert_eq!(roots.open(&many).await.len(), many.len());
        assert_eq!(roots.opener.hung.lock().openings.len(), many.len(), "no further thread");
        drop(end);
        while !roots.opener.hung.lock().openings.is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(self::problems(roots.open(&many).await).iter().all(Option::is_none), "the file system answers again");
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_service_waits_for_no_opening() {
        let (roots, _end, stop) = hanging();
        let hangs = workspace("h", "/hangs");
        let opening = roots.open([&hangs]);
        tokio::pin!(opening);
        assert!(futures::poll!(&mut opening).is_pending());
        stop.send(true).unwrap();
        assert_eq!(problems(opening.await), [Some("the service is stopping".to_owned())]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_workspace_that_is_named_twice_is_opened_once() {
        let (roots, _end, _stop) = hanging();
        let one = workspace("well", "/well");
        let opened = roots.open([&one, &one]).await;
        assert_eq!((problems(opened), roots.opener.hung.lock().begun), (vec![None], 1));
    }
}
