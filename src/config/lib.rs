//! The configuration: from text to typed and checked values. It reads neither files nor the environment.
//!
//! Entries of `[servers.*]` and `[languages.*]` stay raw tables: the registry of language servers merges them.
//! Invariants: a parsed [`Config`] has passed [`Config::validate`]; its limits never exceed the built-in maxima;
//! every root is joined to the folder of the file that names it.

mod audit;
mod change;
mod code;
mod content;
mod error;
mod example;
mod folders;
mod group;
mod issuer;
pub mod limits;
mod locate;
mod parse;
mod permission;
mod quota;
mod reference;
mod request;
mod runs;
mod sections;
mod show;
mod tls;
mod unknown_keys;
mod validate;
mod workspace;
mod workspace_template;

#[cfg(test)]
mod tests;

pub use audit::{AuditArguments, AuditFailure, AuditSection};
pub use change::{ChangedParts, WorkspaceChange, changed_sections, diff, needs_restart};
pub use code::{DebugSection, Explain, Freshness, IndexSection, QuerySection, WarmsetSection};
pub use content::{ContentMode, ContentModes, TokenSection};
pub use error::{ConfigError, TextPosition};
pub use group::GroupSection;
pub use issuer::{CallerRule, IssuerSection, SignatureAlgorithm, scope_words};
pub use parse::{CheckedText, Source, parse, parse_all, parse_source};
pub use permission::{LAUNCH, LSP, PermissionRule, PermissionSection, PrincipalPermission};
pub use quota::{QuotaSection, Quotas, TenantSection};
pub use runs::{RewriteRule, RunsSection, ServiceRule};
pub use sections::{
    AdminSection, AgentSection, DiagnosticsSection, LogFormat, LogLevel, LogSection, McpRevision, ProbesSection,
    ProtocolSection, ServerSection, SupervisionSection, Sweep, SyntacticMode, SyntacticSection,
};
pub use tls::{CertificateCaller, TlsSection};
pub use workspace::{IsolationLevel, Prewarm, ServerChoice, WorkspaceConfig};
pub use workspace_template::{ExpandedConfig, FolderSource, WorkspaceTemplate};

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use codeyard_base::ids::{TenantId, WorkspaceName};
use codeyard_model::code::{ExplainLevel, Weights};
use codeyard_model::limits::Limits;

/// The whole configuration of a service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "codeyard configuration")]
pub struct Config {
    /// Name of the workspace that `/mcp` serves to the callers of its tenant. Default: the first workspace of the tenant.
    #[serde(deserialize_with = "workspace::optional_name", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "workspace::name_schema")]
    pub default_workspace: Option<WorkspaceName>,
    /// Which copies of a result clients get from the catalogs `agent`, `code` and `launch`: `both`, the `text` alone, or the `structured`
    /// content alone. A host that shows a model both copies needs one only. `?content=` in the address wins over all of these.
    pub content: ContentMode,
    /// Callers, each a table `[tokens.NAME]` for the token of this name, `[tokens."TENANT/NAME"]` for one of a tenant.
    pub tokens: BTreeMap<String, TokenSection>,
    /// How much each tenant may use that has no table of its own.
    pub quota: QuotaSection,
    /// Tenants, each a table `[tenants.NAME]`. A tenant needs none.
    pub tenants: BTreeMap<String, TenantSection>,
    /// The address of the service, and who may call it.
    pub server: ServerSection,
    /// Authorization servers, each a table `[issuers.NAME]`, whose access tokens callers may bring in place of tokens of codeyard.
    pub issuers: BTreeMap<String, IssuerSection>,
    /// The admin API on TCP, in addition to the local socket.
    pub admin: AdminSection,
    /// Who may read the probes and the metrics.
    pub probes: ProbesSection,
    /// The revisions of MCP.
    pub protocol: ProtocolSection,
    /// Limits of answers. Only lower values take effect; larger ones are lowered to the default.
    pub limits: Limits,
    /// Diagnostics of whole workspaces.
    pub diagnostics: DiagnosticsSection,
    /// The embedded language server, which answers by name where a language's own server is not available.
    pub syntactic: SyntacticSection,
    /// Answers of the catalog `agent`.
    pub agent: AgentSection,
    /// Permissions. A workspace's own section wins over this one, and a rule for a principal wins over both.
    pub permission: PermissionSection,
    /// Restarts and limits of language servers.
    pub supervision: SupervisionSection,
    /// Launch runs.
    pub runs: RunsSection,
    /// The code index, for the catalog `code`.
    pub index: IndexSection,
    /// Defaults for calls of the catalog `code`.
    pub query: QuerySection,
    /// Weights of the factors that order ranked results. Only their ratios matter. See docs/internals/ranking.md.
    pub ranking: Weights,
    /// Workspaces whose code index is read into memory when the service starts.
    pub warmset: WarmsetSection,
    /// Keys of older configurations.
    pub debug: DebugSection,
    /// Log lines on standard error.
    pub log: LogSection,
    /// The audit log.
    pub audit: AuditSection,
    /// Language servers: entries that add to the built-in registry, or replace keys of an entry there.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub servers: toml::Table,
    /// Languages: entries that add to the built-in registry, or replace keys of an entry there.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub languages: toml::Table,
    /// Groups of workspaces, each a table `[groups.NAME]`. `/mcp/@NAME/code` searches the workspaces of a group together. The group `all`
    /// needs no table: it has every workspace.
    pub groups: BTreeMap<String, GroupSection>,
    /// The workspaces, each a table `[[workspace]]`.
    #[serde(rename = "workspace")]
    pub workspaces: Vec<WorkspaceConfig>,
    /// Patterns of folders, each of which becomes a workspace. Folders that appear or go are followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workspaces_from: Vec<WorkspaceTemplate>,
}

impl Config {
    /// The workspace of an endpoint without a name: the configured one, else the first.
    pub fn default_name(&self) -> Option<&WorkspaceName> {
        self.default_workspace.as_ref().or_else(|| self.workspaces.first().map(|workspace| &workspace.name))
    }

    /// The workspaces of endpoints without a name: for each tenant the configured one, else its first.
    pub fn default_names(&self) -> BTreeMap<TenantId, WorkspaceName> {
        let names = self.default_workspace.iter().chain(self.workspaces.iter().map(|workspace| &workspace.name));
        let mut defaults = BTreeMap::new();
        for name in names {
            defaults.entry(name.tenant()).or_insert_with(|| name.clone());
        }
        defaults
    }

    /// How much tenants and callers may use.
    pub fn quotas(&self) -> Quotas {
        let of_token = |(name, token): (&String, &TokenSection)| {
            // Callers of the tenant `default` are known by their names alone.
            Some((name.strip_prefix("default/").unwrap_or(name).to_owned(), token.quota.clone()?))
        };
        Quotas::new(&self.quota, &self.tenants, self.tokens.iter().filter_map(of_token).collect())
    }

    /// The workspace of this name.
    pub fn workspace(&self, name: &str) -> Option<&WorkspaceConfig> {
        self.workspaces.iter().find(|workspace| workspace.name.as_str() == name)
    }

    /// The limits in `workspace`: the smaller of the service's and its own, never above the maxima.
    pub fn limits_of(&self, workspace: &WorkspaceConfig) -> Limits {
        let common = self.limits.clone().clamped();
        match &workspace.limits {
            Some(own) => own.clone().clamped().tightest(&common),
            None => common,
        }
    }

    /// The diagnostics section of `workspace`: its own, else the service's.
    pub fn diagnostics_of(&self, workspace: &WorkspaceConfig) -> DiagnosticsSection {
        workspace.diagnostics.clone().unwrap_or_else(|| self.diagnostics.clone())
    }

    /// The section on the embedded language server of `workspace`: its own, else the service's.
    pub fn syntactic_of(&self, workspace: &WorkspaceConfig) -> SyntacticSection {
        workspace.syntactic.clone().unwrap_or_else(|| self.syntactic.clone())
    }

    /// The copies of a result that callers get from `workspace`.
    pub fn content_of(&self, workspace: &WorkspaceConfig) -> ContentModes {
        let tenant = workspace.name.tenant();
        let modes = self.tokens.iter().filter_map(|(name, token)| Some((name, token.content?)));
        let tokens = modes
            .filter_map(|(name, mode)| Some((in_tenant(&tenant, &TenantId::default_tenant(), name)?.to_owned(), mode)));
        ContentModes { default: workspace.content.unwrap_or(self.content), tokens: tokens.collect() }
    }

    /// The permissions in `workspace`: its own rules, and the service's where it has none.
    pub fn permission_of(&self, workspace: &WorkspaceConfig) -> PermissionSection {
        let tenant = workspace.name.tenant();
        let common = self.permission.in_tenant(&tenant, &TenantId::default_tenant());
        let own = workspace.permission.clone().unwrap_or_default();
        own.in_tenant(&tenant, &tenant).over(&common)
    }

    /// The principals that rules of permission and callers' certificates name, `TENANT/NAME` for those of another tenant than `default`.
    pub fn principals(&self) -> impl Iterator<Item = String> {
        let own = self.workspaces.iter().flat_map(|workspace| {
            let tenant = workspace.name.tenant();
            let names = workspace.permission.iter().flat_map(|section| section.principals.keys());
            let own = names.filter_map(|name| Some(tenant.qualified(in_tenant(&tenant, &tenant, name)?)));
            own.collect::<Vec<_>>()
        });
        let of_service = self.permission.principals.keys();
        let of_certificates =
            self.server.tls.iter().flat_map(|tls| tls.callers.iter().filter_map(|caller| caller.qualified()));
        own.chain(of_service.map(|name| name.strip_prefix("default/").unwrap_or(name).to_owned()))
            .chain(of_certificates)
    }

    /// The level of workspaces that name none, where tokens are of these principals. Who has signed on elsewhere is any number of people.
    pub fn default_isolation(&self, mut principals: BTreeSet<String>) -> IsolationLevel {
        principals.extend(self.principals());
        if principals.len() > 1 || !self.issuers.is_empty() {
            IsolationLevel::Restricted
        } else {
            IsolationLevel::Trusted
        }
    }

    /// How much a call of the catalog `code` explains the order of its rows, unless it asks for more or less.
    pub fn explain_level(&self) -> ExplainLevel {
        code::explain_level(&self.query, &self.debug)
    }
}

/// The name in its tenant of the principal that a table writes as `NAME` or `TENANT/NAME`; `None` if that is of another tenant. `NAME` alone is
/// one of the tenant `of_name`.
fn in_tenant<'n>(tenant: &TenantId, of_name: &TenantId, name: &'n str) -> Option<&'n str> {
    match name.split_once('/') {
        Some((named, rest)) if named == tenant.as_str() => Some(rest),
        // Names of the tenant `default` could once have a `/`.
        Some(_) if tenant.is_default() => Some(name),
        Some(_) => None,
        None => Some(name).filter(|_| tenant == of_name),
    }
}
