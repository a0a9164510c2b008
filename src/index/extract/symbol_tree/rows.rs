//! The rows of symbols whose nodes end with blank lines.

use super::{TreeBuilder, slice};
use crate::extract::captures::SymbolCapture;
use crate::language::Language;

impl TreeBuilder<'_> {
    /// The last row of a symbol. In a makefile, the blank lines that follow belong to its node.
    pub(super) fn last_row(&mut self, found: &SymbolCapture) -> u32 {
        if self.language != Language::MAKE {
            return found.rows.1;
        }
        // All targets of a rule end at one place.
        if let Some((end, row)) = self.last_row
            && end == found.span.end
        {
            return row;
        }
        let text = slice(self.source, found.span);
        let blank = &text[text.trim_end().len()..];
        let breaks = blank.bytes().filter(|byte| *byte == b'\n').count();
        // The row after a line break at the end doesn't count already.
        let breaks = breaks.saturating_sub(usize::from(blank.ends_with('\n')));
        let row = found.rows.1.saturating_sub(u32::try_from(breaks).unwrap_or(0));
        self.last_row = Some((found.span.end, row));
        row
    }
}
