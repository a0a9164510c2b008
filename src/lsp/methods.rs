//! Names of LSP methods and the parameters of the questions we ask.
//!
//! Parameters borrow what they say and serialise straight into bytes. Positions are in the server's encoding already.
//! Invariant: an optional field that isn't given is left out, never `null`.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::model::position::Position;

/// Where is it defined?
pub const DEFINITION: &str = "textDocument/definition";
/// Where is it used?
pub const REFERENCES: &str = "textDocument/references";
/// What is it?
pub const HOVER: &str = "textDocument/hover";
/// What does this document declare?
pub const DOCUMENT_SYMBOL: &str = "textDocument/documentSymbol";
/// Which symbols of the workspace match?
pub const WORKSPACE_SYMBOL: &str = "workspace/symbol";
/// What is wrong with this document?
pub const DOCUMENT_DIAGNOSTIC: &str = "textDocument/diagnostic";
/// What is wrong in the workspace?
pub const WORKSPACE_DIAGNOSTIC: &str = "workspace/diagnostic";

/// A document is open at the server from now on.
pub const DID_OPEN: &str = "textDocument/didOpen";
/// An open document's text is another one.
pub const DID_CHANGE: &str = "textDocument/didChange";
/// An open document was written to disk.
pub const DID_SAVE: &str = "textDocument/didSave";
/// A document isn't open any more.
pub const DID_CLOSE: &str = "textDocument/didClose";
/// Diagnostics the server pushes.
pub const PUBLISH_DIAGNOSTICS: &str = "textDocument/publishDiagnostics";
/// Files changed on disk.
pub const DID_CHANGE_WATCHED_FILES: &str = "workspace/didChangeWatchedFiles";
/// Settings changed.
pub const DID_CHANGE_CONFIGURATION: &str = "workspace/didChangeConfiguration";

/// The first request.
pub const INITIALIZE: &str = "initialize";
/// What follows its answer.
pub const INITIALIZED: &str = "initialized";
/// The last request.
pub const SHUTDOWN: &str = "shutdown";
/// The last notification.
pub const EXIT: &str = "exit";
/// A request isn't needed any more.
pub const CANCEL_REQUEST: &str = "$/cancelRequest";
/// Work goes on.
pub const PROGRESS: &str = "$/progress";
/// rust-analyzer's state.
pub const SERVER_STATUS: &str = "experimental/serverStatus";
/// A line of the server's log.
pub const LOG_MESSAGE: &str = "window/logMessage";

/// Requests of servers: settings wanted.
pub const CONFIGURATION: &str = "workspace/configuration";
/// Requests of servers: the workspace's folders.
pub const WORKSPACE_FOLDERS: &str = "workspace/workspaceFolders";
/// Requests of servers: a capability comes late.
pub const REGISTER_CAPABILITY: &str = "client/registerCapability";
/// Requests of servers: a capability goes.
pub const UNREGISTER_CAPABILITY: &str = "client/unregisterCapability";
/// Requests of servers: a progress token will be used.
pub const WORK_DONE_PROGRESS_CREATE: &str = "window/workDoneProgress/create";
/// Requests of servers: a question to a person.
pub const SHOW_MESSAGE_REQUEST: &str = "window/showMessageRequest";
/// Requests of servers: an edit to be made.
pub const APPLY_EDIT: &str = "workspace/applyEdit";
/// Requests of servers: pulled diagnostics don't hold any more.
pub const DIAGNOSTIC_REFRESH: &str = "workspace/diagnostic/refresh";

/// A document named by its URI.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TextDocument<'a> {
    /// Its URI.
    pub uri: &'a str,
}

/// Of definition and hover.
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

/// Parameters of definition and hover.
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
