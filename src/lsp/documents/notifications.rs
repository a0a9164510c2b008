//! The document notifications, as they are serialised.
//!
//! Plain data: `open_documents` decides what to send, and the client sends it. Texts are shared, not copied.
//! Invariant: an optional field without a value is left out, never `null`.

use std::sync::Arc;

use serde::Serialize;

use crate::methods;
use codeyard_model::position::Range;

/// A document notification to send.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DocumentNotification {
    /// `textDocument/didOpen`.
    DidOpen(DidOpen),
    /// `textDocument/didChange`.
    DidChange(DidChange),
    /// `textDocument/didSave`.
    DidSave(DidSave),
    /// `textDocument/didClose`.
    DidClose(DidClose),
}

/// Parameters of didOpen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DidOpen {
    pub text_document: TextDocumentItem,
}

/// A document with its text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextDocumentItem {
    pub uri: Arc<str>,
    pub language_id: Arc<str>,
    pub version: i32,
    pub text: Arc<str>,
}

/// Parameters of didChange.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DidChange {
    pub text_document: VersionedDocumentIdentifier,
    /// Exactly one change.
    pub content_changes: [ContentChange; 1],
}

/// A document with its version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VersionedDocumentIdentifier {
    pub uri: Arc<str>,
    /// Its version after the change.
    pub version: i32,
}

/// The whole new text, or the text that replaces a range of the old one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContentChange {
    /// In the server's encoding. `None`: the whole text is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    pub text: Arc<str>,
}

/// Parameters of didSave.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DidSave {
    pub text_document: DocumentIdentifier,
    /// The text, for servers that ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Arc<str>>,
}

/// Parameters of didClose.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DidClose {
    pub text_document: DocumentIdentifier,
}

/// A document, identified by its URI.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DocumentIdentifier {
    pub uri: Arc<str>,
}

impl DocumentNotification {
    /// The notification's method; the value itself serialises as its parameters.
    pub fn method(&self) -> &'static str {
        match self {
            Self::DidOpen(_) => methods::DID_OPEN,
            Self::DidChange(_) => methods::DID_CHANGE,
            Self::DidSave(_) => methods::DID_SAVE,
            Self::DidClose(_) => methods::DID_CLOSE,
        }
    }

    /// The URI of the document.
    pub fn uri(&self) -> &Arc<str> {
        match self {
            Self::DidOpen(open) => &open.text_document.uri,
            Self::DidChange(change) => &change.text_document.uri,
            Self::DidSave(save) => &save.text_document.uri,
            Self::DidClose(close) => &close.text_document.uri,
        }
    }
}
