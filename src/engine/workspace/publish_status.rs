//! Publishes the state of a workspace to its entry in the status registry and to the metrics. It makes no decision.

use crate::status::registry::WorkspaceState;
use crate::workspace::actor::{Workspace, snapshot_store};
use crate::workspace::setup::Policy;
use crate::workspace::state::Watching;

impl Workspace {
    /// Publishes the state of the workspace, which follows from that of the watcher.
    pub(super) fn publish_state(&self) {
        self.setup.status.set_unwatched(match &self.watching {
            Watching::Failed(why) => Some(why.clone()),
            _ => None,
        });
        self.setup.status.set_state(match &self.watching {
            Watching::Idle => WorkspaceState::Idle,
            Watching::Starting(_) => WorkspaceState::Starting,
            Watching::Done if self.slot.get().is_some_and(|files| files.degraded().is_none()) => {
                WorkspaceState::Watching
            }
            Watching::Done | Watching::Failed(_) => WorkspaceState::Unwatched,
        });
    }

    /// Publishes the retained results, and counts the evictions since the last call.
    pub(super) fn publish_snapshots(&mut self) {
        let now = {
            let snapshots = self.setup.snapshots.lock();
            self.setup.status.set_snapshots(snapshots.len(), snapshots.bytes());
            [snapshots.evictions(), snapshots.expiries(), snapshots.outdated()]
        };
        let before = std::mem::replace(&mut self.counted_evictions, now);
        for (reason, (now, before)) in ["room", "expired", "outdated"].into_iter().zip(now.into_iter().zip(before)) {
            if now > before {
                self.setup.shared.metrics.evicted(reason, now - before);
            }
        }
    }

    /// Replaces the store by an empty one with other limits.
    pub(super) fn replace_snapshots(&mut self, policy: &Policy) {
        self.publish_snapshots();
        let dropped = self.setup.snapshots.lock().len() as u64;
        if dropped > 0 {
            self.setup.shared.metrics.evicted("reconfigured", dropped);
        }
        *self.setup.snapshots.lock() = snapshot_store(policy);
        self.counted_evictions = [0; 3];
        self.publish_snapshots();
    }
}
