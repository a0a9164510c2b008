//! Maps each watch to the subscriptions that use it. Workspaces may overlap, and a directory has only one watch in a queue.
//!
//! Invariant: the kernel watches a directory exactly while a route from it exists.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::queue::{AddError, EventQueue, WatchId};

/// Why a directory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchRole {
    /// Its files are followed.
    Files,
    /// It is ignored. Only files that may change answers are followed.
    Ignored,
    /// It is ignored, but the code index lists its files.
    Listed,
    /// Only the code index uses it.
    Indexed,
    /// It holds files of git that determine `HEAD`.
    Git,
    /// It holds dependencies.
    Dependencies,
    /// It is inside a dependency.
    InDependency,
}

/// A subscription's use of a watch.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub subscription: u64,
    /// The directory, as this subscription spells it.
    pub dir: Arc<Path>,
    /// Why it is watched.
    pub role: WatchRole,
}

#[derive(Debug, Default)]
pub(super) struct Routes(Mutex<HashMap<WatchId, Vec<Route>>>);

impl Routes {
    /// Watches `dir` for `subscription`.
    pub(super) fn add(
        &self,
        queue: &EventQueue,
        subscription: u64,
        dir: &Path,
        role: WatchRole,
    ) -> Result<WatchId, AddError> {
        // Under the lock, so that no other thread removes the watch before its entry exists.
        let mut routes = self.0.lock();
        let id = queue.add(dir)?;
        let of_watch = routes.entry(id).or_default();
        if !of_watch.iter().any(|route| route.subscription == subscription && *route.dir == *dir && route.role == role)
        {
            of_watch.push(Route { subscription, dir: dir.into(), role });
        }
        Ok(id)
    }

    pub(super) fn remove(&self, queue: &EventQueue, id: WatchId, subscription: u64, dir: &Path, role: WatchRole) {
        self.retain(queue, id, |route| {
            !(route.subscription == subscription && *route.dir == *dir && route.role == role)
        });
    }

    /// Removes all routes of a subscription.
    pub(super) fn remove_all(&self, queue: &EventQueue, subscription: u64) {
        self.0.lock().retain(|id, of_watch| {
            of_watch.retain(|route| route.subscription != subscription);
            if of_watch.is_empty() {
                queue.remove(*id);
            }
            !of_watch.is_empty()
        });
    }

    pub(super) fn of(&self, id: WatchId) -> Vec<Route> {
        self.0.lock().get(&id).cloned().unwrap_or_default()
    }

    /// Removes the watch `id`, which the kernel has dropped, and returns its routes.
    pub(super) fn drop_watch(&self, id: WatchId) -> Vec<Route> {
        self.0.lock().remove(&id).unwrap_or_default()
    }

    /// Number of watches.
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }

    fn retain(&self, queue: &EventQueue, id: WatchId, keep: impl Fn(&Route) -> bool) {
        let mut routes = self.0.lock();
        if let Some(of_watch) = routes.get_mut(&id) {
            of_watch.retain(keep);
            if of_watch.is_empty() {
                routes.remove(&id);
                queue.remove(id);
            }
        }
    }
}
