//! The nine operations of the tool `lsp`, and the input that each needs.

use super::limits::DEFAULT_PAGE_CHARS;
use super::position::Position;
use super::query::PageRequest;

/// The canonical name of the tool. Part of request keys.
pub const TOOL: &str = "lsp";

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Definitions of the symbol.
    GoToDefinition,
    /// References to the symbol, including its declaration.
    FindReferences,
    /// Hover of the symbol.
    Hover,
    /// Symbols of the file.
    DocumentSymbol,
    /// Symbols of the workspace that match a name.
    WorkspaceSymbol,
    /// Implementations of the symbol.
    GoToImplementation,
    /// The call hierarchy item at the position.
    PrepareCallHierarchy,
    /// Callers of the function.
    IncomingCalls,
    /// Functions that the function calls.
    OutgoingCalls,
}

/// The input that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationInput {
    /// A file and a position in it.
    Position,
    /// A file.
    File,
    /// A part of a name.
    Name,
}

/// The subject of a query. `U` as in [`super::query::Query`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuerySubject<U> {
    /// A position in a file, 0-based.
    At(U, Position),
    /// A file.
    File(U),
    /// A part of a name, trimmed and not empty.
    Name(String),
}

/// A query of the tool `lsp`. Its subject is of the kind that [`Operation::input`] names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspQuery<U> {
    /// The operation.
    pub operation: Operation,
    /// The subject.
    pub subject: QuerySubject<U>,
    /// The requested page. Its size is the maximum number of entries.
    pub page: PageRequest,
    /// How the page is written.
    pub style: PageStyle,
}

/// How the result of the tool `lsp` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LspFormat {
    /// As JSON in the shapes of LSP.
    Json,
    /// As text, one line per entry.
    Compact,
}

/// How a page is written. It is no part of the request key: a result is the same in every style, so its pages may have different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageStyle {
    /// The format.
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

impl LspFormat {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::Json, Self::Compact];

    /// The format's name as callers give it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Compact => "compact",
        }
    }

    /// The format of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}

impl Operation {
    /// All operations, in the contract's order.
    pub const ALL: [Self; 9] = [
        Self::GoToDefinition,
        Self::FindReferences,
        Self::Hover,
        Self::DocumentSymbol,
        Self::WorkspaceSymbol,
        Self::GoToImplementation,
        Self::PrepareCallHierarchy,
        Self::IncomingCalls,
        Self::OutgoingCalls,
    ];

    /// The operation's name as callers give it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GoToDefinition => "goToDefinition",
            Self::FindReferences => "findReferences",
            Self::Hover => "hover",
            Self::DocumentSymbol => "documentSymbol",
            Self::WorkspaceSymbol => "workspaceSymbol",
            Self::GoToImplementation => "goToImplementation",
            Self::PrepareCallHierarchy => "prepareCallHierarchy",
            Self::IncomingCalls => "incomingCalls",
            Self::OutgoingCalls => "outgoingCalls",
        }
    }

    /// The operation of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.as_str() == name)
    }

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
