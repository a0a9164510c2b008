//! One workspace of a configuration: its name, roots, and the choice and settings of its language servers.
//!
//! Invariant: a parsed name is valid.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::Value;

use crate::content::ContentMode;
use crate::permission::PermissionSection;
use crate::sections::{DiagnosticsSection, SyntacticSection};
use codeyard_base::ids::WorkspaceName;
use codeyard_model::limits::Limits;

/// `[[workspace]]`: a named root set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceConfig {
    /// Name in the endpoint's path: 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`. The first character is a letter or digit. `TENANT/NAME` is a workspace
    /// of another tenant than `default`; its endpoint is `/mcp/NAME` for that tenant's callers, and nothing for others.
    #[serde(deserialize_with = "name")]
    #[schemars(schema_with = "name_schema")]
    pub name: WorkspaceName,
    /// Folders in which servers are started. Relative paths start at the folder of the configuration file. `~/` is the home folder.
    pub roots: Vec<PathBuf>,
    /// Further folders that are readable and appear in results. No server is started in them.
    #[serde(default)]
    pub extra_roots: Vec<PathBuf>,
    /// Start servers before the first call: `true` for all that the files need, or a list of server kinds.
    #[serde(default)]
    pub prewarm: Prewarm,
    /// Environment added for the workspace's language servers.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Run the project's build to find out how its C and C++ sources are compiled, where it has no compile database: `cmake` or `meson` into the
    /// cache folder, otherwise `bear -- make` or `make -n` in the project. A build is code of the project, so allow it only where you
    /// trust the project. By default build files are only read.
    #[serde(default)]
    pub run_build: bool,
    /// What the workspace's language servers may do. `restricted`: they run in a sandbox without network, read the roots and the toolchain only,
    /// and no code of the project runs; servers that can't work so aren't started. `trusted`: they may do what codeyard's user may. Default:
    /// `trusted`, and `restricted` as soon as tokens or rules name more than one principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationLevel>,
    /// Wins over the `content` of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentMode>,
    /// The choice of servers of this workspace.
    #[serde(default)]
    pub servers: ServerChoice,
    /// Settings of servers by kind, merged over those of the registry.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Map<String, Value>>")]
    pub settings: BTreeMap<String, Value>,
    /// Replaces the service's `[diagnostics]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<DiagnosticsSection>,
    /// Replaces the service's `[syntactic]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntactic: Option<SyntacticSection>,
    /// Rules that win over the service's `[permission]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<PermissionSection>,
    /// Limits below the service's `[limits]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// What the language servers of a workspace may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IsolationLevel {
    /// They are confined, and no code of the project runs.
    Restricted,
    /// They may do what codeyard's user may.
    Trusted,
}

impl IsolationLevel {
    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Restricted => "restricted",
            Self::Trusted => "trusted",
        }
    }
}

/// The choice of servers of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerChoice {
    /// Kinds that win over the registry's order among alternatives, such as `pyright`.
    pub prefer: Vec<String>,
    /// Kinds that are never started.
    pub disable: Vec<String>,
}

/// Which servers are started before the first call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "expected true, false or a list of server kinds")]
pub enum Prewarm {
    /// All that the files need, or none.
    All(bool),
    /// These kinds.
    Kinds(Vec<String>),
}

impl Default for Prewarm {
    fn default() -> Self {
        Self::All(false)
    }
}

impl Prewarm {
    /// Whether a server of this kind is started early.
    pub fn covers(&self, kind: &str) -> bool {
        match self {
            Self::All(all) => *all,
            Self::Kinds(kinds) => kinds.iter().any(|named| named == kind),
        }
    }
}

impl WorkspaceConfig {
    /// A workspace with these roots and defaults.
    pub fn new(name: WorkspaceName, roots: Vec<PathBuf>) -> Self {
        Self {
            name,
            roots,
            extra_roots: Vec::new(),
            prewarm: Prewarm::default(),
            env: BTreeMap::new(),
            run_build: false,
            isolation: None,
            content: None,
            servers: ServerChoice::default(),
            settings: BTreeMap::new(),
            diagnostics: None,
            syntactic: None,
            permission: None,
            limits: None,
        }
    }
}

/// The error for an invalid workspace name, for both keys that take one.
const NAME_FORM: &str = "is not a workspace name, which has 1 to 64 of a-z, 0-9, '.', '_', '-' and starts with a letter or digit; TENANT/NAME is one of a tenant";

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<WorkspaceName, D::Error> {
    let text = String::deserialize(from)?;
    WorkspaceName::new(&text).ok_or_else(|| D::Error::custom(format!("`{text}` {NAME_FORM}")))
}

/// Reads an optional workspace name.
pub(super) fn optional_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<WorkspaceName>, D::Error> {
    name(from).map(Some)
}

/// The schema of a workspace name.
pub(super) fn name_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^([a-z0-9][a-z0-9._-]{0,63}/)?[a-z0-9][a-z0-9._-]{0,63}$" })
}
