//! A workspace's subscription to file changes, and the watcher's first walk.

use std::sync::Arc;

use futures::future::{BoxFuture, Shared};
use parking_lot::RwLock;

use codeyard_files::watch::Subscription;

/// The watcher's subscription of a workspace; empty until it exists.
#[derive(Clone, Default)]
pub struct WatchSlot(Arc<RwLock<Option<Arc<Subscription>>>>);

impl WatchSlot {
    /// The subscription, if it exists.
    pub fn get(&self) -> Option<Arc<Subscription>> {
        self.0.read().clone()
    }

    /// Replaces the subscription.
    pub fn set(&self, subscription: Option<Arc<Subscription>>) {
        *self.0.write() = subscription;
    }
}

/// Resolves when a first walk of the watcher has ended.
pub type FirstWalk = Shared<BoxFuture<'static, ()>>;
