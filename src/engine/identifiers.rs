//! Words of a line, for callers whose position names none of them.
//!
//! Not a lexer: a word is a run of what Unicode lets identifiers go on with (letters, their marks, digits, `_`) and `$`, that doesn't
//! begin with a digit, whatever the language makes of it.
//! Invariant: columns are in UTF-16.

use crate::limits::MAX_IDENTIFIERS_TOLD;
use codeyard_lsp::text::Document;
use codeyard_model::position::Position;

/// Letters of a word that are told; longer ones are cut.
const MAX_WORD_CHARS: usize = 60;

/// How a position lies to the words of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// It points at a letter of a word.
    Word,
    /// It points at something else, right behind a word.
    BehindWord,
    /// It points at something else.
    Elsewhere,
}

/// A word and the 0-based column it begins at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word.
    pub text: String,
    /// Its column.
    pub column: u32,
}

/// What `position` points at.
pub(crate) fn spot(document: &Document, position: Position) -> Spot {
    let line = document.line(position.line).unwrap_or_default();
    let mut column = 0;
    let mut before = None;
    for letter in line.chars() {
        if column >= position.character {
            return of(before, Some(letter));
        }
        column += letter.len_utf16() as u32;
        before = Some(letter);
    }
    of(before, None)
}

/// The words of a line, from the left; the first [`MAX_IDENTIFIERS_TOLD`] of them.
pub(crate) fn words(document: &Document, line: u32) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut column = 0;
    let mut inside = false;
    for letter in document.line(line).unwrap_or_default().chars() {
        match (is_part(letter), inside) {
            (true, true) => words.last_mut().map(|word| word.text.push(letter)).unwrap_or_default(),
            (true, false) => words.push(Word { text: letter.into(), column }),
            (false, _) => {}
        }
        inside = is_part(letter);
        column += letter.len_utf16() as u32;
    }
    words
        .retain(|word| word.text.starts_with(|first| unicode_ident::is_xid_start(first) || matches!(first, '_' | '$')));
    words.truncate(MAX_IDENTIFIERS_TOLD);
    for word in &mut words {
        if let Some((end, _)) = word.text.char_indices().nth(MAX_WORD_CHARS) {
            word.text.truncate(end);
            word.text.push('…');
        }
    }
    words
}

fn of(before: Option<char>, at: Option<char>) -> Spot {
    match (before.is_some_and(is_part), at.is_some_and(is_part)) {
        (_, true) => Spot::Word,
        (true, false) => Spot::BehindWord,
        (false, false) => Spot::Elsewhere,
    }
}

fn is_part(letter: char) -> bool {
    // Unicode lets identifiers hold joiners, which mostly join emoji.
    let is_joiner = matches!(letter, '\u{200c}' | '\u{200d}');
    unicode_ident::is_xid_continue(letter) && !is_joiner || letter == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spots() {
        let document = Document::new("𝒳 = ab+_c\n");
        let spots: Vec<Spot> = (0..=11).map(|character| spot(&document, Position { line: 0, character })).collect();
        use Spot::{BehindWord, Elsewhere, Word};
        // A letter beyond the basic plane takes two columns; nobody points between them.
        let expected = [
            Word, Elsewhere, BehindWord, Elsewhere, Elsewhere, Word, Word, BehindWord, Word, Word, BehindWord,
            BehindWord,
        ];
        assert_eq!((spots[0], &spots[2..]), (expected[0], &expected[2..]));
        assert_eq!(spot(&document, Position { line: 1, character: 0 }), Elsewhere);
    }

    #[test]
    fn words_have_columns() {
        let document = Document::new("𝒳 = $ab + 12x(é1, _)\n");
        let told: Vec<(String, u32)> = words(&document, 0).into_iter().map(|word| (word.text, word.column)).collect();
        let expected = [("𝒳", 0), ("$ab", 5), ("é1", 15), ("_", 19)];
        assert_eq!(told, expected.map(|(text, column)| (text.to_owned(), column)));
        let marked = Document::new("cafe\u{301} x");
        assert_eq!(words(&marked, 0)[0], Word { text: "cafe\u{301}".into(), column: 0 });
        assert_eq!(
            [4, 5].map(|character| spot(&marked, Position { line: 0, character })),
            [Spot::Word, Spot::BehindWord]
        );
        assert_eq!(words(&Document::new("a ".repeat(1_000)), 0).len(), MAX_IDENTIFIERS_TOLD);
        assert!(words(&document, 7).is_empty());
        assert_eq!(words(&Document::new("x".repeat(100)), 0)[0].text, "x".repeat(MAX_WORD_CHARS) + "…");
    }
}
