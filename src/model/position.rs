//! Positions and ranges as clients see them: 0-based lines, 0-based UTF-16 columns (contract §3.3).
//!
//! Invariant: a position here is always in UTF-16; other encodings are converted in `lsp` before they get here.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::uri::CanonicalUri;

/// A place between two UTF-16 code units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// 0-based line.
    pub line: u32,
    /// 0-based UTF-16 column.
    pub character: u32,
}

impl Position {
    /// `line:character`, the form positions have inside identifiers (decisions §3).
    pub fn to_id_text(self) -> String {
        format!("{}:{}", self.line, self.character)
    }
}

/// A half-open range; ordered by start, then end (contract §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Range {
    /// Where it starts.
    pub start: Position,
    /// Where it ends, exclusive.
    pub end: Position,
}

impl Range {
    /// A range from four numbers.
    pub fn new(start_line: u32, start_character: u32, end_line: u32, end_character: u32) -> Self {
        Self {
            start: Position { line: start_line, character: start_character },
            end: Position { line: end_line, character: end_character },
        }
    }
}

/// A location as a language server gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLocation {
    /// The URI, untrusted text.
    pub uri: Arc<str>,
    /// The range, in UTF-16.
    pub range: Range,
}

/// A canonical location (contract §3.4); ordered by URI, then range (§4.2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Location {
    /// A file inside the allowed roots.
    pub uri: CanonicalUri,
    /// The range in that file.
    pub range: Range,
}
