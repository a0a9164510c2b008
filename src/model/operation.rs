//! The nine operations of the tool `lsp`, and the input that each needs.

use super::limits::DEFAULT_PAGE_CHARS;
use super::position::Position;
use super::query::PageRequest;
use codeyard_base::words;

/// The canonical name of the tool. Part of request keys.
pub const TOOL: &str = "lsp";

words! {
    /// One operation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Operation {
        GoToDefinition => "goToDefinition",
        /// References to the symbol, including its declaration.
        FindReferences => "findReferences",
        Hover => "hover",
        DocumentSymbol => "documentSymbol",
        /// Symbols of the workspace that match a name.
        WorkspaceSymbol => "workspaceSymbol",
        GoToImplementation => "goToImplementation",
        /// The call hierarchy item at the position.
        PrepareCallHierarchy => "prepareCallHierarchy",
        IncomingCalls => "incomingCalls",
        /// Functions that the function calls.
        OutgoingCalls => "outgoingCalls",
    }
    /// The operation's name as callers give it.
    fn as_str;
    /// The operation of this name.
    fn parse;
}

/// The input that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationInput {
    /// A file and a position in it.
    Position,
    File,
    /// A part of a name.
    Name,
}

/// The subject of a query. `U` as in [`super::query::Query`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuerySubject<U> {
    /// A position in a file, 0-based.
    At(U, Position),
    File(U),
    /// A part of a name, trimmed and not empty.
    Name(String),
}

/// A query of the tool `lsp`. Its subject is of the kind that [`Operation::input`] names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspQuery<U> {
    pub operation: Operation,
    pub subject: QuerySubject<U>,
    /// The requested page. Its size is the maximum number of entries.
    pub page: PageRequest,
    /// How the page is written.
    pub style: PageStyle,
}

words! {
    /// How the result of the tool `lsp` is written.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum LspFormat {
        /// As JSON in the shapes of LSP.
        Json => "json",
        /// As text, one line per entry.
        Compact => "compact",
    }
    /// The format's name as callers give it.
    fn as_str;
    /// The format of this name.
    fn parse;
}

/// How a page is written. It is no part of the request key: a result is the same in every style, so its pages may have different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageStyle {
    pub format: LspFormat,
    /// Whether entries have their source lines, where the result has them.
    pub preview: bool,
    /// Most code points of the page's text.
    pub chars: usize,
}

impl Default for PageStyle {
    fn default() -> Self {
        Self { format: LspFormat::Json, preview: true, chars: DEFAULT_PAGE_CHARS }
    }
}

impl Operation {
    /// Whether its entries have their source lines unless the call says otherwise.
    pub fn has_preview(self) -> bool {
        matches!(self, Self::FindReferences | Self::IncomingCalls | Self::OutgoingCalls)
    }

    /// The input that the operation needs.
    pub fn input(self) -> OperationInput {
        match self {
            Self::DocumentSymbol => OperationInput::File,
            Self::WorkspaceSymbol => OperationInput::Name,
            _ => OperationInput::Position,
        }
    }
}

impl<U> QuerySubject<U> {
    /// The file.
    pub fn uri(&self) -> Option<&U> {
        match self {
            Self::At(uri, _) | Self::File(uri) => Some(uri),
            Self::Name(_) => None,
        }
    }

    /// The position in it.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::At(_, position) => Some(*position),
            _ => None,
        }
    }

    /// The same subject with the file that `gate` returns for its URI.
    pub fn try_map_uri<V, E>(self, gate: impl FnOnce(U) -> Result<V, E>) -> Result<QuerySubject<V>, E> {
        Ok(match self {
            Self::At(uri, position) => QuerySubject::At(gate(uri)?, position),
            Self::File(uri) => QuerySubject::File(gate(uri)?),
            Self::Name(name) => QuerySubject::Name(name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for operation in Operation::ALL {
            assert_eq!(Operation::parse(operation.as_str()), Some(operation));
        }
        assert_eq!(Operation::parse("gotodefinition"), None);
    }
}
