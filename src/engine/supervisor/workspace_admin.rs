//! The changes that operators make while the service runs: adding, changing, removing and listing workspaces.
//!
//! A change holds in memory only. When the configuration file is read again, it replaces the workspaces that it defines; workspaces added
//! under other names stay. Invariants: a refused change changes nothing; conditions are checked in the same step as the change; no change
//! of workspaces changes which one an endpoint without a name refers to.

use std::collections::BTreeSet;
use std::sync::Arc;

use actix::prelude::*;

use crate::limits::MAX_WORKSPACES_DRAINING;
use crate::supervisor::actor::Supervisor;
use crate::supervisor::drain_state::{DrainReport, Draining, PendingDrain};
use crate::supervisor::messages::{
    Condition, PutChange, PutDone, PutError, PutWorkspace, RemoveError, RemoveWorkspace, WorkspaceEntry,
    WorkspaceListing,
};
use crate::supervisor::server_selection_check;
use codeyard_base::digest::sha256hex;
use codeyard_base::ids::WorkspaceName;
use codeyard_config::{Config, ConfigError, IsolationLevel, WorkspaceChange, WorkspaceConfig};

/// Length of a revision in characters.
const REVISION_CHARS: usize = 16;

impl Supervisor {
    /// Adds the workspaces that were added at run time under other names to a file's configuration.
    pub(super) fn keep_runtime_workspaces(&self, new: &mut Config) -> Result<BTreeSet<WorkspaceName>, ConfigError> {
        let stays = |workspace: &&WorkspaceConfig| {
            self.put.contains(&workspace.name) && new.workspace(workspace.name.as_str()).is_none()
        };
        let kept: Vec<WorkspaceConfig> = self.config.workspaces.iter().filter(stays).cloned().collect();
        let names: BTreeSet<WorkspaceName> = kept.iter().map(|workspace| workspace.name.clone()).collect();
        if new.default_workspace.is_none() {
            let before = self.config.default_workspace.clone().filter(|name| names.contains(name));
            new.default_workspace = new.workspaces.first().map(|first| first.name.clone()).or(before);
        }
        new.workspaces.extend(kept);
        validate_together(new)?;
        Ok(names)
    }

    fn put(&mut self, put: PutWorkspace, ctx: &mut Context<Self>) -> Result<PutDone, PutError> {
        let config = *put.config;
        let name = config.name.clone();
        self.check_change(&name, &put.condition)?;
        let wrong = self
            .servers
            .as_ref()
            .and_then(|servers| server_selection_check::unknown(&config, &servers.registry).into_iter().next());
        if let Some(error) = wrong {
            return Err(PutError::Invalid(error));
        }
        let was_there = self.config.workspace(name.as_str()).is_some();
        let mut new = self.config.clone();
        let revision = revision(&config);
        let opened =
            self.roots.gate(&config).map_or_else(|| Err("its roots were not opened".to_owned()), |gate| gate.map(drop));
        match new.workspaces.iter_mut().find(|workspace| workspace.name == name) {
            Some(there) => *there = config,
            None => new.workspaces.push(config),
        }
        validate_together(&new).map_err(PutError::Invalid)?;
        new.default_workspace.get_or_insert_with(|| name.clone());
        let changes = codeyard_config::diff(&self.config, &new);
        let runs = self.running.contains_key(&name);
        let change = match changes.first() {
            _ if !was_there => PutChange::Created,
            None if runs => PutChange::Unchanged,
            Some(WorkspaceChange::Changed(_, changed)) if runs && !changed.roots && !changed.servers => {
                PutChange::Retuned
            }
            _ => PutChange::Replaced,
        };
        if matches!(change, PutChange::Created | PutChange::Replaced) {
            // Checked before the existing workspace is removed.
            opened.map_err(PutError::Unusable)?;
        }
        if change != PutChange::Unchanged {
            let plan = self.plan(new, std::slice::from_ref(&name));
            if let Some(problem) = plan.problem(self, Some(&name)) {
                return Err(PutError::State(problem));
            }
            self.put.insert(name.clone());
            let done = self.apply_plan(plan, ctx);
            if let Some((_, why)) = done.failed.into_iter().find(|(failed, _)| *failed == name) {
                return Err(PutError::Unusable(why));
            }
            tracing::info!(workspace = %name, ?change, "workspace added or changed by an operator");
        }
        Ok(PutDone { change, revision })
    }

    fn remove_workspace(&mut self, name: &WorkspaceName, wanted: &Condition, ctx: &mut Context<Self>) -> RemoveResult {
        if self.config.workspace(name.as_str()).is_none() {
            // It is draining already: the same drain.
            let again = |draining: &&Draining| draining.name == *name && draining.removed && draining.is_pending();
            let draining = self.draining.iter().rev().find(again);
            return draining.map(|draining| draining.report.clone()).ok_or(RemoveError::Unknown);
        }
        self.check_change(name, wanted)?;
        let mut new = self.config.clone();
        new.workspaces.retain(|workspace| workspace.name != *name);
        self.put.remove(name);
        let generation = self.running.get(name).map(|running| running.generation);
        // The level of the others follows later, which must not fail this.
        let level = self.default_isolation.unwrap_or(IsolationLevel::Restricted);
        let plan = self.plan_at(new, &[], level);
        self.apply_plan(plan, ctx);
        tracing::info!(workspace = %name, "workspace removed by an operator");
        self.follow_principals(ctx);
        match self.draining.iter_mut().find(|draining| Some(draining.generation) == generation) {
            Some(draining) => {
                draining.removed = true;
                Ok(draining.report.clone())
            }
            None => Ok(empty_drain(name)),
        }
    }

    fn check_change(&self, name: &WorkspaceName, condition: &Condition) -> Result<(), ChangeRefusal> {
        if self.stopping {
            return Err(ChangeRefusal::Stopping);
        }
        let there = self.config.workspace(name.as_str()).map(revision);
        if !condition.holds(there.as_deref()) {
            return Err(ChangeRefusal::Condition(there));
        }
        if self.draining.len() >= MAX_WORKSPACES_DRAINING {
            return Err(ChangeRefusal::Busy);
        }
        Ok(())
    }

    /// Publishes the workspaces for operators. Called after every change.
    pub(super) fn publish_listing(&self) {
        let entries = self.config.workspaces.iter().map(|workspace| {
            let name = &workspace.name;
            WorkspaceEntry {
                config: workspace.clone(),
                put: self.put.contains(name),
                revision: revision(workspace),
                handle: self.running.get(name).map(|running| running.handle.clone()),
                problem: self.failed.get(name).cloned(),
            }
        });
        self.parts.directory.publish_listing(WorkspaceListing {
            entries: entries.collect(),
            draining: self.draining.clone(),
            defaults: self.config.default_names(),
            stopping: self.stopping,
            registry: Arc::new(self.config.registry_entries()),
        });
    }
}

type RemoveResult = Result<PendingDrain, RemoveError>;

/// Why no change is possible now.
enum ChangeRefusal {
    Stopping,
    Condition(Option<String>),
    Busy,
}

impl From<ChangeRefusal> for PutError {
    fn from(refused: ChangeRefusal) -> Self {
        match refused {
            ChangeRefusal::Stopping => Self::Stopping,
            ChangeRefusal::Condition(there) => Self::Condition(there),
            ChangeRefusal::Busy => Self::Busy,
        }
    }
}

impl From<ChangeRefusal> for RemoveError {
    fn from(refused: ChangeRefusal) -> Self {
        match refused {
            ChangeRefusal::Stopping => Self::Stopping,
            ChangeRefusal::Condition(there) => Self::Condition(there),
            ChangeRefusal::Busy => Self::Busy,
        }
    }
}

impl Handler<PutWorkspace> for Supervisor {
    type Result = AtomicResponse<Self, Result<PutDone, PutError>>;

    fn handle(&mut self, put: PutWorkspace, _: &mut Self::Context) -> Self::Result {
        let config = put.config.clone();
        self.after_opening([&*config], move |supervisor, ctx| {
            let done = supervisor.put(put, ctx);
            supervisor.publish_listing();
            done
        })
    }
}

impl Handler<RemoveWorkspace> for Supervisor {
    type Result = Result<PendingDrain, RemoveError>;

    fn handle(&mut self, remove: RemoveWorkspace, ctx: &mut Self::Context) -> Self::Result {
        let removed = self.remove_workspace(&remove.name, &remove.condition, ctx);
        self.publish_listing();
        removed
    }
}

/// Validates a configuration except for its default workspace, which an operator may have removed.
fn validate_together(config: &Config) -> Result<(), ConfigError> {
    Config { default_workspace: None, ..config.clone() }.validate()
}

fn revision(config: &WorkspaceConfig) -> String {
    let text = serde_json::to_vec(config).unwrap_or_default();
    sha256hex(text)[..REVISION_CHARS].to_owned()
}

/// The drain of a workspace that was never open.
fn empty_drain(name: &WorkspaceName) -> PendingDrain {
    use futures::FutureExt;
    let calls_cut = 0;
    let took = std::time::Duration::ZERO;
    let report = DrainReport { name: name.clone(), calls: 0, calls_cut, servers: Vec::new(), stuck: Vec::new(), took };
    futures::future::ready(std::sync::Arc::new(report)).boxed().shared()
}
