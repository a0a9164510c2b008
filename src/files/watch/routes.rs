//! Who wants to hear of which watch. Workspaces may overlap, and a directory has only one watch in a queue.
//!
//! Invariant: the kernel watches a directory exactly as long as there is a route from it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::queue::{AddError, Queue, WatchId};

/// Why a directory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its files are followed.
    Files,
    /// It is ignored, and only what may bear on answers is followed.
    Ignored,
    /// It is ignored, but the code index lists what is in it.
    Listed,
    /// It is of interest to the code index alone.
    Indexed,
    /// It says what `HEAD` is.
    Git,
    /// It holds dependencies.
    Dependencies,
}

/// One way from a watch to a subscription.
#[derive(Debug, Clone)]
pub(super) struct Route {
    /// The subscription's number.
    pub subscription: u64,
    /// The directory, as this subscription spells it.
    pub dir: Arc<Path>,
    /// Why it listens.
    pub role: Role,
}

/// All routes.
#[derive(Debug, Default)]
pub(super) struct Routes(Mutex<HashMap<WatchId, Vec<Route>>>);

impl Routes {
    /// Watches `dir` for `subscription`.
    pub(super) fn add(&self, queue: &Queue, subscription: u64, dir: &Path, role: Role) -> Result<WatchId, AddError> {
        // Under the lock, so that nobody drops the watch between the kernel's answer and the entry.
        let mut routes = self.0.lock();
        let id = queue.add(dir)?;
        let ways = routes.entry(id).or_default();
        if !ways.iter().any(|way| way.subscription == subscription && *way.dir == *dir && way.role == role) {
            ways.push(Route { subscription, dir: dir.into(), role });
        }
        Ok(id)
    }

    /// Ends one route.
    pub(super) fn remove(&self, queue: &Queue, id: WatchId, subscription: u64, dir: &Path, role: Role) {
        self.retain(queue, id, |way| !(way.subscription == subscription && *way.dir == *dir && way.role == role));
    }

    /// Ends all routes of a subscription.
    pub(super) fn remove_all(&self, queue: &Queue, subscription: u64) {
        self.0.lock().retain(|id, ways| {
            ways.retain(|way| way.subscription != subscription);
            if ways.is_empty() {
                queue.remove(*id);
            }
            !ways.is_empty()
        });
    }

    /// Where an event of `id` goes.
    pub(super) fn of(&self, id: WatchId) -> Vec<Route> {
        self.0.lock().get(&id).cloned().unwrap_or_default()
    }

    /// The kernel has dropped `id`; who listened.
    pub(super) fn drop_watch(&self, id: WatchId) -> Vec<Route> {
        self.0.lock().remove(&id).unwrap_or_default()
    }

    /// Watches set.
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }

    fn retain(&self, queue: &Queue, id: WatchId, keep: impl Fn(&Route) -> bool) {
        let mut routes = self.0.lock();
        if let Some(ways) = routes.get_mut(&id) {
            ways.retain(keep);
            if ways.is_empty() {
                routes.remove(&id);
                queue.remove(id);
            }
        }
    }
}
