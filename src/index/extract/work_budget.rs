//! The work that one source may cost.
//!
//! Work is counted and not timed, so that the same source is too complex on every machine or on none. Everything that may cost more than
//! linear time takes units from the budget: the parser's operations, the bytes that its lexer reads, the states of the query, and the
//! bytes that predicates compare. Whoever finds the budget spent stops; the source then has no facts and counts as too complex.

use std::cell::Cell;
use std::ops::ControlFlow;

use crate::language::Language;

/// Work that a source of any size may cost, in units of roughly a microsecond. Work is counted and not timed, so that the same source
/// always gives the same symbols. A source above it is too complex: it is searched as text only.
const WORK_PER_SOURCE: u64 = 300_000;
/// Work that each byte of a source adds: several times what ordinary sources cost.
const WORK_PER_BYTE: u64 = 4;

/// Units for 100 operations of the parser, the interval of its progress callback.
const PARSER_UNITS: u64 = 100;
/// The same for Dart, whose parser reads the elements of a list in several ways at a time, with several times the operations that are
/// usual for a text of this size.
const DART_PARSER_UNITS: u64 = 40;
/// Units for 100 operations after the first syntax error. Each further error makes the parser try all tokens, which isn't counted.
const RECOVERY_UNITS: u64 = 150;
/// Bytes that the lexer gets at a time. It asks again for each piece that it reads again, so small pieces show how far a scanner looks
/// ahead and how often it goes back.
pub(super) const LEXER_PIECE_BYTES: usize = 1_024;
/// Bytes of a piece for one unit.
const LEXER_BYTES: usize = 113;
/// Units for 1,000 steps of the query cursor, the interval of its progress callback. A step is a node, or a state at a node.
pub(super) const QUERY_UNITS: u64 = 35;
/// Units for such an interval that ends nearly where the one before it ended. Then there are hundreds of states at each node, and their
/// comparison with each other, which isn't counted, takes most of the time.
pub(super) const CROWDED_QUERY_UNITS: u64 = 130;
/// Bytes between the ends of such intervals. An ordinary source has at most a few of them.
pub(super) const CROWDED_QUERY_BYTES: usize = 16;
/// Bytes that a predicate compares for one unit.
const PREDICATE_BYTES: usize = 256;

/// The units that are left for a source, and those that are spent.
#[derive(Debug)]
pub(super) struct WorkBudget {
    allowed: u64,
    parser_units: u64,
    spent: Cell<u64>,
}

impl WorkBudget {
    /// The budget of a source of this size.
    pub(super) fn of_source(bytes: usize) -> Self {
        let allowed = WORK_PER_SOURCE + WORK_PER_BYTE * bytes as u64;
        Self { allowed, parser_units: PARSER_UNITS, spent: Cell::new(0) }
    }

    /// The same budget with the parser's costs in this language.
    pub(super) fn for_language(mut self, language: Language) -> Self {
        self.parser_units = if language == Language::DART { DART_PARSER_UNITS } else { PARSER_UNITS };
        self
    }

    /// Takes units. `Break`: nothing is left.
    pub(super) fn spend(&self, units: u64) -> ControlFlow<()> {
        self.spent.set(self.spent.get().saturating_add(units));
        if self.is_spent() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Takes the units for 100 operations of the parser.
    pub(super) fn spend_parser(&self, is_in_error: bool) -> ControlFlow<()> {
        self.spend(if is_in_error { RECOVERY_UNITS } else { self.parser_units })
    }

    /// Takes everything that is left.
    pub(super) fn exhaust(&self) {
        self.spent.set(self.spent.get().max(self.allowed));
    }

    /// Takes the units for a piece of text that the lexer reads.
    pub(super) fn spend_piece(&self, bytes: usize) -> ControlFlow<()> {
        self.spend(1 + (bytes / LEXER_BYTES) as u64)
    }

    /// Takes the units for the text of a node that a predicate compares.
    pub(super) fn spend_predicate(&self, bytes: usize) -> ControlFlow<()> {
        self.spend((bytes / PREDICATE_BYTES) as u64)
    }

    /// Whether nothing is left.
    pub(super) fn is_spent(&self) -> bool {
        self.spent.get() >= self.allowed
    }

    /// The units that were spent, and those that were allowed.
    #[cfg(test)]
    pub(super) fn figures(&self) -> (u64, u64) {
        (self.spent.get(), self.allowed)
    }
}
