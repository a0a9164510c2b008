//! The difference between two configurations: workspaces that are added, removed or changed, and keys that need a restart.
//!
//! Invariants: two equal configurations give no change; each workspace appears at most once.

use serde_json::{Map, Value};

use crate::{Config, TlsSection, WorkspaceConfig};
use codeyard_base::ids::WorkspaceName;

/// A workspace that a reload changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceChange {
    /// Only the new configuration has it.
    Added(WorkspaceName),
    /// Only the old configuration has it: its calls end, its language servers stop.
    Removed(WorkspaceName),
    /// Both configurations have it, and it differs in these parts.
    Changed(WorkspaceName, ChangedParts),
}

impl WorkspaceChange {
    /// The name of the workspace.
    pub fn name(&self) -> &WorkspaceName {
        match self {
            Self::Added(name) | Self::Removed(name) | Self::Changed(name, _) => name,
        }
    }
}

/// The parts in which a workspace differs. At least one field is true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangedParts {
    /// Roots or extra roots: `rootsEpoch` rises, and language servers restart.
    pub roots: bool,
    /// Environment, settings, choice or registry entries of language servers: the affected ones restart.
    pub servers: bool,
    /// Limits, diagnostics, permissions, supervision, answers of `agent`, index or prewarming: applied without a restart.
    pub policy: bool,
}

impl ChangedParts {
    fn any(self) -> bool {
        self.roots || self.servers || self.policy
    }
}

/// The differences between two configurations: removed workspaces first, then the others in the order of `new`.
pub fn diff(old: &Config, new: &Config) -> Vec<WorkspaceChange> {
    let removed = old.workspaces.iter().filter(|before| new.workspace(before.name.as_str()).is_none());
    let mut changes: Vec<WorkspaceChange> =
        removed.map(|before| WorkspaceChange::Removed(before.name.clone())).collect();
    for after in &new.workspaces {
        let Some(before) = old.workspace(after.name.as_str()) else {
            changes.push(WorkspaceChange::Added(after.name.clone()));
            continue;
        };
        let parts = changed_parts(old, before, new, after);
        if parts.any() {
            changes.push(WorkspaceChange::Changed(after.name.clone(), parts));
        }
    }
    changes
}

/// The names of the keys and tables of the top level that differ.
pub fn changed_sections(old: &Config, new: &Config) -> Vec<String> {
    let members = |config: &Config| match serde_json::to_value(config) {
        Ok(Value::Object(members)) => members,
        // A configuration is an object.
        _ => Map::new(),
    };
    let before = members(old);
    let after = members(new);
    let mut names: Vec<String> =
        before.keys().chain(after.keys()).filter(|name| before.get(*name) != after.get(*name)).cloned().collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Keys that differ but take effect only when the service starts.
pub fn needs_restart(old: &Config, new: &Config) -> Vec<&'static str> {
    let differs = [
        ("server.listen", old.server.listen != new.server.listen),
        ("server.allowed_hosts", old.server.allowed_hosts != new.server.allowed_hosts),
        ("server.allowed_origins", old.server.allowed_origins != new.server.allowed_origins),
        ("server.no_auth", old.server.no_auth != new.server.no_auth),
        ("server.behind_proxy", old.server.behind_proxy != new.server.behind_proxy),
        ("server.tls", needs_other_listener(old.server.tls.as_ref(), new.server.tls.as_ref())),
        ("probes.networks", old.probes != new.probes),
        ("protocol.revisions", old.protocol != new.protocol),
        ("admin.listen", old.admin.listen != new.admin.listen),
        ("runs", old.runs != new.runs),
        ("audit", old.audit != new.audit),
        ("supervision.niceness", old.supervision.niceness != new.supervision.niceness),
        ("log.format", old.log.format != new.log.format),
        ("log.level", old.log.level != new.log.level),
    ];
    differs.iter().filter(|(_, differs)| *differs).map(|(key, _)| *key).collect()
}

/// Whether TLS differs in more than its callers.
fn needs_other_listener(old: Option<&TlsSection>, new: Option<&TlsSection>) -> bool {
    let files = |tls: &TlsSection| TlsSection { callers: Vec::new(), ..tls.clone() };
    old.map(files) != new.map(files)
}

fn changed_parts(old: &Config, before: &WorkspaceConfig, new: &Config, after: &WorkspaceConfig) -> ChangedParts {
    ChangedParts {
        roots: before.roots != after.roots || before.extra_roots != after.extra_roots,
        servers: before.env != after.env
            || before.settings != after.settings
            || before.run_build != after.run_build
            || before.isolation != after.isolation
            || before.servers != after.servers
            || old.syntactic_of(before) != new.syntactic_of(after)
            || old.supervision.children() != new.supervision.children()
            || old.servers != new.servers
            || old.languages != new.languages,
        policy: old.limits_of(before) != new.limits_of(after)
            || old.diagnostics_of(before) != new.diagnostics_of(after)
            || old.permission_of(before) != new.permission_of(after)
            || old.content_of(before) != new.content_of(after)
            || old.supervision != new.supervision
            || old.agent != new.agent
            || code_settings(old) != code_settings(new)
            || before.prewarm != after.prewarm,
    }
}

/// The settings that apply to the code index of every workspace.
fn code_settings(config: &Config) -> impl PartialEq + '_ {
    (&config.index, &config.query, &config.ranking, config.explain_level())
}
