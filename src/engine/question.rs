//! What a workspace asks one language server, and how the undecoded reply becomes raw values of ours.
//!
//! A question is about one document or about the whole project. Positions go out and come back in the server's encoding;
//! this is the only place where the two meet.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::known_files::Source;
use codeyard_base::ids::LanguageId;
use codeyard_lsp::convert::{self, RawAnswer, Report};
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::operation::{LspQuery, Operation, Subject};
use codeyard_model::position::Position;
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;

/// A document as it is on disk right now, with its language.
#[derive(Debug, Clone)]
pub struct DocumentInput {
    /// Text, hash and stamp.
    pub source: Arc<Source>,
    /// The language to open it as.
    pub language: LanguageId,
}

/// A function of a call hierarchy as its server gave it. It means something only to that very server.
#[derive(Debug, Clone)]
pub struct CallItem {
    /// The server's own JSON.
    pub json: Arc<str>,
    /// The file it is in.
    pub uri: Arc<str>,
    /// Which of the server's lives it is of.
    pub incarnation: u64,
}

/// A question to one language server.
#[derive(Debug, Clone)]
pub enum Question {
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
    /// `callHierarchy/incomingCalls` of a function that the same server gave.
    IncomingCalls(DocumentInput, CallItem),
    /// `callHierarchy/outgoingCalls` of a function that the same server gave.
    OutgoingCalls(DocumentInput, CallItem),
    /// `workspace/symbol`.
    WorkspaceSymbols(String),
    /// `textDocument/diagnostic`, or the push that follows a sync.
    DocumentDiagnostics(DocumentInput),
    /// All that is reported, `workspace/diagnostic`, and fresh pulls of the open documents.
    WorkspaceDiagnostics,
}

impl Question {
    /// The question that `query` is for one server. `document` must be there for queries about a document.
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

    /// The first question of an operation; for callers and callees that is for the function whose they are.
    fn of_operation(asked: &LspQuery<CanonicalUri>, document: Option<DocumentInput>) -> Option<Self> {
        if let Subject::Name(name) = &asked.subject {
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

    /// The document asked about.
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

    /// Which of the server's lives the question is to, if only that one understands it.
    pub fn incarnation(&self) -> Option<u64> {
        match self {
            Self::IncomingCalls(_, of) | Self::OutgoingCalls(_, of) => Some(of.incarnation),
            _ => None,
        }
    }

    /// The URI of the document asked about.
    pub fn uri(&self) -> Option<&CanonicalUri> {
        self.document().map(|document| &document.source.uri)
    }
}

/// What a pull of one document brought; nothing if that is what is known already.
pub(crate) fn pulled_file(
    uri: &Arc<str>,
    reply: &RawValue,
) -> Result<Option<RawFileDiagnostics>, convert::ConvertError> {
    Ok(match convert::document_diagnostic_report(reply)? {
        Report::Full { items, .. } => Some(RawFileDiagnostics { uri: uri.clone(), diagnostics: items }),
        Report::Unchanged { .. } => None,
    })
}

/// The raw values in the reply to a question.
pub(crate) fn decode(question: &Question, reply: &RawValue) -> Result<RawAnswer, convert::ConvertError> {
    Ok(match question {
        Question::Definition(..) => RawAnswer::Locations(convert::definition(reply)?),
        Question::References(..) => RawAnswer::Locations(convert::references(reply)?),
        Question::Hover(..) => RawAnswer::Hover(convert::hover(reply)?),
        Question::DocumentSymbols(document) => {
            RawAnswer::DocumentSymbols(convert::document_symbols(reply, document.source.uri.as_str())?)
        }
        Question::Implementation(..) => RawAnswer::Locations(convert::implementation(reply)?),
        Question::PrepareCalls(..) => RawAnswer::CallItems(convert::call_items(reply)?),
        Question::IncomingCalls(..) => RawAnswer::Calls(convert::incoming_calls(reply)?),
        Question::OutgoingCalls(_, of) => RawAnswer::Calls(convert::outgoing_calls(reply, &of.uri)?),
        Question::WorkspaceSymbols(_) => RawAnswer::WorkspaceSymbols(convert::workspace_symbols(reply)?),
        Question::DocumentDiagnostics(document) => {
            let items = match convert::document_diagnostic_report(reply)? {
                Report::Full { items, .. } => items,
                Report::Unchanged { .. } => vec![],
            };
            RawAnswer::Diagnostics(vec![RawFileDiagnostics { uri: document.source.uri.text(), diagnostics: items }])
        }
        Question::WorkspaceDiagnostics => RawAnswer::Diagnostics(vec![]),
    })
}
