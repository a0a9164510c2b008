//! A workspace's subscription to file changes, and the watcher's first walk.

use std::sync::Arc;

use futures::future::{BoxFuture, Shared};
use parking_lot::RwLock;

use codeyard_files::watch::Subscription;

/// The watcher's subscription of a workspace, once there is one.
#[derive(Clone, Default)]
pub struct WatchSlot(Arc<RwLock<Option<Arc<Subscription>>>>);

impl WatchSlot {
    /// The subscription.
    pub fn get(&self) -> Option<Arc<Subscription>> {
        self.0.read().clone()
    }

    /// Puts the subscription in.
    pub fn set(&self, subscription: Option<Arc<Subscription>>) {
        *self.0.write() = subscription;
    }
}

/// The watcher's first walk, not over yet: what to wait for.
pub type FirstWalk = Shared<BoxFuture<'static, ()>>;
