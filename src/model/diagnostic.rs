//! Diagnostics, raw and canonical.

use std::sync::Arc;

use serde::Serialize;

use super::position::Range;
use super::symbol::InFile;
use super::uri::CanonicalUri;

/// A language server's diagnostic, with `code` as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawDiagnostic {
    /// The range, in UTF-16.
    pub range: Range,
    /// LSP severity 1 to 4.
    pub severity: Option<u32>,
    /// The code. Numbers in decimal.
    pub code: Option<String>,
    /// The tool that reports it.
    pub source: Option<String>,
    pub message: String,
}

/// All raw diagnostics of one server for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFileDiagnostics {
    pub uri: Arc<str>,
    pub diagnostics: Vec<RawDiagnostic>,
}

/// A canonical diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// `sha256:` over the diagnostic's canonical string.
    pub id: String,
    pub range: Range,
    /// LSP severity 1 to 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<u32>,
    /// The code as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The tool that reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub message: String,
}

/// The canonical diagnostics of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDiagnostics {
    pub uri: CanonicalUri,
    /// Its diagnostics, sorted, at most 200.
    pub diagnostics: Vec<Diagnostic>,
}

impl InFile for FileDiagnostics {
    fn file(&self) -> &CanonicalUri {
        &self.uri
    }
}
