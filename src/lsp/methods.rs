//! Names of LSP methods, and the parameters of the requests that we send.
//!
//! The parameters borrow their values and serialise straight into bytes. Positions are already in the server's
//! encoding. Invariant: an optional field without a value is left out, never `null`.

use lsp_types::notification::{self, Notification};
use lsp_types::request::{self, Request};
use serde::Serialize;
use serde_json::value::RawValue;

use codeyard_model::position::Position;

/// Definition of the symbol at a position.
pub const DEFINITION: &str = <request::GotoDefinition as Request>::METHOD;
/// Implementations of the symbol at a position.
pub const IMPLEMENTATION: &str = <request::GotoImplementation as Request>::METHOD;
/// Call hierarchy item at a position.
pub const PREPARE_CALL_HIERARCHY: &str = <request::CallHierarchyPrepare as Request>::METHOD;
/// Callers of a call hierarchy item.
pub const INCOMING_CALLS: &str = <request::CallHierarchyIncomingCalls as Request>::METHOD;
/// Callees of a call hierarchy item.
pub const OUTGOING_CALLS: &str = <request::CallHierarchyOutgoingCalls as Request>::METHOD;
/// References to the symbol at a position.
pub const REFERENCES: &str = <request::References as Request>::METHOD;
/// Hover text at a position.
pub const HOVER: &str = <request::HoverRequest as Request>::METHOD;
/// Symbols that a document declares.
pub const DOCUMENT_SYMBOL: &str = <request::DocumentSymbolRequest as Request>::METHOD;
/// Symbols of the workspace that match a query.
pub const WORKSPACE_SYMBOL: &str = <request::WorkspaceSymbolRequest as Request>::METHOD;
/// Diagnostics of a document, pulled.
pub const DOCUMENT_DIAGNOSTIC: &str = <request::DocumentDiagnosticRequest as Request>::METHOD;
/// Diagnostics of the workspace, pulled.
pub const WORKSPACE_DIAGNOSTIC: &str = <request::WorkspaceDiagnosticRequest as Request>::METHOD;

/// A document was opened.
pub const DID_OPEN: &str = <notification::DidOpenTextDocument as Notification>::METHOD;
/// The text of an open document changed.
pub const DID_CHANGE: &str = <notification::DidChangeTextDocument as Notification>::METHOD;
/// An open document was written to disk.
pub const DID_SAVE: &str = <notification::DidSaveTextDocument as Notification>::METHOD;
/// A document was closed.
pub const DID_CLOSE: &str = <notification::DidCloseTextDocument as Notification>::METHOD;
/// Diagnostics that the server pushes.
pub const PUBLISH_DIAGNOSTICS: &str = <notification::PublishDiagnostics as Notification>::METHOD;
/// Workspace folders joined or left.
pub const DID_CHANGE_WORKSPACE_FOLDERS: &str = <notification::DidChangeWorkspaceFolders as Notification>::METHOD;
/// Files changed on disk.
pub const DID_CHANGE_WATCHED_FILES: &str = <notification::DidChangeWatchedFiles as Notification>::METHOD;

/// The last request.
pub const SHUTDOWN: &str = <request::Shutdown as Request>::METHOD;
/// The last notification.
pub const EXIT: &str = <notification::Exit as Notification>::METHOD;
/// Progress of work that takes a while.
pub const PROGRESS: &str = <notification::Progress as Notification>::METHOD;
/// rust-analyzer's status: quiescence and health.
pub const SERVER_STATUS: &str = "experimental/serverStatus";
/// Capabilities that the server registers.
pub const REGISTER_CAPABILITY: &str = <request::RegisterCapability as Request>::METHOD;
/// Capabilities that the server takes back.
pub const UNREGISTER_CAPABILITY: &str = <request::UnregisterCapability as Request>::METHOD;
/// A message for the server's log.
pub const LOG_MESSAGE: &str = <notification::LogMessage as Notification>::METHOD;

/// A document, identified by its URI.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TextDocument<'a> {
    pub uri: &'a str,
}

/// Parameters of incomingCalls and outgoingCalls.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CallsParams<'a> {
    /// A call hierarchy item as the server sent it.
    pub item: &'a RawValue,
}

/// Parameters of definition, hover, implementation and prepareCallHierarchy.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PositionParams<'a> {
    pub text_document: TextDocument<'a>,
    /// The position, in the server's encoding.
    pub position: Position,
}

/// Parameters of references.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceParams<'a> {
    pub text_document: TextDocument<'a>,
    /// The position, in the server's encoding.
    pub position: Position,
    /// What counts as a reference.
    pub context: ReferenceContext,
}

/// What counts as a reference.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceContext {
    /// Whether the declaration counts.
    pub include_declaration: bool,
}

/// Parameters of documentSymbol.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentParams<'a> {
    pub text_document: TextDocument<'a>,
}

/// Parameters of workspace/symbol.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WorkspaceSymbolParams<'a> {
    /// The query that names are matched against.
    pub query: &'a str,
}

/// Parameters of textDocument/diagnostic.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentDiagnosticParams<'a> {
    pub text_document: TextDocument<'a>,
    /// The identifier that the server registered its diagnostics with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identifier: Option<&'a str>,
    /// The result id of the last report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_result_id: Option<&'a str>,
}

/// Parameters of workspace/diagnostic.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceDiagnosticParams<'a> {
    /// The identifier that the server registered its diagnostics with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identifier: Option<&'a str>,
    /// The result ids of the last reports; may be empty.
    pub previous_result_ids: &'a [PreviousResultId<'a>],
}

/// The result id of the last report on a file.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PreviousResultId<'a> {
    pub uri: &'a str,
    pub value: &'a str,
}

/// Parameters of incomingCalls and outgoingCalls.
pub fn calls(item: &RawValue) -> CallsParams<'_> {
    CallsParams { item }
}

/// Parameters of definition, hover, implementation and prepareCallHierarchy.
pub fn at(uri: &str, position: Position) -> PositionParams<'_> {
    PositionParams { text_document: TextDocument { uri }, position }
}

/// Parameters of references.
pub fn references(uri: &str, position: Position, include_declaration: bool) -> ReferenceParams<'_> {
    let context = ReferenceContext { include_declaration };
    ReferenceParams { text_document: TextDocument { uri }, position, context }
}

/// Parameters of documentSymbol.
pub fn document(uri: &str) -> DocumentParams<'_> {
    DocumentParams { text_document: TextDocument { uri } }
}

/// Parameters of workspace/symbol.
pub fn workspace_symbols(query: &str) -> WorkspaceSymbolParams<'_> {
    WorkspaceSymbolParams { query }
}

/// Parameters of textDocument/diagnostic.
pub fn document_diagnostic<'a>(
    uri: &'a str,
    identifier: Option<&'a str>,
    previous_result_id: Option<&'a str>,
) -> DocumentDiagnosticParams<'a> {
    DocumentDiagnosticParams { text_document: TextDocument { uri }, identifier, previous_result_id }
}

/// Parameters of workspace/diagnostic.
pub fn workspace_diagnostic<'a>(
    identifier: Option<&'a str>,
    previous_result_ids: &'a [PreviousResultId<'a>],
) -> WorkspaceDiagnosticParams<'a> {
    WorkspaceDiagnosticParams { identifier, previous_result_ids }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_raw(params: &impl Serialize) -> serde_json::Result<Box<RawValue>> {
        serde_json::value::to_raw_value(params)
    }

    #[test]
    fn parameters_follow_the_protocol() {
        let position = Position { line: 3, character: 7 };
        let document_and_position = r#""textDocument":{"uri":"file:///a"},"position":{"line":3,"character":7}"#;
        let previous = [PreviousResultId { uri: "file:///a", value: "r" }];
        for (raw, json) in [
            (to_raw(&at("file:///a", position)), format!("{{{document_and_position}}}")),
            (
                to_raw(&references("file:///a", position, true)),
                format!(r#"{{{document_and_position},"context":{{"includeDeclaration":true}}}}"#),
            ),
            (to_raw(&document("file:///a")), r#"{"textDocument":{"uri":"file:///a"}}"#.into()),
            (to_raw(&workspace_symbols("a\"b")), r#"{"query":"a\"b"}"#.into()),
            (to_raw(&document_diagnostic("file:///a", None, None)), r#"{"textDocument":{"uri":"file:///a"}}"#.into()),
            (
                to_raw(&document_diagnostic("file:///a", Some("i"), Some("r"))),
                r#"{"textDocument":{"uri":"file:///a"},"identifier":"i","previousResultId":"r"}"#.into(),
            ),
            (to_raw(&workspace_diagnostic(None, &[])), r#"{"previousResultIds":[]}"#.into()),
            (
                to_raw(&workspace_diagnostic(Some("i"), &previous)),
                r#"{"identifier":"i","previousResultIds":[{"uri":"file:///a","value":"r"}]}"#.into(),
            ),
        ] {
            assert_eq!(raw.unwrap().get(), json);
        }
    }
}
