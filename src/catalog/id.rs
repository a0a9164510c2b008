//! Catalog identifiers, and the errors of naming a set of catalogs.
//!
//! The implementations are in `registry`.

use codeyard_base::words;

words! {
    /// The catalogs of this build.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum CatalogId {
        /// The seven `vscode.lsp.*` tools.
        LspV1 => "lsp-v1",
        /// The same tools with underscores, for clients that reject dots in tool names.
        LspV1Safe => "lsp-v1-safe",
        /// The one tool `lsp`.
        Agent => "agent",
        /// The seven tools of the code index.
        Code => "code",
        /// The tools of launch runs.
        Launch => "launch",
    }
    /// The name in endpoints and command-line flags.
    fn as_str;
}

/// Why a text doesn't name a set of catalogs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// There is no catalog of this name.
    #[error("unknown catalog {0:?}")]
    Unknown(String),
    /// Two catalogs have a tool of this name, or one catalog is listed twice.
    #[error("catalogs can't be joined: both hold the tool {0}")]
    DuplicateTool(String),
}

impl CatalogId {
    /// Parses the name of one catalog.
    ///
    /// # Errors
    /// [`CatalogError::Unknown`].
    pub fn parse(name: &str) -> Result<Self, CatalogError> {
        let known = Self::ALL.into_iter().find(|id| id.as_str() == name);
        // The error repeats the name, so its length is bounded.
        known.ok_or_else(|| CatalogError::Unknown(name.chars().take(64).collect()))
    }
}
