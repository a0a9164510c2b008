//! The nine operations of the tool `lsp` (lsp tool contract, "Supported Operations"), and what each needs to be told.

use super::position::Position;
use super::query::PageRequest;

/// The canonical name of the tool; request keys are made with it.
pub const TOOL: &str = "lsp";

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Where is the symbol defined?
    GoToDefinition,
    /// Where is it used, its declaration included (decisions §4)?
    FindReferences,
    /// What is it?
    Hover,
    /// What does the file declare?
    DocumentSymbol,
    /// Which symbols of the workspace have such a name?
    WorkspaceSymbol,
    /// What implements it?
    GoToImplementation,
    /// Which function is it?
    PrepareCallHierarchy,
    /// Who calls it?
    IncomingCalls,
    /// Whom does it call?
    OutgoingCalls,
}

/// What an operation needs to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationInput {
    /// A file and a position in it.
    Position,
    /// A file.
    File,
    /// A part of a name.
    Name,
}

/// What a question is about. `U` as in [`super::query::Query`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuerySubject<U> {
    /// A position in a file, 0-based.
    At(U, Position),
    /// A file.
    File(U),
    /// A part of a name; trimmed and not empty.
    Name(String),
}

/// A question of the tool `lsp`. Its subject is of the kind that the operation [`OperationInput`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspQuery<U> {
    /// What is asked.
    pub operation: Operation,
    /// About what.
    pub subject: QuerySubject<U>,
    /// Which page; its size is the most entries a page may have.
    pub page: PageRequest,
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

    /// What it needs to be told.
    pub fn needs(self) -> OperationInput {
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

    /// The same about the file that `gate` makes of its name.
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
