//! Which characters are part of an identifier, in any language, and the identifier at a place.

use codeyard_lsp::text::Document;
use codeyard_model::position::{Position, Range};

/// Whether a character may be part of a word.
pub fn is_part(c: char) -> bool {
    // Unicode allows joiners inside identifiers, but most of them join emoji.
    let is_joiner = matches!(c, '\u{200c}' | '\u{200d}');
    unicode_ident::is_xid_continue(c) && !is_joiner || c == '$'
}

/// The identifier at a position. Looks at its characters only: a line may be a whole file.
pub fn name_at(document: &Document, position: Position) -> Option<String> {
    document.check(position)?;
    let (before, after) = document.text().split_at(document.offset(position));
    let begins = before.trim_end_matches(is_part).len();
    let ends = after.len() - after.trim_start_matches(is_part).len();
    let name = &document.text()[begins..before.len() + ends];
    (!name.is_empty()).then(|| name.to_owned())
}

/// The word at a position.
pub(crate) fn word_at(document: &Document, position: Position) -> Option<Range> {
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
pub(crate) fn text_at(document: &Document, range: Range) -> Option<String> {
    let units: Vec<u16> = document.line(range.start.line)?.encode_utf16().collect();
    let is_one_line = range.start.line == range.end.line;
    let text = units.get(range.start.character as usize..range.end.character as usize).filter(|_| is_one_line)?;
    Some(String::from_utf16_lossy(text)).filter(|text| !text.is_empty())
}
