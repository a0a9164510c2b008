//! Decodes what a language server answered into the model's raw values.
//!
//! It is pure and trusts nothing: an entry that is malformed makes the whole answer an error, and the error carries no
//! text of the answer. It neither gates, sorts nor caps (`canon`), and leaves columns as the server counts them (`encoding`).
//! Invariants: memory stays a small multiple of the frame's bytes; depth is bounded; each distinct URI is stored once.
//!
//! What is tolerated, here and nowhere else: ranges whose end lies before their start are swapped; unknown fields are
//! passed over; `null` for an optional field is its absence; arrays may mix the shapes a method allows; a severity
//! outside 1 to 4 is left out; empty names stay; empty container names, sources and hover fragments are left out.

mod calls;
mod diagnostics;
mod hover;
mod list;
mod locations;
mod object;
mod symbols;

pub use calls::{RawCall, RawCallItem, call_items, incoming_calls, outgoing_calls};
pub use diagnostics::{
    FileReport, Report, WorkspaceReport, document_diagnostic_report, publish_diagnostics, workspace_diagnostic_report,
};
pub use hover::hover;
pub use locations::{definition, implementation, references};
pub use symbols::{document_symbols, workspace_symbols};

use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::hover::Hover;
use codeyard_model::position::RawLocation;
use codeyard_model::symbol::{RawDocumentSymbol, RawWorkspaceSymbol};

/// A server's answer, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawAnswer {
    /// To definition and references.
    Locations(Vec<RawLocation>),
    /// To hover.
    Hover(Option<Hover>),
    /// To documentSymbol.
    DocumentSymbols(Vec<RawDocumentSymbol>),
    /// To workspace/symbol.
    WorkspaceSymbols(Vec<RawWorkspaceSymbol>),
    /// To prepareCallHierarchy.
    CallItems(Vec<RawCallItem>),
    /// To incomingCalls and outgoingCalls.
    Calls(Vec<RawCall>),
    /// Pulled or pushed.
    Diagnostics(Vec<RawFileDiagnostics>),
}

/// Why an answer couldn't be decoded. It quotes nothing of the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// Wrong types, missing fields, numbers out of range, or nesting beyond the bound.
    #[error("malformed {what} at line {line} column {column}")]
    Malformed {
        /// What was being decoded.
        what: &'static str,
        /// 1-based line in the answer's JSON.
        line: usize,
        /// 1-based column in bytes.
        column: usize,
    },
    /// More entries than are ever looked at.
    #[error("too many entries in {what}")]
    TooMany {
        /// What was being decoded.
        what: &'static str,
    },
}

impl ConvertError {
    fn malformed(what: &'static str, error: &serde_json::Error) -> Self {
        Self::Malformed { what, line: error.line(), column: error.column() }
    }
}

#[cfg(test)]
mod tests;
