//! The words of a line, for errors about a position that points at none of them.
//!
//! It isn't a lexer. A word is a run of characters that Unicode allows inside identifiers (letters, their marks, digits, `_`) and of `$`;
//! it doesn't begin with a digit. The rules of the language don't matter. Invariant: columns are in UTF-16.

use crate::limits::MAX_LISTED_IDENTIFIERS;
use codeyard_complete::identifier::is_part;
use codeyard_lsp::text::Document;
use codeyard_model::position::Position;

/// Most characters of a listed word; longer words are cut.
const MAX_WORD_CHARS: usize = 60;

/// What a position points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CursorTarget {
    /// A character of a word.
    Word,
    /// Something else, directly behind a word.
    BehindWord,
    /// Something else.
    Elsewhere,
}

/// A word and its first column, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word.
    pub text: String,
    /// Its first column.
    pub column: u32,
}

/// What `position` points at.
pub(crate) fn cursor_target(document: &Document, position: Position) -> CursorTarget {
    let line = document.line(position.line).unwrap_or_default();
    let mut column = 0;
    let mut before = None;
    for c in line.chars() {
        if column >= position.character {
            return target_between(before, Some(c));
        }
        column += c.len_utf16() as u32;
        before = Some(c);
    }
    target_between(before, None)
}

/// The first [`MAX_LISTED_IDENTIFIERS`] words of a line.
pub(crate) fn words(document: &Document, line: u32) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut column = 0;
    let mut inside = false;
    for c in document.line(line).unwrap_or_default().chars() {
        match (is_part(c), inside) {
            (true, true) => words.last_mut().map(|word| word.text.push(c)).unwrap_or_default(),
            (true, false) => words.push(Word { text: c.into(), column }),
            (false, _) => {}
        }
        inside = is_part(c);
        column += c.len_utf16() as u32;
    }
    words
        .retain(|word| word.text.starts_with(|first| unicode_ident::is_xid_start(first) || matches!(first, '_' | '$')));
    words.truncate(MAX_LISTED_IDENTIFIERS);
    for word in &mut words {
        if let Some((end, _)) = word.text.char_indices().nth(MAX_WORD_CHARS) {
            word.text.truncate(end);
            word.text.push('…');
        }
    }
    words
}

/// What a position between these two characters points at.
fn target_between(before: Option<char>, at: Option<char>) -> CursorTarget {
    match (before.is_some_and(is_part), at.is_some_and(is_part)) {
        (_, true) => CursorTarget::Word,
        (true, false) => CursorTarget::BehindWord,
        (false, false) => CursorTarget::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let document = Document::new("𝒳 = ab+_c\n");
        let targets: Vec<CursorTarget> =
            (0..=11).map(|character| cursor_target(&document, Position { line: 0, character })).collect();
        use CursorTarget::{BehindWord, Elsewhere, Word};
        // A character outside the basic plane takes two columns; no position points between them.
        let expected = [
            Word, Elsewhere, BehindWord, Elsewhere, Elsewhere, Word, Word, BehindWord, Word, Word, BehindWord,
            BehindWord,
        ];
        assert_eq!((targets[0], &targets[2..]), (expected[0], &expected[2..]));
        assert_eq!(cursor_target(&document, Position { line: 1, character: 0 }), Elsewhere);
    }

    #[test]
    fn words_have_columns() {
        let document = Document::new("𝒳 = $ab + 12x(é1, _)\n");
        let listed: Vec<(String, u32)> = words(&document, 0).into_iter().map(|word| (word.text, word.column)).collect();
        let expected = [("𝒳", 0), ("$ab", 5), ("é1", 15), ("_", 19)];
        assert_eq!(listed, expected.map(|(text, column)| (text.to_owned(), column)));
        let marked = Document::new("cafe\u{301} x");
        assert_eq!(words(&marked, 0)[0], Word { text: "cafe\u{301}".into(), column: 0 });
        assert_eq!(
            [4, 5].map(|character| cursor_target(&marked, Position { line: 0, character })),
            [CursorTarget::Word, CursorTarget::BehindWord]
        );
        assert_eq!(words(&Document::new("a ".repeat(1_000)), 0).len(), MAX_LISTED_IDENTIFIERS);
        assert!(words(&document, 7).is_empty());
        assert_eq!(words(&Document::new("x".repeat(100)), 0)[0].text, "x".repeat(MAX_WORD_CHARS) + "…");
    }
}
