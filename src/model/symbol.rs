//! Symbols of documents and workspaces, raw and canonical.
//!
//! Kinds are LSP's numbers, carried as they are. Identifiers are made in `canon`.

use std::sync::Arc;

use serde::Serialize;

use super::position::{Location, Range};
use super::uri::CanonicalUri;

/// A document symbol as a language server gave it: nested, or flat with a container's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawDocumentSymbol {
    /// The symbol's name.
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// The whole range, in UTF-16.
    pub range: Range,
    /// The name's range; equals `range` where the server gave flat symbols.
    pub selection_range: Range,
    /// The container a flat symbol names; nested ones take their parent's name instead.
    pub container_name: Option<String>,
    /// Nested symbols.
    pub children: Vec<RawDocumentSymbol>,
}

/// A workspace symbol as a language server gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawWorkspaceSymbol {
    /// The symbol's name.
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// Where it is, untrusted.
    pub uri: Arc<str>,
    /// Its range in UTF-16; servers that leave it out get the file's start.
    pub range: Range,
    /// The container's name.
    pub container_name: Option<String>,
}

/// A symbol of a document (contract §7.4), flattened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSymbol {
    /// `sha256:` over the symbol's canonical string.
    pub id: String,
    /// The symbol's name.
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// The whole range.
    pub range: Range,
    /// The name's range.
    pub selection_range: Range,
    /// The immediate parent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
}

/// A symbol of a workspace (contract §7.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceSymbol {
    /// `sha256:` over the symbol's canonical string.
    pub id: String,
    /// The symbol's name.
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// Where it is.
    pub location: Location,
    /// The container's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
}

/// Files of a canonical list, for comparing a page with the disk.
pub trait InFile {
    /// The file the entry lies in.
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
