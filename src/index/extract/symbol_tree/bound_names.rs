//! The symbols around references, and names that are local variables of a function, in languages where a call needs no parentheses.

use std::collections::HashSet;

use super::{PopEnded, TreeBuilder, slice};
use crate::extract::captures::{NameForm, ReferenceCapture};
use codeyard_model::code::SymbolKind;

/// The local names, each with the symbol around it. `around` has one entry for each reference.
pub(super) fn collect<'s>(
    source: &'s str,
    references: &[ReferenceCapture],
    around: &[Option<u32>],
) -> HashSet<(Option<u32>, &'s str)> {
    let bound = references.iter().zip(around).filter(|(reference, _)| reference.form == NameForm::Bound);
    bound.map(|(reference, within)| (*within, slice(source, reference.span))).collect()
}

/// Whether a captured name is no reference: it is bound here, or it is a name alone that is bound in the same symbol.
pub(super) fn is_dropped(
    source: &str,
    reference: &ReferenceCapture,
    within: Option<u32>,
    bound: &HashSet<(Option<u32>, &str)>,
) -> bool {
    match reference.form {
        NameForm::Use => false,
        NameForm::Bare => bound.contains(&(within, slice(source, reference.span))),
        NameForm::Bound => true,
    }
}

impl TreeBuilder<'_> {
    /// The innermost symbol around each reference.
    pub(super) fn symbols_around(&self, references: &[ReferenceCapture]) -> Vec<Option<u32>> {
        let mut open: Vec<(u32, u32)> = Vec::new();
        let mut next = 0;
        let mut around = Vec::with_capacity(references.len());
        for reference in references {
            let start = reference.span.start;
            while let Some(span) = self.spans.get(next).filter(|span| span.start <= start) {
                open.pop_ended(span.start);
                if self.facts.symbols[next].kind != SymbolKind::Use {
                    open.push((span.end, u32::try_from(next).unwrap_or(u32::MAX)));
                }
                next += 1;
            }
            open.pop_ended(start);
            around.push(open.last().map(|(_, at)| *at));
        }
        around
    }
}
