//! Names of LSP methods and the parameters of the questions we ask.
//!
//! Parameters borrow what they say and serialise straight into bytes. Positions are in the server's encoding already.
//! Invariant: an optional field that isn't given is left out, never `null`.

use lsp_types::notification::{self, Notification};
use lsp_types::request::{self, Request};
use serde::Serialize;
use serde_json::value::RawValue;

use codeyard_model::position::Position;

/// Where is it defined?
pub const DEFINITION: &str = <request::GotoDefinition as Request>::METHOD;
/// What implements it?
pub const IMPLEMENTATION: &str = <request::GotoImplementation as Request>::METHOD;
/// Which function is it?
pub const PREPARE_CALL_HIERARCHY: &str = <request::CallHierarchyPrepare as Request>::METHOD;
/// Who calls it?
pub const INCOMING_CALLS: &str = <request::CallHierarchyIncomingCalls as Request>::METHOD;
/// Whom does it call?
pub const OUTGOING_CALLS: &str = <request::CallHierarchyOutgoingCalls as Request>::METHOD;
/// Where is it used?
pub const REFERENCES: &str = <request::References as Request>::METHOD;
/// What is it?
pub const HOVER: &str = <request::HoverRequest as Request>::METHOD;
/// What does this document declare?
pub const DOCUMENT_SYMBOL: &str = <request::DocumentSymbolRequest as Request>::METHOD;
/// Which symbols of the workspace match?
pub const WORKSPACE_SYMBOL: &str = <request::WorkspaceSymbolRequest as Request>::METHOD;
/// What is wrong with this document?
pub const DOCUMENT_DIAGNOSTIC: &str = <request::DocumentDiagnosticRequest as Request>::METHOD;
/// What is wrong in the workspace?
pub const WORKSPACE_DIAGNOSTIC: &str = <request::WorkspaceDiagnosticRequest as Request>::METHOD;

/// A document is open at the server from now on.
pub const DID_OPEN: &str = <notification::DidOpenTextDocument as Notification>::METHOD;
/// An open document's text is another one.
pub const DID_CHANGE: &str = <notification::DidChangeTextDocument as Notification>::METHOD;
/// An open document was written to disk.
pub const DID_SAVE: &str = <notification::DidSaveTextDocument as Notification>::METHOD;
/// A document isn't open any more.
pub const DID_CLOSE: &str = <notification::DidCloseTextDocument as Notification>::METHOD;
/// Diagnostics the server pushes.
pub const PUBLISH_DIAGNOSTICS: &str = <notification::PublishDiagnostics as Notification>::METHOD;
/// Files changed on disk.
pub const DID_CHANGE_WATCHED_FILES: &str = <notification::DidChangeWatchedFiles as Notification>::METHOD;

/// The last request.
pub const SHUTDOWN: &str = <request::Shutdown as Request>::METHOD;
/// The last notification.
pub const EXIT: &str = <notification::Exit as Notification>::METHOD;
/// Work goes on.
pub const PROGRESS: &str = <notification::Progress as Notification>::METHOD;
/// rust-analyzer's state.
pub const SERVER_STATUS: &str = "experimental/serverStatus";
/// A line of the server's log.
pub const LOG_MESSAGE: &str = <notification::LogMessage as Notification>::METHOD;

/// A document named by its URI.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TextDocument<'a> {
    /// Its URI.
    pub uri: &'a str,
}

/// Of incomingCalls and outgoingCalls.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CallsParams<'a> {
    /// A function as the server gave it.
    pub item: &'a RawValue,
}

/// Of definition, hover, implementation and prepareCallHierarchy.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PositionParams<'a> {
    /// The document.
    pub text_document: TextDocument<'a>,
    /// The place, in the server's encoding.
    pub position: Position,
}

/// Of references.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceParams<'a> {
    /// The document.
    pub text_document: TextDocument<'a>,
    /// The place, in the server's encoding.
    pub position: Position,
    /// What counts.
    pub context: ReferenceContext,
}

/// What counts as a reference.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceContext {
    /// Whether the declaration does.
    pub include_declaration: bool,
}

/// Of documentSymbol.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentParams<'a> {
    /// The document.
    pub text_document: TextDocument<'a>,
}

/// Of workspace/symbol.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WorkspaceSymbolParams<'a> {
    /// What names are matched with.
    pub query: &'a str,
}

/// Of textDocument/diagnostic.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentDiagnosticParams<'a> {
    /// The document.
    pub text_document: TextDocument<'a>,
    /// The identifier the server registered its diagnostics with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identifier: Option<&'a str>,
    /// Of the report that is still kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_result_id: Option<&'a str>,
}

/// Of workspace/diagnostic.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceDiagnosticParams<'a> {
    /// The identifier the server registered its diagnostics with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identifier: Option<&'a str>,
    /// Of the reports that are still kept; may be empty.
    pub previous_result_ids: &'a [PreviousResultId<'a>],
}

/// A report that is still kept.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PreviousResultId<'a> {
    /// The file.
    pub uri: &'a str,
    /// Its result id.
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

/// Parameters as the bytes they are sent as. Serialising fails for none of the types here or in `documents`: they hold
/// strings, numbers and lists only.
pub fn to_raw(params: &impl Serialize) -> serde_json::Result<Box<RawValue>> {
    serde_json::value::to_raw_value(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_what_lsp_says() {
        let position = Position { line: 3, character: 7 };
        let place = r#""textDocument":{"uri":"file:///a"},"position":{"line":3,"character":7}"#;
        let previous = [PreviousResultId { uri: "file:///a", value: "r" }];
        for (raw, json) in [
            (to_raw(&at("file:///a", position)), format!("{{{place}}}")),
            (
                to_raw(&references("file:///a", position, true)),
                format!(r#"{{{place},"context":{{"includeDeclaration":true}}}}"#),
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
