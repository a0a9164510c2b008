//! What is asked, free of any catalog's dialect. The URI type says how far the query has come: text before the gate,
//! [`CanonicalUri`] after it.

use super::code::CodeQuery;
use super::epoch::EpochMask;
use super::operation::{self, LspQuery, QuerySubject};
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
    /// `Declarations`; no catalog has it.
    pub const DECLARATIONS: &str = "codeyard.declarations";
}

/// Which page of a paged answer is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Entries on the page, already clamped to the maximum.
    pub size: usize,
    /// The cursor's text, not yet decoded; `None` is the first page.
    pub cursor: Option<String>,
}

/// One question. `U` is `String` as it comes from the catalog, [`CanonicalUri`] once it is through the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query<U> {
    /// Where is the symbol at this position defined (contract §7.1)?
    Definition {
        /// The document.
        uri: U,
        /// Where in it, UTF-16.
        position: Position,
    },
    /// Where is it used (§7.2)?
    References {
        /// The document.
        uri: U,
        /// Where in it, UTF-16.
        position: Position,
        /// Whether the declaration itself counts.
        include_declaration: bool,
        /// Which page.
        page: PageRequest,
    },
    /// What is it (§7.3)?
    Hover {
        /// The document.
        uri: U,
        /// Where in it, UTF-16.
        position: Position,
    },
    /// What does this file declare (§7.4)?
    DocumentSymbols {
        /// The document.
        uri: U,
    },
    /// Which symbols of the workspace match (§7.5)? The query is trimmed and not empty.
    WorkspaceSymbols {
        /// The text to match.
        query: String,
        /// Which page.
        page: PageRequest,
    },
    /// What is wrong with this file (§7.6)?
    DocumentDiagnostics {
        /// The document.
        uri: U,
    },
    /// What is wrong in the workspace (§7.7)?
    WorkspaceDiagnostics {
        /// Which page.
        page: PageRequest,
    },
    /// What does this file declare, in the words of its language server? Of no tool: rows of the code index are confirmed with it.
    Declarations {
        /// The document.
        uri: U,
    },
    /// A question of the tool `lsp` (lsp tool contract).
    Lsp(LspQuery<U>),
    /// A question of the catalog `code`; its paths are looked up in the index, not on disk.
    Code(CodeQuery),
}

impl<U> Query<U> {
    /// The canonical tool name, which request keys are made with.
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
            Query::Code(asked) => asked.tool(),
        }
    }

    /// The document asked about.
    pub fn uri(&self) -> Option<&U> {
        match self {
            Query::Definition { uri, .. }
            | Query::References { uri, .. }
            | Query::Hover { uri, .. }
            | Query::DocumentSymbols { uri }
            | Query::DocumentDiagnostics { uri }
            | Query::Declarations { uri } => Some(uri),
            Query::WorkspaceSymbols { .. } | Query::WorkspaceDiagnostics { .. } | Query::Code(_) => None,
            Query::Lsp(asked) => asked.subject.uri(),
        }
    }

    /// The position asked about.
    pub fn position(&self) -> Option<Position> {
        match self {
            Query::Definition { position, .. } | Query::References { position, .. } | Query::Hover { position, .. } => {
                Some(*position)
            }
            Query::Lsp(asked) => asked.subject.position(),
            _ => None,
        }
    }

    /// The page asked for; `None` for tools that are not paged.
    pub fn page(&self) -> Option<&PageRequest> {
        match self {
            Query::References { page, .. }
            | Query::WorkspaceSymbols { page, .. }
            | Query::WorkspaceDiagnostics { page } => Some(page),
            Query::Lsp(asked) => Some(&asked.page),
            _ => None,
        }
    }

    /// Which epochs the answer hangs on (contract §3.6.2, decisions §3).
    pub fn epoch_mask(&self) -> EpochMask {
        match self {
            Query::DocumentDiagnostics { .. } => EpochMask::DOCUMENT_DIAGNOSTICS,
            Query::WorkspaceDiagnostics { .. } => EpochMask::WORKSPACE_DIAGNOSTICS,
            _ => EpochMask::NAVIGATION,
        }
    }

    /// The same query about the document that `gate` makes of its URI.
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
            Query::Lsp(LspQuery { operation, subject, page }) => {
                Query::Lsp(LspQuery { operation, subject: subject.try_map_uri(gate)?, page })
            }
            Query::Code(asked) => Query::Code(asked),
        })
    }
}

/// A query whose document came through the gate.
pub type GatedQuery = Query<CanonicalUri>;

impl GatedQuery {
    /// The text whose SHA-256 is the request key `k`: pipe-joined, numbers in decimal, page left out (contract §7, decisions §3
    /// and §4).
    pub fn request_key_text(&self) -> String {
        let mut text = format!("v1|{}", self.tool());
        if let Query::Lsp(asked) = self {
            text.push('|');
            text.push_str(asked.operation.as_str());
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
    fn request_keys_are_the_contracts_text() {
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
            Query::Lsp(LspQuery { operation, subject, page: PageRequest { size: 7, cursor: None } })
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
