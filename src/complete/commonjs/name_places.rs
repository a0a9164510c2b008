//! The places of names in a text, as far as characters tell.

use crate::identifier::is_part;
use codeyard_lsp::text::Document;
use codeyard_model::position::{Position, Range};

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

/// The word at a position.
pub(super) fn word_at(document: &Document, position: Position) -> Option<Range> {
    let text = document.line(position.line)?;
    let mut column = 0u32;
    let mut start = None;
    for c in text.chars() {
        match (is_part(c), start) {
            (true, None) => start = Some(column),
            (false, Some(_)) if column >= position.character => break,
            (false, _) => start = None,
            (true, Some(_)) => {}
        }
        if start.is_none() && column >= position.character {
            return None;
        }
        column += c.len_utf16() as u32;
    }
    start
        .filter(|start| (*start..=column).contains(&position.character))
        .map(|start| Range::new(position.line, start, position.line, column))
}

/// The text of a range inside of one line.
pub(super) fn text_at(document: &Document, range: Range) -> Option<String> {
    let units: Vec<u16> = document.line(range.start.line)?.encode_utf16().collect();
    let is_one_line = range.start.line == range.end.line;
    let text = units.get(range.start.character as usize..range.end.character as usize).filter(|_| is_one_line)?;
    Some(String::from_utf16_lossy(text)).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

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
