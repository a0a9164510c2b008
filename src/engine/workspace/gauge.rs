//! What a workspace says of itself to its cell and to the counters. It decides nothing.

use super::*;
use crate::census::WorkspaceState;

impl Workspace {
    /// Where the watcher is now, and with it the workspace.
    pub(super) fn tell_state(&self) {
        self.setup.cell.set_state(match &self.watching {
            Watching::Idle => WorkspaceState::Idle,
            Watching::Starting(_) => WorkspaceState::Starting,
            Watching::Done if self.slot.get().is_some_and(|files| files.degraded().is_none()) => {
                WorkspaceState::Watching
            }
            Watching::Done | Watching::Failed(_) => WorkspaceState::Unwatched,
        });
    }

    /// What is retained now, and what was dropped since this was last told.
    pub(super) fn tell_snapshots(&mut self) {
        self.setup.cell.set_snapshots(self.snapshots.len(), self.snapshots.bytes());
        let now = (self.snapshots.evictions(), self.snapshots.expiries());
        let before = std::mem::replace(&mut self.told, now);
        for (reason, count) in [("room", now.0 - before.0), ("expired", now.1 - before.1)] {
            if count > 0 {
                self.setup.shared.metrics.evicted(reason, count);
            }
        }
    }

    /// Begins with an empty store under other limits.
    pub(super) fn replace_snapshots(&mut self, policy: &Policy) {
        self.tell_snapshots();
        let dropped = self.snapshots.len() as u64;
        if dropped > 0 {
            self.setup.shared.metrics.evicted("reconfigured", dropped);
        }
        self.snapshots = snapshot_store(policy);
        self.told = (0, 0);
        self.tell_snapshots();
    }
}
