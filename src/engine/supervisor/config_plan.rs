//! What a new configuration changes: planned first, then applied.
//!
//! The plan holds what can fail although the configuration is right: the numbers above which the workspaces that start count their roots,
//! which must be durable. Invariants: planning changes no workspace; a plan that would end a workspace which then can't start again is
//! refused by those who can refuse it ([`ConfigPlan::problem`]).

use std::collections::BTreeMap;

use actix::prelude::*;

use crate::supervisor::actor::Supervisor;
use crate::supervisor::messages::{ConfigureReport, StateProblem};
use crate::workspace::messages::Retune;
use codeyard_base::ids::WorkspaceName;
use codeyard_config::{Config, IsolationLevel, WorkspaceChange, WorkspaceConfig};

/// A new configuration and what it changes.
pub(super) struct ConfigPlan {
    new: Config,
    changes: Vec<WorkspaceChange>,
    level: IsolationLevel,
    /// The `rootsEpoch` of each workspace that starts.
    epochs: BTreeMap<WorkspaceName, Result<u64, StateProblem>>,
}

impl ConfigPlan {
    /// Why a workspace that runs, or that of `wanted`, couldn't start again.
    pub(super) fn problem(&self, supervisor: &Supervisor, wanted: Option<&WorkspaceName>) -> Option<StateProblem> {
        let counts = |name: &WorkspaceName| supervisor.running.contains_key(name) || wanted == Some(name);
        let mut failed = self.epochs.iter().filter(|(name, _)| counts(name));
        failed.find_map(|(_, epoch)| epoch.clone().err())
    }
}

impl Supervisor {
    /// Plans the change to `new`. Workspaces of `again` that couldn't be opened before are tried again. Blocks for an `fsync` for each
    /// workspace that starts.
    pub(super) fn plan(&self, new: Config, again: &[WorkspaceName]) -> ConfigPlan {
        let level = self.principals.default_level(&new, self.default_isolation);
        self.plan_at(new, again, level)
    }

    /// The same with this level for workspaces that name none.
    pub(super) fn plan_at(&self, new: Config, again: &[WorkspaceName], level: IsolationLevel) -> ConfigPlan {
        let mut changes = codeyard_config::diff(&self.config, &new);
        let failed = |name: &&WorkspaceName| self.failed.contains_key(*name) && new.workspace(name.as_str()).is_some();
        for name in again.iter().filter(failed) {
            if !changes.iter().any(|change| change.name() == name) {
                changes.push(WorkspaceChange::Added(name.clone()));
            }
        }
        if self.default_isolation.is_some_and(|before| before != level) {
            let follows = |workspace: &&WorkspaceConfig| {
                workspace.isolation.is_none() && self.running.contains_key(&workspace.name)
            };
            for workspace in new.workspaces.iter().filter(follows) {
                changes.retain(|change| change.name() != &workspace.name);
                changes.push(WorkspaceChange::Added(workspace.name.clone()));
            }
        }
        let starts = changes.iter().filter(|change| !matches!(change, WorkspaceChange::Removed(_)));
        let starts = starts.filter(|change| !self.only_retunes(change)).map(|change| change.name().clone());
        let epochs = starts.map(|name| {
            let epoch = self.next_roots_epoch(&name);
            (name, epoch)
        });
        ConfigPlan { epochs: epochs.collect(), new, changes, level }
    }

    /// A `rootsEpoch` above all before.
    pub(super) fn next_roots_epoch(&self, name: &WorkspaceName) -> Result<u64, StateProblem> {
        self.parts.epochs.next(name).map_err(|error| StateProblem(error.to_string()))
    }

    /// Applies what was planned. A workspace that can't start is one that couldn't be opened.
    pub(super) fn apply_plan(&mut self, plan: ConfigPlan, ctx: &mut Context<Self>) -> ConfigureReport {
        let ConfigPlan { new, changes, level, mut epochs } = plan;
        self.default_isolation = Some(level);
        self.config = new;
        self.parts.directory.start_queue().set_max(self.config.supervision.max_starts);
        let warmset = &self.config.warmset;
        self.indexes.warmset.configure(warmset.enabled, warmset.capacity);
        let mut done = ConfigureReport::default();
        for change in changes {
            let only_retunes = self.only_retunes(&change);
            match change {
                WorkspaceChange::Removed(name) => {
                    self.remove(&name, ctx);
                    done.removed.push(name);
                }
                WorkspaceChange::Changed(name, _) if only_retunes => {
                    self.retune(&name);
                    done.retuned.push(name);
                }
                WorkspaceChange::Added(name) | WorkspaceChange::Changed(name, _) => {
                    let before = self.running.get(&name).map(|running| running.handle.gate.clone());
                    self.remove(&name, ctx);
                    let epoch = epochs.remove(&name).unwrap_or_else(|| self.next_roots_epoch(&name));
                    match self.start_workspace(&name, epoch, before, ctx) {
                        Ok(()) => done.started.push(name),
                        Err(why) => {
                            tracing::error!(workspace = %name, error = %why, "workspace can't be opened");
                            done.failed.push((name, why));
                        }
                    }
                }
            }
        }
        self.parts.directory.set_defaults(self.config.default_names());
        self.parts.directory.set_groups(&self.config.groups);
        self.parts.directory.status_registry().set_memory_budget(self.memory_budget());
        self.parts.directory.memory().check_again();
        done
    }

    /// Whether a change concerns a running workspace and needs no restart of it.
    fn only_retunes(&self, change: &WorkspaceChange) -> bool {
        matches!(change, WorkspaceChange::Changed(name, changed)
            if !changed.roots && !changed.servers && self.running.contains_key(name))
    }

    fn retune(&mut self, name: &WorkspaceName) {
        let Some(config) = self.config.workspace(name.as_str()) else { return };
        let policy = self.policy(config);
        let permission = self.config.permission_of(config);
        let content = self.config.content_of(config);
        let Some(running) = self.running.get_mut(name) else { return };
        running.handle.limits = policy.limits.clone();
        running.handle.payload_bytes = policy.index.payload_bytes;
        running.handle.page_chars = self.config.agent.page_chars;
        running.handle.permission = std::sync::Arc::new(permission);
        running.handle.content = std::sync::Arc::new(content);
        self.parts.directory.put(running.handle.clone());
        drop(running.handle.actor.try_send(Retune(policy)));
    }
}
