//! A decoded answer, of whichever method.

use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::hover::Hover;
use codeyard_model::position::RawLocation;
use codeyard_model::symbol::{RawDocumentSymbol, RawWorkspaceSymbol};

use super::calls::{RawCall, RawCallItem};

/// A server's decoded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawAnswer {
    /// Answer to definition, implementation and references.
    Locations(Vec<RawLocation>),
    /// Answer to hover.
    Hover(Option<Hover>),
    /// Answer to documentSymbol.
    DocumentSymbols(Vec<RawDocumentSymbol>),
    /// Answer to workspace/symbol.
    WorkspaceSymbols(Vec<RawWorkspaceSymbol>),
    /// Answer to prepareCallHierarchy.
    CallItems(Vec<RawCallItem>),
    /// Answer to incomingCalls and outgoingCalls.
    Calls(Vec<RawCall>),
    /// Diagnostics, pulled or pushed.
    Diagnostics(Vec<RawFileDiagnostics>),
}
