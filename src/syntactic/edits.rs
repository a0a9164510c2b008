//! Changes of an open document, as the protocol tells them.
//!
//! Pure. Invariant: a range that doesn't fit the text is taken as far as it does; the text stays well-formed.

use async_lsp::lsp_types as lsp;

use codeyard_lsp::encoding::{PositionEncoding, from_server};
use codeyard_lsp::text::Document;
use codeyard_model::position::Position;

/// One change: a range and what takes its place, or a whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// `None`: the whole text.
    pub range: Option<lsp::Range>,
    /// What is there now.
    pub text: String,
}

impl From<lsp::TextDocumentContentChangeEvent> for Edit {
    fn from(change: lsp::TextDocumentContentChangeEvent) -> Self {
        Self { range: change.range, text: change.text }
    }
}

/// The text after these changes, one after the other; positions count as `encoding` says.
pub(crate) fn applied(document: &Document, edits: &[Edit], encoding: PositionEncoding) -> String {
    let mut text = document.text().to_owned();
    for edit in edits {
        match edit.range {
            None => text = edit.text.clone(),
            Some(range) => {
                let now = Document::new(text.as_str());
                let (begin, end) = (offset(&now, range.start, encoding), offset(&now, range.end, encoding));
                text.replace_range(begin..end.max(begin), &edit.text);
            }
        }
    }
    text
}

/// Where a position lies in the text, in bytes.
fn offset(document: &Document, position: lsp::Position, encoding: PositionEncoding) -> usize {
    let position = Position { line: position.line, character: position.character };
    document.offset(from_server(document, position, encoding))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(from: (u32, u32), to: (u32, u32), text: &str) -> Edit {
        let at = |place: (u32, u32)| lsp::Position::new(place.0, place.1);
        Edit { range: Some(lsp::Range::new(at(from), at(to))), text: text.into() }
    }

    #[test]
    fn changes_follow_each_other_in_any_encoding() {
        let document = Document::new("größe = 1\r\n𝒳 = größe\n");
        let utf16 = [edit((0, 8), (0, 9), "23"), edit((1, 5), (1, 10), "b"), edit((2, 0), (2, 0), "end")];
        let expected = "größe = 23\r\n𝒳 = b\nend";
        assert_eq!(applied(&document, &utf16, PositionEncoding::Utf16), expected);
        let utf8 = [edit((0, 10), (0, 11), "23"), edit((1, 7), (1, 14), "b"), edit((2, 0), (2, 0), "end")];
        assert_eq!(applied(&document, &utf8, PositionEncoding::Utf8), expected);
        let whole = [edit((0, 0), (0, 1), "x"), Edit { range: None, text: "new".into() }];
        assert_eq!(applied(&document, &whole, PositionEncoding::Utf16), "new");
    }

    #[test]
    fn what_does_not_fit_is_taken_as_far_as_it_does() {
        let document = Document::new("ab\ncd");
        assert_eq!(applied(&document, &[edit((0, 9), (7, 0), "!")], PositionEncoding::Utf16), "ab!");
        assert_eq!(applied(&document, &[edit((1, 1), (0, 1), "!")], PositionEncoding::Utf16), "ab\nc!d");
    }
}
