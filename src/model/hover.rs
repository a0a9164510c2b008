//! Hovers, raw and canonical. Both have the same type. Only a canonical hover is sorted and cut.

use serde::Serialize;

use super::position::Range;

/// One fragment of a hover. Ordered by kind, then value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HoverFragment {
    /// The format of `value`.
    pub kind: MarkupKind,
    pub value: String,
}

/// The format of a hover's text. Ordered as its JSON text: `markdown` before `plaintext`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkupKind {
    Markdown,
    /// Plain text.
    Plaintext,
}

/// A hover: raw from a language server, or canonical in an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Hover {
    /// The fragments. Empty if the server has no hover.
    pub contents: Vec<HoverFragment>,
    /// The range that the hover describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}
