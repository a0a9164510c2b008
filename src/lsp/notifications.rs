//! The notifications that tell a server of documents, as they serialise.
//!
//! Plain data: `documents` decides what to send, the client sends it. Texts are shared, not copied.
//! Invariant: an optional field that isn't given is left out, never `null`.

use std::sync::Arc;

use serde::Serialize;

use super::methods;
use codeyard_model::position::Range;

/// A notification to send.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outgoing {
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
    /// What is opened.
    pub text_document: OpenedDocument,
}

/// A document with its text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenedDocument {
    /// Its URI.
    pub uri: Arc<str>,
    /// Its language.
    pub language_id: Arc<str>,
    /// Its version.
    pub version: i32,
    /// Its text.
    pub text: Arc<str>,
}

/// Parameters of didChange.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DidChange {
    /// What changed.
    pub text_document: VersionedDocument,
    /// Exactly one change.
    pub content_changes: [Change; 1],
}

/// A document with its version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VersionedDocument {
    /// Its URI.
    pub uri: Arc<str>,
    /// Its version after the change.
    pub version: i32,
}

/// The whole new text, or what replaces a range of the old one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// In the server's encoding; none: the whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// The new text.
    pub text: Arc<str>,
}

/// Parameters of didSave.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DidSave {
    /// What was saved.
    pub text_document: NamedDocument,
    /// The text, for servers that want it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Arc<str>>,
}

/// Parameters of didClose.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DidClose {
    /// What is closed.
    pub text_document: NamedDocument,
}

/// A document by its URI.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedDocument {
    /// Its URI.
    pub uri: Arc<str>,
}

impl Outgoing {
    /// The notification's method; the value itself serialises as its parameters.
    pub fn method(&self) -> &'static str {
        match self {
            Self::DidOpen(_) => methods::DID_OPEN,
            Self::DidChange(_) => methods::DID_CHANGE,
            Self::DidSave(_) => methods::DID_SAVE,
            Self::DidClose(_) => methods::DID_CLOSE,
        }
    }

    /// The document it is about.
    pub fn uri(&self) -> &Arc<str> {
        match self {
            Self::DidOpen(open) => &open.text_document.uri,
            Self::DidChange(change) => &change.text_document.uri,
            Self::DidSave(save) => &save.text_document.uri,
            Self::DidClose(close) => &close.text_document.uri,
        }
    }
}
