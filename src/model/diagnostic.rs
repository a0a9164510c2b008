//! Diagnostics, raw and canonical.

use std::sync::Arc;

use serde::Serialize;

use super::position::Range;
use super::symbol::InFile;
use super::uri::CanonicalUri;

/// A diagnostic as a language server gave it; `code` is already text (contract §7.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawDiagnostic {
    /// The range, in UTF-16.
    pub range: Range,
    /// LSP severity 1 to 4.
    pub severity: Option<u32>,
    /// The code; numbers in decimal.
    pub code: Option<String>,
    /// Which tool says so.
    pub source: Option<String>,
    /// What it says.
    pub message: String,
}

/// All raw diagnostics one server reports for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFileDiagnostics {
    /// The file, untrusted text.
    pub uri: Arc<str>,
    /// What is said of it.
    pub diagnostics: Vec<RawDiagnostic>,
}

/// A canonical diagnostic (contract §7.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// `sha256:` over the diagnostic's canonical string.
    pub id: String,
    /// The range.
    pub range: Range,
    /// LSP severity 1 to 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<u32>,
    /// The code as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Which tool says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What it says.
    pub message: String,
}

/// The diagnostics of one file (contract §7.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDiagnostics {
    /// The file.
    pub uri: CanonicalUri,
    /// Its diagnostics, sorted, at most 200.
    pub diagnostics: Vec<Diagnostic>,
}

impl InFile for FileDiagnostics {
    fn file(&self) -> &CanonicalUri {
        &self.uri
    }
}
