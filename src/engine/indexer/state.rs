//! The state of an indexer, readable without asking the actor.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

use codeyard_model::code::PrewarmStatus;
use codeyard_state::WarmWorkspace;

/// The state of an indexer.
pub struct IndexState {
    /// The workspace, as the warm set knows it.
    pub warm: WarmWorkspace,
    /// Whether the working tree of each root was ever indexed.
    pub(super) indexed: Box<[AtomicBool]>,
    pub(super) is_watched: AtomicBool,
    pub(super) prewarm: Mutex<PrewarmStatus>,
    pub(super) jobs: watch::Sender<u64>,
}

impl IndexState {
    /// Whether every root's working tree was ever indexed.
    pub fn is_indexed(&self) -> bool {
        self.indexed.iter().all(|indexed| indexed.load(Ordering::Relaxed))
    }

    /// The state of loading it into memory.
    pub fn prewarm(&self) -> PrewarmStatus {
        *self.prewarm.lock()
    }

    pub(super) fn was_indexed(&self, at: usize) -> bool {
        self.indexed.get(at).is_some_and(|indexed| indexed.load(Ordering::Relaxed))
    }
}
