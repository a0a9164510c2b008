//! Positions and ranges: 0-based lines, 0-based UTF-16 columns.
//!
//! Invariant: columns are always UTF-16 code units. The `lsp` crate converts other encodings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::uri::CanonicalUri;

/// A position between two UTF-16 code units. The default is the beginning of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// 0-based line.
    pub line: u32,
    /// 0-based UTF-16 column.
    pub character: u32,
}

impl Position {
    /// `line:character`, the form of positions in identifiers.
    pub fn to_id_text(self) -> String {
        format!("{}:{}", self.line, self.character)
    }
}

/// A half-open range. Ordered by start, then end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Range {
    /// Start, inclusive.
    pub start: Position,
    /// End, exclusive.
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

/// A language server's location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLocation {
    /// The URI, untrusted text.
    pub uri: Arc<str>,
    /// The range, in UTF-16.
    pub range: Range,
}

/// A canonical location. Ordered by URI, then range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Location {
    /// A file inside the allowed roots.
    pub uri: CanonicalUri,
    /// The range in that file.
    pub range: Range,
}
