//! Which characters are part of an identifier, in any language, and the identifier at a place.

use codeyard_lsp::text::Document;
use codeyard_model::position::{Position, Range};

/// Whether a character may be part of a word.
pub fn is_part(c: char) -> bool {
    // Unicode allows joiners inside identifiers, but most of them join emoji.
    let is_joiner = matches!(c, '\u{200c}' | '\u{200d}');
    unicode_ident::is_xid_continue(c) && !is_joiner || c == '$'
}

/// The identifier at a position.
pub fn name_at(document: &Document, position: Position) -> Option<String> {
    Some(document.text()[bytes_at(document, position)?].to_owned())
}

/// The range of the identifier at a position.
pub(crate) fn word_at(document: &Document, position: Position) -> Option<Range> {
    let bytes = bytes_at(document, position)?;
    Some(Range { start: document.position_at(bytes.start), end: document.position_at(bytes.end) })
}

/// The bytes of the identifier at a position. Looks at its characters only: a line may be a whole file.
fn bytes_at(document: &Document, position: Position) -> Option<std::ops::Range<usize>> {
    document.line(position.line).filter(|_| position.character <= document.utf16_len(position.line))?;
    let (before, after) = document.text().split_at(document.offset(position));
    let start = before.trim_end_matches(is_part).len();
    let end = before.len() + after.len() - after.trim_start_matches(is_part).len();
    (start < end).then_some(start..end)
}

/// The text of a range inside of one line.
pub(crate) fn text_at(document: &Document, range: Range) -> Option<String> {
    let units: Vec<u16> = document.line(range.start.line)?.encode_utf16().collect();
    let is_one_line = range.start.line == range.end.line;
    let text = units.get(range.start.character as usize..range.end.character as usize).filter(|_| is_one_line)?;
    Some(String::from_utf16_lossy(text)).filter(|text| !text.is_empty())
}
