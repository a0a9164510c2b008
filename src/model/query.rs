//! Queries, independent of any catalog. The URI type shows the state of the query: text before the path gate,
//! [`CanonicalUri`] after it.

use super::code::CodeRequest;
use super::epoch::EpochMask;
use super::launch::LaunchRequest;
use super::operation::{self, LspQuery, PageStyle, QuerySubject};
use super::position::Position;
use super::uri::CanonicalUri;

/// The canonical names of the tools.
pub mod tools {
    /// `Definition`.
    pub const DEFINITION: &str = "vscode.lsp.definition";
    /// `References`.
    pub const REFERENCES: &str = "vscode.lsp.references";
    /// `Hover`.
    pub const HOVER: &str = "vscode.lsp.hover";
    /// `DocumentSymbols`.
    pub const DOCUMENT_SYMBOLS: &str = "vscode.lsp.documentSymbols";
    /// `WorkspaceSymbols`.
    pub const WORKSPACE_SYMBOLS: &str = "vscode.lsp.workspaceSymbols";
    /// `DocumentDiagnostics`.
    pub const DOCUMENT_DIAGNOSTICS: &str = "vscode.lsp.diagnostics.document";
    /// `WorkspaceDiagnostics`.
    pub const WORKSPACE_DIAGNOSTICS: &str = "vscode.lsp.diagnostics.workspace";
    /// `Declarations`. In no catalog.
    pub const DECLARATIONS: &str = "codeyard.declarations";
}

/// The requested page of a paged answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Maximum number of entries, already clamped.
    pub size: usize,
    /// The cursor's text, not yet decoded. `None` for the first page.
    pub cursor: Option<String>,
}

/// A query. `U` is `String` when it comes from a catalog, and [`CanonicalUri`] after the path gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query<U> {
    /// Definitions of the symbol at a position.
    Definition {
        uri: U,
        /// The position in it, UTF-16.
        position: Position,
    },
    /// References to the symbol at a position.
    References {
        uri: U,
        /// The position in it, UTF-16.
        position: Position,
        include_declaration: bool,
        page: PageRequest,
    },
    /// Hover of the symbol at a position.
    Hover {
        uri: U,
        /// The position in it, UTF-16.
        position: Position,
    },
    DocumentSymbols {
        uri: U,
    },
    /// Symbols of the workspace that match a text. The text is trimmed and not empty.
    WorkspaceSymbols {
        /// The text to match.
        query: String,
        page: PageRequest,
    },
    DocumentDiagnostics {
        uri: U,
    },
    WorkspaceDiagnostics {
        page: PageRequest,
    },
    /// All symbols that the language server lists for a document. Not a tool: it confirms rows of the code index.
    Declarations {
        uri: U,
    },
    /// A query of the tool `lsp`.
    Lsp(LspQuery<U>),
    /// A query of the catalog `code`. Its paths are looked up in the index, not on disk.
    Code(CodeRequest),
    /// A request of the catalog `launch`.
    Launch(LaunchRequest),
}

impl<U> Query<U> {
    /// The canonical tool name. Part of the request key.
    pub fn tool(&self) -> &'static str {
        match self {
            Query::Definition { .. } => tools::DEFINITION,
            Query::References { .. } => tools::REFERENCES,
            Query::Hover { .. } => tools::HOVER,
            Query::DocumentSymbols { .. } => tools::DOCUMENT_SYMBOLS,
            Query::WorkspaceSymbols { .. } => tools::WORKSPACE_SYMBOLS,
            Query::DocumentDiagnostics { .. } => tools::DOCUMENT_DIAGNOSTICS,
            Query::WorkspaceDiagnostics { .. } => tools::WORKSPACE_DIAGNOSTICS,
            Query::Declarations { .. } => tools::DECLARATIONS,
            Query::Lsp(_) => operation::TOOL,
            Query::Code(code) => code.query.tool(),
            Query::Launch(request) => request.tool(),
        }
    }

    /// The document of the query.
    pub fn uri(&self) -> Option<&U> {
        match self {
            Query::Definition { uri, .. }
            | Query::References { uri, .. }
            | Query::Hover { uri, .. }
            | Query::DocumentSymbols { uri }
            | Query::DocumentDiagnostics { uri }
            | Query::Declarations { uri } => Some(uri),
            Query::WorkspaceSymbols { .. } | Query::WorkspaceDiagnostics { .. } | Query::Code(_) | Query::Launch(_) => {
                None
            }
            Query::Lsp(lsp) => lsp.subject.uri(),
        }
    }

    /// The position of the query.
    pub fn position(&self) -> Option<Position> {
        match self {
            Query::Definition { position, .. } | Query::References { position, .. } | Query::Hover { position, .. } => {
                Some(*position)
            }
            Query::Lsp(lsp) => lsp.subject.position(),
            _ => None,
        }
    }

    /// The name that is searched for in the symbols of the workspace.
    pub fn symbol_name(&self) -> Option<&str> {
        match self {
            Query::WorkspaceSymbols { query: name, .. }
            | Query::Lsp(LspQuery { subject: QuerySubject::Name(name), .. }) => Some(name),
            _ => None,
        }
    }

    /// The page asked for; `None` for tools that are not paged.
    pub fn page(&self) -> Option<&PageRequest> {
        match self {
            Query::References { page, .. }
            | Query::WorkspaceSymbols { page, .. }
            | Query::WorkspaceDiagnostics { page } => Some(page),
            Query::Lsp(lsp) => Some(&lsp.page),
            _ => None,
        }
    }

    /// How a page is written, where that can be chosen.
    pub fn style(&self) -> PageStyle {
        match self {
            Query::Lsp(lsp) => lsp.style,
            _ => PageStyle::default(),
        }
    }

    /// The epochs that the answer depends on.
    pub fn epoch_mask(&self) -> EpochMask {
        match self {
            Query::DocumentDiagnostics { .. } => EpochMask::DOCUMENT_DIAGNOSTICS,
            Query::WorkspaceDiagnostics { .. } => EpochMask::WORKSPACE_DIAGNOSTICS,
            _ => EpochMask::NAVIGATION,
        }
    }

    /// The same query with the document that `gate` returns for its URI.
    pub fn try_map_uri<V, E>(self, gate: impl FnOnce(U) -> Result<V, E>) -> Result<Query<V>, E> {
        Ok(match self {
            Query::Definition { uri, position } => Query::Definition { uri: gate(uri)?, position },
            Query::References { uri, position, include_declaration, page } => {
                Query::References { uri: gate(uri)?, position, include_declaration, page }
            }
            Query::Hover { uri, position } => Query::Hover { uri: gate(uri)?, position },
            Query::DocumentSymbols { uri } => Query::DocumentSymbols { uri: gate(uri)? },
            Query::WorkspaceSymbols { query, page } => Query::WorkspaceSymbols { query, page },
            Query::DocumentDiagnostics { uri } => Query::DocumentDiagnostics { uri: gate(uri)? },
            Query::WorkspaceDiagnostics { page } => Query::WorkspaceDiagnostics { page },
            Query::Declarations { uri } => Query::Declarations { uri: gate(uri)? },
            Query::Lsp(LspQuery { operation, subject, page, style }) => {
                Query::Lsp(LspQuery { operation, subject: subject.try_map_uri(gate)?, page, style })
            }
            Query::Code(code) => Query::Code(code),
            Query::Launch(request) => Query::Launch(request),
        })
    }
}

/// A query whose document passed the path gate.
pub type GatedQuery = Query<CanonicalUri>;

impl GatedQuery {
    /// The text whose SHA-256 is the request key `k`: joined by `|`, numbers in decimal, without the page.
    pub fn request_key_text(&self) -> String {
        let mut text = format!("v1|{}", self.tool());
        if let Query::Lsp(lsp) = self {
            text.push('|');
            text.push_str(lsp.operation.as_str());
        }
        match self {
            Query::Lsp(LspQuery { subject: QuerySubject::Name(name), .. }) => {
                text.push('|');
                text.push_str(name);
            }
            Query::WorkspaceSymbols { query, .. } => {
                text.push('|');
                text.push_str(query);
            }
            Query::WorkspaceDiagnostics { .. } => {}
            _ => {
                if let Some(uri) = self.uri() {
                    text.push('|');
                    text.push_str(uri.as_str());
                }
                if let Some(at) = self.position() {
                    text.push_str(&format!("|{}|{}", at.line, at.character));
                }
                if let Query::References { include_declaration, .. } = self {
                    text.push_str(&format!("|{include_declaration}"));
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::operation::Operation;

    #[test]
    fn request_key_texts_are_those_of_the_contract() {
        let uri = CanonicalUri::of_gated_path(Path::new("/w/a b.ts"));
        let page = PageRequest { size: 7, cursor: None };
        let position = Position { line: 10, character: 4 };
        let references =
            Query::References { uri: uri.clone(), position, include_declaration: false, page: page.clone() };
        assert_eq!(references.request_key_text(), "v1|vscode.lsp.references|file:///w/a%20b.ts|10|4|false");
        let symbols: GatedQuery = Query::WorkspaceSymbols { query: "MyFunc".into(), page: page.clone() };
        assert_eq!(symbols.request_key_text(), "v1|vscode.lsp.workspaceSymbols|MyFunc");
        let diagnostics: GatedQuery = Query::WorkspaceDiagnostics { page };
        assert_eq!(diagnostics.request_key_text(), "v1|vscode.lsp.diagnostics.workspace");
        let lsp = |operation, subject| {
            let style = PageStyle { preview: false, chars: 2_000, ..PageStyle::default() };
            Query::Lsp(LspQuery { operation, subject, page: PageRequest { size: 7, cursor: None }, style })
        };
        let callers = lsp(Operation::IncomingCalls, QuerySubject::At(uri.clone(), position));
        assert_eq!(callers.request_key_text(), "v1|lsp|incomingCalls|file:///w/a%20b.ts|10|4");
        let outline = lsp(Operation::DocumentSymbol, QuerySubject::File(uri.clone()));
        assert_eq!(outline.request_key_text(), "v1|lsp|documentSymbol|file:///w/a%20b.ts");
        let named: GatedQuery = lsp(Operation::WorkspaceSymbol, QuerySubject::Name("a|b".into()));
        assert_eq!(named.request_key_text(), "v1|lsp|workspaceSymbol|a|b");
        assert_eq!(Query::Hover { uri, position }.request_key_text(), "v1|vscode.lsp.hover|file:///w/a%20b.ts|10|4");
    }
}
