//! The places of names in a text, as far as characters tell.

use crate::identifier::is_part;
use codeyard_lsp::text::Document;
use codeyard_model::position::Range;

/// The places of a whole word in a text.
pub(super) fn words(document: &Document, name: &str) -> Vec<Range> {
    let mut found = Vec::new();
    for line in 0..document.line_count() as u32 {
        let text = document.line(line).unwrap_or_default();
        for (at, _) in text.match_indices(name) {
            let is_whole = !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part);
            if is_whole {
                let start = text[..at].encode_utf16().count() as u32;
                found.push(Range::new(line, start, line, start + name.encode_utf16().count() as u32));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identifier::{text_at, word_at};
    use codeyard_model::position::Position;

    #[test]
    fn names_are_whole_words_in_utf16() {
        let document = Document::new("𝒳.$a = a + $a1; $a\na");
        let starts: Vec<u32> = words(&document, "$a").iter().map(|range| range.start.character).collect();
        assert_eq!(starts, [3, 17]);
        let at = |line: u32, character: u32| word_at(&document, Position { line, character });
        assert_eq!(at(0, 4).map(|range| (range.start.character, range.end.character)), Some((3, 5)));
        assert_eq!((at(0, 6), at(1, 9), at(2, 0)), (None, None, None));
        assert_eq!(text_at(&document, at(0, 0).unwrap()).as_deref(), Some("𝒳"));
        assert_eq!(text_at(&document, Range::new(0, 0, 1, 1)), None);
    }
}
