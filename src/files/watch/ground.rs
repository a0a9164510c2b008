//! What a table stands on: the queue and the routes of the process, and what its own subscription wants to know.
//!
//! Invariant: a closed subscription sets no watch, also when it is closed while one is being set.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ignores::is_configuration;
use super::queue::{AddError, Queue, WatchId};
use super::routes::{Role, Routes};

/// What a table needs to set and drop watches.
pub(super) struct Ground<'a> {
    pub queue: &'a Queue,
    pub routes: &'a Routes,
    pub subscription: u64,
    /// Set when the subscription is dropped: nothing may be watched any more.
    pub closed: &'a AtomicBool,
    /// The specification's.
    pub is_source: &'a (dyn Fn(&Path) -> bool + Send + Sync),
    /// What the code index lists is followed too.
    pub is_indexed: bool,
}

impl Ground<'_> {
    /// Watches a directory.
    pub(super) fn watch(&self, dir: &Path, role: Role) -> Result<WatchId, AddError> {
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
    pub(super) fn watch_git(&self, dir: &Path) -> Result<WatchId, AddError> {
        self.watch(dir, Role::Git)
    }

    /// Ends one watch.
    pub(super) fn unwatch(&self, id: WatchId, dir: &Path, role: Role) {
        self.routes.remove(self.queue, id, self.subscription, dir, role);
    }

    /// Whether changes of this file are told though it is ignored.
    pub(super) fn follows_ignored(&self, path: &Path) -> bool {
        is_configuration(path) || (self.is_source)(path)
    }
}
