//! Hover contents, raw and canonical (contract §7.3). Both have the same shape; only the canonical one is sorted and cut.

use serde::Serialize;

use super::position::Range;

/// One fragment of a hover. Ordered by kind, then value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HoverFragment {
    /// How to read `value`.
    pub kind: MarkupKind,
    /// The text.
    pub value: String,
}

/// How a hover's text is to be read. Ordered as its JSON text is: `markdown` before `plaintext`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkupKind {
    /// Markdown.
    Markdown,
    /// Plain text.
    Plaintext,
}

/// A hover: raw as a server gave it, or canonical as an answer carries it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Hover {
    /// The fragments; empty when nothing is known.
    pub contents: Vec<HoverFragment>,
    /// What the hover is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}
