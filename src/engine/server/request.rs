//! The requests that are sent to a language server, and the decoding of their replies into raw answers.
//!
//! A request is about one document or about the whole project. The positions of a reply are in the server's encoding.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::server::document::DocumentInput;
use codeyard_lsp::convert::{DocumentDiagnosticReport, RawAnswer};
use codeyard_lsp::{convert, methods};
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::operation::{LspQuery, Operation, QuerySubject};
use codeyard_model::position::Position;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;

/// An item of a call hierarchy as its server returned it. It is valid only for the same incarnation of that server.
#[derive(Debug, Clone)]
pub struct CallItem {
    /// The server's own JSON.
    pub json: Arc<str>,
    /// The file it is in.
    pub uri: Arc<str>,
    /// The incarnation of the server that returned it.
    pub incarnation: u64,
}

/// A request to one language server.
#[derive(Debug, Clone)]
pub enum ServerRequest {
    /// `textDocument/definition`.
    Definition(DocumentInput, Position),
    /// `textDocument/references`.
    References(DocumentInput, Position, bool),
    /// `textDocument/hover`.
    Hover(DocumentInput, Position),
    /// `textDocument/documentSymbol`.
    DocumentSymbols(DocumentInput),
    /// `textDocument/implementation`.
    Implementation(DocumentInput, Position),
    /// `textDocument/prepareCallHierarchy`.
    PrepareCalls(DocumentInput, Position),
    /// `callHierarchy/incomingCalls` of an item that the same server returned.
    IncomingCalls(DocumentInput, CallItem),
    /// `callHierarchy/outgoingCalls` of an item that the same server returned.
    OutgoingCalls(DocumentInput, CallItem),
    /// `workspace/symbol`.
    WorkspaceSymbols(String),
    /// `textDocument/diagnostic`, or the push that follows a sync.
    DocumentDiagnostics(DocumentInput),
    /// All reported diagnostics, `workspace/diagnostic`, and new pulls of the open documents.
    WorkspaceDiagnostics,
}

impl ServerRequest {
    /// The request for `query`. A query about a document needs `document`.
    pub fn of(query: &GatedQuery, document: Option<DocumentInput>) -> Option<Self> {
        Some(match query {
            Query::Definition { position, .. } => Self::Definition(document?, *position),
            Query::References { position, include_declaration, .. } => {
                Self::References(document?, *position, *include_declaration)
            }
            Query::Hover { position, .. } => Self::Hover(document?, *position),
            Query::DocumentSymbols { .. } | Query::Declarations { .. } => Self::DocumentSymbols(document?),
            Query::WorkspaceSymbols { query, .. } => Self::WorkspaceSymbols(query.clone()),
            Query::DocumentDiagnostics { .. } => Self::DocumentDiagnostics(document?),
            Query::WorkspaceDiagnostics { .. } => Self::WorkspaceDiagnostics,
            Query::Lsp(asked) => return Self::of_operation(asked, document),
            // The index answers it.
            Query::Code(_) => return None,
        })
    }

    /// The first request of an operation. For callers and callees it is the one for the function itself.
    fn of_operation(asked: &LspQuery<CanonicalUri>, document: Option<DocumentInput>) -> Option<Self> {
        if let QuerySubject::Name(name) = &asked.subject {
            return Some(Self::WorkspaceSymbols(name.clone()));
        }
        let (document, position) = (document?, asked.subject.position());
        Some(match asked.operation {
            Operation::GoToDefinition => Self::Definition(document, position?),
            Operation::FindReferences => Self::References(document, position?, true),
            Operation::Hover => Self::Hover(document, position?),
            Operation::DocumentSymbol => Self::DocumentSymbols(document),
            Operation::GoToImplementation => Self::Implementation(document, position?),
            Operation::PrepareCallHierarchy | Operation::IncomingCalls | Operation::OutgoingCalls => {
                Self::PrepareCalls(document, position?)
            }
            Operation::WorkspaceSymbol => return None,
        })
    }

    /// The document of the request.
    pub fn document(&self) -> Option<&DocumentInput> {
        match self {
            Self::Definition(document, _)
            | Self::References(document, ..)
            | Self::Hover(document, _)
            | Self::Implementation(document, _)
            | Self::PrepareCalls(document, _)
            | Self::IncomingCalls(document, _)
            | Self::OutgoingCalls(document, _)
            | Self::DocumentSymbols(document)
            | Self::DocumentDiagnostics(document) => Some(document),
            Self::WorkspaceSymbols(_) | Self::WorkspaceDiagnostics => None,
        }
    }

    /// The incarnation of the server that the request is for, if it is valid for that one only.
    pub fn incarnation(&self) -> Option<u64> {
        match self {
            Self::IncomingCalls(_, of) | Self::OutgoingCalls(_, of) => Some(of.incarnation),
            _ => None,
        }
    }

    /// The URI of the document of the request.
    pub fn uri(&self) -> Option<&CanonicalUri> {
        self.document().map(|document| &document.source.uri)
    }
}

/// The diagnostics in the reply to a document's pull; `None` if they are unchanged.
pub(crate) fn pulled_file(
    uri: &Arc<str>,
    reply: &RawValue,
) -> Result<Option<RawFileDiagnostics>, convert::ConvertError> {
    Ok(match convert::document_diagnostic_report(reply)? {
        DocumentDiagnosticReport::Full { items, .. } => {
            Some(RawFileDiagnostics { uri: uri.clone(), diagnostics: items })
        }
        DocumentDiagnosticReport::Unchanged { .. } => None,
    })
}

/// Decodes the reply to a request.
pub(crate) fn decode(request: &ServerRequest, reply: &RawValue) -> Result<RawAnswer, convert::ConvertError> {
    Ok(match request {
        ServerRequest::Definition(..) => RawAnswer::Locations(convert::definition(reply)?),
        ServerRequest::References(..) => RawAnswer::Locations(convert::references(reply)?),
        ServerRequest::Hover(..) => RawAnswer::Hover(convert::hover(reply)?),
        ServerRequest::DocumentSymbols(document) => {
            RawAnswer::DocumentSymbols(convert::document_symbols(reply, document.source.uri.as_str())?)
        }
        ServerRequest::Implementation(..) => RawAnswer::Locations(convert::implementation(reply)?),
        ServerRequest::PrepareCalls(..) => RawAnswer::CallItems(convert::call_items(reply)?),
        ServerRequest::IncomingCalls(..) => RawAnswer::Calls(convert::incoming_calls(reply)?),
        ServerRequest::OutgoingCalls(_, of) => RawAnswer::Calls(convert::outgoing_calls(reply, &of.uri)?),
        ServerRequest::WorkspaceSymbols(_) => RawAnswer::WorkspaceSymbols(convert::workspace_symbols(reply)?),
        ServerRequest::DocumentDiagnostics(document) => {
            let items = match convert::document_diagnostic_report(reply)? {
                DocumentDiagnosticReport::Full { items, .. } => items,
                DocumentDiagnosticReport::Unchanged { .. } => vec![],
            };
            RawAnswer::Diagnostics(vec![RawFileDiagnostics { uri: document.source.uri.text(), diagnostics: items }])
        }
        ServerRequest::WorkspaceDiagnostics => RawAnswer::Diagnostics(vec![]),
    })
}
/// The LSP method of a request.
pub(crate) fn method_of(request: &ServerRequest) -> &'static str {
    match request {
        ServerRequest::Definition(..) => methods::DEFINITION,
        ServerRequest::References(..) => methods::REFERENCES,
        ServerRequest::Hover(..) => methods::HOVER,
        ServerRequest::DocumentSymbols(_) => methods::DOCUMENT_SYMBOL,
        ServerRequest::Implementation(..) => methods::IMPLEMENTATION,
        ServerRequest::PrepareCalls(..) => methods::PREPARE_CALL_HIERARCHY,
        ServerRequest::IncomingCalls(..) => methods::INCOMING_CALLS,
        ServerRequest::OutgoingCalls(..) => methods::OUTGOING_CALLS,
        ServerRequest::WorkspaceSymbols(_) => methods::WORKSPACE_SYMBOL,
        ServerRequest::DocumentDiagnostics(_) => methods::DOCUMENT_DIAGNOSTIC,
        ServerRequest::WorkspaceDiagnostics => methods::WORKSPACE_DIAGNOSTIC,
    }
}
