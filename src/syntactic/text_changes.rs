//! Applies `textDocument/didChange` to the text of an open document.
//!
//! Pure. async-lsp has the message types but keeps no documents. Invariant: a range that exceeds the text is clamped to it, so the text
//! stays valid UTF-8.

use async_lsp::lsp_types as lsp;

use codeyard_lsp::text::Document;
use codeyard_lsp::text::encoding::{PositionEncoding, from_server};
use codeyard_model::position::Position;

/// One change: a new text for a range, or for the whole document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextChange {
    /// The replaced range; `None`: the whole document.
    pub range: Option<lsp::Range>,
    pub text: String,
}

impl From<lsp::TextDocumentContentChangeEvent> for TextChange {
    fn from(change: lsp::TextDocumentContentChangeEvent) -> Self {
        Self { range: change.range, text: change.text }
    }
}

/// Applies these changes one after the other and returns the new text. Positions are in `encoding`.
pub(crate) fn apply_changes(document: &Document, changes: &[TextChange], encoding: PositionEncoding) -> String {
    let mut text = document.text().to_owned();
    for change in changes {
        match change.range {
            None => text = change.text.clone(),
            Some(range) => {
                let now = Document::new(text.as_str());
                let begin = offset(&now, range.start, encoding);
                let end = offset(&now, range.end, encoding);
                text.replace_range(begin..end.max(begin), &change.text);
            }
        }
    }
    text
}

/// The byte offset of a position.
fn offset(document: &Document, position: lsp::Position, encoding: PositionEncoding) -> usize {
    let position = Position { line: position.line, character: position.character };
    document.offset(from_server(document, position, encoding))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(from: [u32; 2], to: [u32; 2], text: &str) -> TextChange {
        let at = |[line, character]: [u32; 2]| lsp::Position::new(line, character);
        TextChange { range: Some(lsp::Range::new(at(from), at(to))), text: text.into() }
    }

    #[test]
    fn changes_apply_in_order_in_every_encoding() {
        let document = Document::new("größe = 1\r\n𝒳 = größe\n");
        let utf16 = [change([0, 8], [0, 9], "23"), change([1, 5], [1, 10], "b"), change([2, 0], [2, 0], "end")];
        let expected = "größe = 23\r\n𝒳 = b\nend";
        assert_eq!(apply_changes(&document, &utf16, PositionEncoding::Utf16), expected);
        let utf8 = [change([0, 10], [0, 11], "23"), change([1, 7], [1, 14], "b"), change([2, 0], [2, 0], "end")];
        assert_eq!(apply_changes(&document, &utf8, PositionEncoding::Utf8), expected);
        let whole = [change([0, 0], [0, 1], "x"), TextChange { range: None, text: "new".into() }];
        assert_eq!(apply_changes(&document, &whole, PositionEncoding::Utf16), "new");
    }

    #[test]
    fn ranges_beyond_the_text_are_clamped() {
        let document = Document::new("ab\ncd");
        assert_eq!(apply_changes(&document, &[change([0, 9], [7, 0], "!")], PositionEncoding::Utf16), "ab!");
        assert_eq!(apply_changes(&document, &[change([1, 1], [0, 1], "!")], PositionEncoding::Utf16), "ab\nc!d");
    }
}
