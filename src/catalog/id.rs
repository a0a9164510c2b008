//! Names of catalogs, and why a text isn't a set of them.
//!
//! Invariant: every [`CatalogId`] has a catalog behind it.

use super::Catalog;
use super::agent::AGENT;
use super::code::CODE;
use super::lsp_v1::{LSP_V1, LSP_V1_SAFE};

/// A catalog of this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CatalogId {
    /// The seven `vscode.lsp.*` tools.
    LspV1,
    /// The same for clients that refuse dots in names.
    LspV1Safe,
    /// The one tool `lsp`.
    Agent,
    /// The tools over the code index.
    Code,
}

/// Why catalogs can't be named or joined like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such catalog.
    #[error("unknown catalog {0:?}")]
    Unknown(String),
    /// Two of them hold a tool of the same name (also: one named twice).
    #[error("catalogs can't be joined: both hold the tool {0}")]
    DuplicateTool(String),
}

impl CatalogId {
    /// All catalogs.
    pub const ALL: [Self; 4] = [Self::LspV1, Self::LspV1Safe, Self::Agent, Self::Code];

    /// The name in endpoints and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LspV1 => "lsp-v1",
            Self::LspV1Safe => "lsp-v1-safe",
            Self::Agent => "agent",
            Self::Code => "code",
        }
    }

    /// The catalog of this name.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|id| id.as_str() == name);
        // The name is echoed in an error, so it is cut.
        found.ok_or_else(|| Error::Unknown(name.chars().take(64).collect()))
    }

    /// The catalog itself.
    pub fn catalog(self) -> &'static dyn Catalog {
        match self {
            Self::LspV1 => &LSP_V1,
            Self::LspV1Safe => &LSP_V1_SAFE,
            Self::Agent => &AGENT,
            Self::Code => &CODE,
        }
    }
}
