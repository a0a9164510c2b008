//! The difference between two configurations: workspaces that are added, removed or changed, and keys that need a restart.
//!
//! Invariant: two equal configurations give no change; a workspace appears at most once.

use crate::{Config, WorkspaceConfig};
use codeyard_base::ids::WorkspaceName;

/// A workspace that a reload changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceChange {
    /// It is new.
    Added(WorkspaceName),
    /// It is removed: its calls end, its language servers stop.
    Removed(WorkspaceName),
    /// It exists before and after, and differs.
    Changed(WorkspaceName, Changed),
}

impl WorkspaceChange {
    /// Its name.
    pub fn name(&self) -> &WorkspaceName {
        match self {
            Self::Added(name) | Self::Removed(name) | Self::Changed(name, _) => name,
        }
    }
}

/// The parts in which a workspace differs. At least one field is true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Roots or extra roots: `rootsEpoch` rises, and language servers restart.
    pub roots: bool,
    /// Environment, settings, choice or registry entries of language servers: the affected ones restart.
    pub servers: bool,
    /// Limits, diagnostics, permissions, supervision, index, tenant or prewarming: applied without a restart.
    pub policy: bool,
}

impl Changed {
    fn any(self) -> bool {
        self.roots || self.servers || self.policy
    }
}

/// The difference between the running configuration and a new one: removed workspaces first, then the new order.
pub fn diff(old: &Config, new: &Config) -> Vec<WorkspaceChange> {
    let gone = old.workspaces.iter().filter(|before| new.workspace(before.name.as_str()).is_none());
    let mut changes: Vec<WorkspaceChange> = gone.map(|before| WorkspaceChange::Removed(before.name.clone())).collect();
    for after in &new.workspaces {
        let Some(before) = old.workspace(after.name.as_str()) else {
            changes.push(WorkspaceChange::Added(after.name.clone()));
            continue;
        };
        let changed = changed((old, before), (new, after));
        if changed.any() {
            changes.push(WorkspaceChange::Changed(after.name.clone(), changed));
        }
    }
    changes
}

/// Keys that differ but take effect only when the service starts.
pub fn needs_restart(old: &Config, new: &Config) -> Vec<&'static str> {
    let differs = [
        ("server.listen", old.server.listen != new.server.listen),
        ("server.allowed_hosts", old.server.allowed_hosts != new.server.allowed_hosts),
        ("server.allowed_origins", old.server.allowed_origins != new.server.allowed_origins),
        ("server.no_auth", old.server.no_auth != new.server.no_auth),
        ("admin.listen", old.admin.listen != new.admin.listen),
        ("log.format", old.log.format != new.log.format),
        ("log.level", old.log.level != new.log.level),
    ];
    differs.iter().filter(|(_, differs)| *differs).map(|(key, _)| *key).collect()
}

fn changed((old, before): (&Config, &WorkspaceConfig), (new, after): (&Config, &WorkspaceConfig)) -> Changed {
    Changed {
        roots: before.roots != after.roots || before.extra_roots != after.extra_roots,
        servers: before.env != after.env
            || before.settings != after.settings
            || before.servers != after.servers
            || old.syntactic_of(before) != new.syntactic_of(after)
            || old.servers != new.servers
            || old.languages != new.languages,
        policy: old.limits_of(before) != new.limits_of(after)
            || old.diagnostics_of(before) != new.diagnostics_of(after)
            || old.permission_of(before) != new.permission_of(after)
            || old.supervision != new.supervision
            || about_code(old) != about_code(new)
            || before.tenant != after.tenant
            || before.prewarm != after.prewarm,
    }
}

/// The settings of the code index of every workspace.
fn about_code(config: &Config) -> impl PartialEq + '_ {
    (&config.index, &config.query, &config.ranking, config.explain_level())
}
