//! Parses a text within a work budget.

use tree_sitter::{ParseOptions, Parser, Tree};

use super::work_budget::{LEXER_PIECE_BYTES, PARSER_UNITS, RECOVERY_UNITS, WorkBudget};

/// The tree of `text`, or of the ranges that the parser includes. `None`: the budget is spent.
pub(super) fn parse(parser: &mut Parser, text: &[u8], budget: &WorkBudget) -> Option<Tree> {
    let mut progress =
        |state: &tree_sitter::ParseState| budget.spend(if state.has_error() { RECOVERY_UNITS } else { PARSER_UNITS });
    let options = ParseOptions::new().progress_callback(&mut progress);
    // A spent budget ends the text, so that a scanner that looks far ahead ends too.
    let mut piece = |at: usize, _| {
        let piece = text.get(at..text.len().min(at + LEXER_PIECE_BYTES)).unwrap_or_default();
        if budget.spend_piece(piece.len()).is_break() { &[][..] } else { piece }
    };
    let tree = parser.parse_with_options(&mut piece, None, Some(options));
    // Discards the state of an interrupted parse.
    parser.reset();
    tree.filter(|_| !budget.is_spent())
}
