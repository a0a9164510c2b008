//! Enforces the memory budget of all language servers together: above it, the servers that were unused longest are stopped.

use actix::prelude::*;

use crate::server::child_key::ChildKey;
use crate::supervisor::actor::Supervisor;
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::messages::{StopChild, WorkspaceHealth};

impl Supervisor {
    /// The memory budget in bytes; 0 means none.
    pub(super) fn memory_budget(&self) -> u64 {
        self.config.supervision.memory_budget_mib.saturating_mul(1024 * 1024)
    }

    /// Above the memory budget, stops the idle server that was unused longest.
    pub(super) fn keep_memory_budget(&mut self, ctx: &mut Context<Self>) {
        let budget = self.memory_budget();
        if budget == 0 {
            return;
        }
        let handles: Vec<WorkspaceHandle> = self.running.values().map(|running| running.handle.clone()).collect();
        ctx.spawn(
            async move {
                let healths = futures::future::join_all(handles.iter().map(WorkspaceHandle::health)).await;
                evict_longest_idle(&handles, healths.into_iter(), budget);
            }
            .into_actor(self),
        );
    }
}

fn evict_longest_idle(
    handles: &[WorkspaceHandle],
    healths: impl Iterator<Item = Option<WorkspaceHealth>>,
    budget: u64,
) {
    let mut children: Vec<(u64, u64, usize, ChildKey)> = Vec::new();
    let mut total: u64 = 0;
    for (index, health) in healths.enumerate() {
        for server in health.into_iter().flat_map(|health| health.servers) {
            let bytes = server.memory_bytes.unwrap_or(0);
            total += bytes;
            // A server with pending requests isn't idle, and stopping one without known memory frees nothing.
            if server.pending == 0 && bytes > 0 {
                children.push((server.unused_s, bytes, index, server.key));
            }
        }
    }
    children.sort_by_key(|child| std::cmp::Reverse(child.0));
    for (_, bytes, index, key) in children {
        if total <= budget {
            break;
        }
        tracing::warn!(workspace = %handles[index].name, server = %key.kind, "over the memory budget, stopping an idle language server");
        drop(handles[index].actor.try_send(StopChild(key)));
        total = total.saturating_sub(bytes);
    }
}
