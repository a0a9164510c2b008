//! Rank 2: the configuration. Text in, typed and checked values out; it reads no file and asks no environment.
//!
//! Entries of `[servers.*]` and `[languages.*]` stay raw tables: the registry of language servers merges them.
//! Invariants: a parsed [`Config`] has passed [`Config::validate`]; its limits are never weaker than `base::limits`;
//! every root in it has been joined to the folder of the file that names it.

mod change;
mod code;
mod error;
mod example;
mod folders;
pub mod limits;
mod locate;
mod parse;
mod permission;
mod reference;
mod request;
mod sections;
mod show;
mod strict;
mod validate;
mod workspace;

#[cfg(test)]
mod tests;

pub use change::{Changed, WorkspaceChange, diff, needs_restart};
pub use code::{DebugSection, Explain, Freshness, IndexSection, QuerySection, WarmsetSection};
pub use error::{ConfigError, Place};
pub use parse::{Source, parse, parse_source};
pub use permission::{LSP, PermissionRule, PermissionSection, PrincipalPermission};
pub use sections::{
    AdminSection, DiagnosticsSection, LogFormat, LogLevel, LogSection, ServerSection, SupervisionSection, Sweep,
    SyntacticMode, SyntacticSection,
};
pub use workspace::{Prewarm, ServerChoice, WorkspaceConfig};

use serde::{Deserialize, Serialize};

use codeyard_base::ids::WorkspaceName;
use codeyard_model::code::{ExplainLevel, Weights};
use codeyard_model::limits::Limits;

/// The whole configuration of a service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "codeyard configuration")]
pub struct Config {
    /// Workspace that `/mcp` means; must be the name of one. Without it, the first workspace.
    #[serde(deserialize_with = "workspace::optional_name", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "workspace::name_schema")]
    pub default_workspace: Option<WorkspaceName>,
    /// Where the service listens, and to whom.
    pub server: ServerSection,
    /// Where operators may reach the service beside the local socket.
    pub admin: AdminSection,
    /// Limits of answers. Only lower values take effect; larger ones are lowered to the default.
    pub limits: Limits,
    /// Diagnostics of whole workspaces.
    pub diagnostics: DiagnosticsSection,
    /// The embedded language server, which answers by name where a language's own server isn't there.
    pub syntactic: SyntacticSection,
    /// Who may use what. A workspace's own words win, and a principal's win over those.
    pub permission: PermissionSection,
    /// How language servers are kept running.
    pub supervision: SupervisionSection,
    /// The code index, for the catalog `code`.
    pub index: IndexSection,
    /// Questions of the catalog `code`, where they don't say otherwise.
    pub query: QuerySection,
    /// How much each factor counts in the order of ranked results; only their ratios matter. See docs/ranking.md.
    pub ranking: Weights,
    /// Workspaces whose code index is read into memory when the service starts.
    pub warmset: WarmsetSection,
    /// Keys of older configurations.
    pub debug: DebugSection,
    /// Log lines on standard error.
    pub log: LogSection,
    /// Language servers: entries that add to the built-in registry, or replace keys of an entry there.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub servers: toml::Table,
    /// Languages: entries that add to the built-in registry, or replace keys of an entry there.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub languages: toml::Table,
    /// The workspaces, each a table `[[workspace]]`.
    #[serde(rename = "workspace")]
    pub workspaces: Vec<WorkspaceConfig>,
}

impl Config {
    /// The workspace that an endpoint without a name means: the configured one, else the first.
    pub fn default_name(&self) -> Option<&WorkspaceName> {
        self.default_workspace.as_ref().or_else(|| self.workspaces.first().map(|workspace| &workspace.name))
    }

    /// The workspace of this name.
    pub fn workspace(&self, name: &str) -> Option<&WorkspaceConfig> {
        self.workspaces.iter().find(|workspace| workspace.name.as_str() == name)
    }

    /// The limits that hold in `workspace`: of each the smaller of the service's and its own, never above the maxima.
    pub fn limits_of(&self, workspace: &WorkspaceConfig) -> Limits {
        let common = self.limits.clone().clamped();
        match &workspace.limits {
            Some(own) => own.clone().clamped().tightest(&common),
            None => common,
        }
    }

    /// The diagnostics section that holds in `workspace`: its own, else the service's.
    pub fn diagnostics_of(&self, workspace: &WorkspaceConfig) -> DiagnosticsSection {
        workspace.diagnostics.clone().unwrap_or_else(|| self.diagnostics.clone())
    }

    /// The section about the embedded language server that holds in `workspace`: its own, else the service's.
    pub fn syntactic_of(&self, workspace: &WorkspaceConfig) -> SyntacticSection {
        workspace.syntactic.clone().unwrap_or_else(|| self.syntactic.clone())
    }

    /// Who may use what in `workspace`: its own words, and the service's where it says nothing.
    pub fn permission_of(&self, workspace: &WorkspaceConfig) -> PermissionSection {
        workspace.permission.clone().unwrap_or_default().over(&self.permission)
    }

    /// How much a question of the catalog `code` is told of the order of its rows, where it doesn't say.
    pub fn explain_level(&self) -> ExplainLevel {
        code::explain_level(&self.query, &self.debug)
    }
}
