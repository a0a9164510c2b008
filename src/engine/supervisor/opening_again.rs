//! Opens workspaces again that couldn't be opened: a root that was missing or hung, a state directory on a full disk.
//!
//! Invariants: an attempt delays no message of the supervisor; a workspace that was changed, removed or opened meanwhile is left alone; a
//! reason is logged once, not with each attempt.

use std::time::Duration;

use actix::prelude::*;

use crate::limits::OPEN_AGAIN_MS;
use crate::supervisor::actor::Supervisor;
use codeyard_config::WorkspaceConfig;

impl Supervisor {
    /// Begins to try, for ever.
    pub(super) fn watch_failed(&mut self, ctx: &mut Context<Self>) {
        ctx.run_later(Duration::from_millis(OPEN_AGAIN_MS), |supervisor, ctx| {
            supervisor.open_again(ctx);
            supervisor.watch_failed(ctx);
        });
    }

    fn open_again(&mut self, ctx: &mut Context<Self>) {
        let failed: Vec<WorkspaceConfig> = self
            .config
            .workspaces
            .iter()
            .filter(|workspace| self.failed.contains_key(&workspace.name) && !self.stopping)
            .cloned()
            .collect();
        if failed.is_empty() {
            return;
        }
        let tried = failed.clone();
        self.spawn_after_opening(&failed, ctx, move |supervisor, ctx| {
            for workspace in tried {
                supervisor.start_again(&workspace, ctx);
            }
            supervisor.publish_listing();
        });
    }

    fn start_again(&mut self, workspace: &WorkspaceConfig, ctx: &mut Context<Self>) {
        let name = &workspace.name;
        let Some(before) = self.failed.get(name).cloned() else { return };
        if self.stopping || self.config.workspace(name.as_str()) != Some(workspace) {
            return;
        }
        // A number is only spent on a workspace whose roots are there.
        let opened = self.roots.gate(workspace).map_or(Ok(()), |gate| gate.map(drop));
        let started = match opened {
            Ok(()) => {
                let epoch = self.next_roots_epoch(name);
                self.start_workspace(name, epoch, None, ctx)
            }
            Err(why) => {
                self.failed.insert(name.clone(), why.clone());
                Err(why)
            }
        };
        match started {
            Ok(()) => tracing::info!(workspace = %name, "workspace could be opened again"),
            Err(why) if why != before => tracing::error!(workspace = %name, error = %why, "workspace can't be opened"),
            Err(_) => {}
        }
    }
}
