//! Symbols of documents and workspaces, raw and canonical.
//!
//! Kinds are LSP's numbers, unchanged. `canon` makes the identifiers.

use std::sync::Arc;

use serde::Serialize;

use super::position::{Location, Range};
use super::uri::CanonicalUri;

/// A language server's document symbol: nested, or flat with a container's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawDocumentSymbol {
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// The whole range, in UTF-16.
    pub range: Range,
    /// The name's range. Equals `range` for flat symbols.
    pub selection_range: Range,
    /// The container of a flat symbol. A nested symbol's container is its parent.
    pub container_name: Option<String>,
    pub children: Vec<RawDocumentSymbol>,
}

/// A language server's workspace symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawWorkspaceSymbol {
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// Its file's URI, untrusted.
    pub uri: Arc<str>,
    /// Its range in UTF-16. The file's start if the server sends none.
    pub range: Range,
    pub container_name: Option<String>,
}

/// A canonical symbol of a document, flattened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSymbol {
    /// `sha256:` over the symbol's canonical string.
    pub id: String,
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    pub range: Range,
    pub selection_range: Range,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
}

/// A canonical symbol of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceSymbol {
    /// `sha256:` over the symbol's canonical string.
    pub id: String,
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    pub location: Location,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
}

/// An entry of a canonical list that belongs to a file. Used to compare a page with the disk.
pub trait InFile {
    /// The file of the entry.
    fn file(&self) -> &CanonicalUri;
}

impl InFile for Location {
    fn file(&self) -> &CanonicalUri {
        &self.uri
    }
}

impl InFile for WorkspaceSymbol {
    fn file(&self) -> &CanonicalUri {
        &self.location.uri
    }
}
