//! Parses a text within a work budget.

use tree_sitter::{ParseOptions, Parser, Tree};

use super::work_budget::{LEXER_PIECE_BYTES, WorkBudget};

/// The tree of `text`, or of the ranges that the parser includes. `None`: the budget is spent.
pub(super) fn parse(parser: &mut Parser, text: &[u8], budget: &WorkBudget) -> Option<Tree> {
    let mut progress = |state: &tree_sitter::ParseState| budget.spend_parser(state.has_error());
    let options = ParseOptions::new().progress_callback(&mut progress);
    // A spent budget ends the text, so that a scanner that looks far ahead ends too.
    let mut piece = |at: usize, _| {
        let piece = text.get(at..end_of_piece(text, at)).unwrap_or_default();
        if budget.spend_piece(piece.len()).is_break() { &[][..] } else { piece }
    };
    let tree = parser.parse_with_options(&mut piece, None, Some(options));
    // Discards the state of an interrupted parse.
    parser.reset();
    tree.filter(|_| !budget.is_spent())
}

/// Where the piece that begins at `at` ends: before a character that doesn't fit. The lexer asks again for a character that a piece
/// cuts in two, and if it then gets nothing because the budget is spent, it reads from a null pointer.
fn end_of_piece(text: &[u8], at: usize) -> usize {
    let full = at.saturating_add(LEXER_PIECE_BYTES);
    if full >= text.len() {
        return text.len();
    }
    let is_inside = |end: &usize| text[*end] & 0b1100_0000 == 0b1000_0000;
    (at + 1..=full).rev().take(4).find(|end| !is_inside(end)).unwrap_or(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_between_characters() {
        let text = format!("a{}", "é".repeat(2 * LEXER_PIECE_BYTES));
        let mut at = 0;
        while at < text.len() {
            let end = end_of_piece(text.as_bytes(), at);
            assert!(at < end && end <= at + LEXER_PIECE_BYTES && text.is_char_boundary(end), "{at} {end}");
            at = end;
        }
        assert_eq!(end_of_piece(b"", 0), 0);
        assert_eq!(end_of_piece(&[0x80; 3 * LEXER_PIECE_BYTES], 0), LEXER_PIECE_BYTES);
    }
}
