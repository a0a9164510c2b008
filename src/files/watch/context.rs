//! The context of a table: the queue and routes of the process, and the options of its subscription.
//!
//! Invariant: a closed subscription sets no watch, even if it is closed while a watch is being set.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::queue::{AddError, EventQueue, WatchId};
use super::routes::{Routes, WatchRole};
use super::watcher::LookAtFile;
use crate::ignores::is_configuration;

/// What a table needs to add and remove watches.
pub(super) struct WatchContext<'a> {
    pub queue: &'a EventQueue,
    pub routes: &'a Routes,
    pub subscription: u64,
    /// Set when the subscription is dropped. Then no watch may be added.
    pub closed: &'a AtomicBool,
    /// `WatchSpec::is_source`.
    pub is_source: &'a (dyn Fn(&Path) -> bool + Send + Sync),
    /// `WatchSpec::look`.
    pub look: &'a LookAtFile,
    /// Files that only the code index lists are followed too.
    pub is_indexed: bool,
}

impl WatchContext<'_> {
    pub(super) fn watch(&self, dir: &Path, role: WatchRole) -> Result<WatchId, AddError> {
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

    pub(super) fn watch_git(&self, dir: &Path) -> Result<WatchId, AddError> {
        self.watch(dir, WatchRole::Git)
    }

    pub(super) fn unwatch(&self, id: WatchId, dir: &Path, role: WatchRole) {
        self.routes.remove(self.queue, id, self.subscription, dir, role);
    }

    /// Whether changes of this ignored file are reported.
    pub(super) fn follows_ignored(&self, path: &Path) -> bool {
        is_configuration(path) || (self.is_source)(path)
    }
}
