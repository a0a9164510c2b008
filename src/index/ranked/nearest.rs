//! Finds the terms of the symbol index that are nearly a word: at most one or two letters are missing, added, replaced
//! or swapped.
//!
//! A Levenshtein automaton walks the dictionary of each segment, so only terms that begin like the word are visited.
//! The result is sorted by distance, then by the term, and doesn't depend on the segments.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder};
use tantivy::Searcher;
use tantivy::schema::Field;
use tantivy_fst::Automaton;

use super::symbol_index::SymbolIndexError;

/// Terms that are nearly a name or a word and are looked up instead of it.
const MAX_NEAREST_TERMS: usize = 32;

/// A shorter word has too many neighbours.
const MIN_CHARS: usize = 4;
/// A longer word isn't looked up: its automaton would be large.
const MAX_CHARS: usize = 64;
/// From this length on, two differences are accepted.
const MIN_CHARS_OF_TWO: usize = 8;
/// Separates a word from the number of words of its name in the field of name words.
const WORD_END: u8 = b':';

/// A term and its number of differences from the word, 1 or 2.
pub(super) type NearTerm = (u8, String);

/// Whether a symbol of the manifest has a term of a field.
pub(super) type TermCheck<'c> = &'c dyn Fn(Field, &str) -> bool;

/// The terms of `field` that differ from `word` by one letter, or by two if it is long and the first letter is right,
/// among those that `exists` accepts. The field's terms are whole words, or words of names if `ends_with_count`. The word
/// itself isn't among them.
pub(super) fn nearest_terms(
    searcher: &Searcher,
    field: Field,
    word: &str,
    ends_with_count: bool,
    exists: TermCheck<'_>,
) -> Result<Vec<NearTerm>, SymbolIndexError> {
    static BUILDERS: LazyLock<[LevenshteinAutomatonBuilder; 2]> =
        LazyLock::new(|| [1, 2].map(|distance| LevenshteinAutomatonBuilder::new(distance, true)));
    let chars = word.chars().count();
    if !(MIN_CHARS..=MAX_CHARS).contains(&chars) {
        return Ok(Vec::new());
    }
    let mut found = BTreeSet::new();
    let attempts = if chars < MIN_CHARS_OF_TWO { 1 } else { 2 };
    for (at, builder) in BUILDERS.iter().take(attempts).enumerate() {
        let first = word.bytes().next().filter(|_| at == 1);
        let walk = NearWalk { automaton: builder.build_dfa(word), first, ends_with_count };
        for segment in searcher.segment_readers() {
            let index = segment.inverted_index(field)?;
            let mut terms = index.terms().search(&walk).into_stream()?;
            while terms.advance() {
                let Ok(term) = std::str::from_utf8(terms.key()) else { continue };
                let plain = if ends_with_count { term.rsplit_once(':').map_or(term, |(plain, _)| plain) } else { term };
                if let Distance::Exact(distance @ 1..) = walk.automaton.eval(plain) {
                    found.insert((distance, term.to_owned()));
                }
            }
        }
    }
    Ok(found.into_iter().filter(|(_, term)| exists(field, term)).take(MAX_NEAREST_TERMS).collect())
}

/// The automaton over the bytes of a term.
struct NearWalk {
    automaton: DFA,
    /// The first byte that a term must have.
    first: Option<u8>,
    /// Whether a term is a word with the count of words behind it.
    ends_with_count: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkState {
    /// No byte was read.
    Start,
    Word(u32),
    /// In the count behind an accepted word.
    Count,
    /// No term with these bytes is near.
    Dead,
}

impl Automaton for NearWalk {
    type State = WalkState;

    fn start(&self) -> WalkState {
        WalkState::Start
    }

    fn is_match(&self, state: &WalkState) -> bool {
        match state {
            WalkState::Word(state) => !self.ends_with_count && self.is_near(*state),
            WalkState::Count => true,
            WalkState::Start | WalkState::Dead => false,
        }
    }

    fn can_match(&self, state: &WalkState) -> bool {
        match state {
            WalkState::Word(state) => *state != levenshtein_automata::SINK_STATE,
            WalkState::Start | WalkState::Count => true,
            WalkState::Dead => false,
        }
    }

    fn accept(&self, state: &WalkState, byte: u8) -> WalkState {
        match state {
            WalkState::Start if self.first.is_some_and(|first| first != byte) => WalkState::Dead,
            WalkState::Start => WalkState::Word(self.automaton.transition(self.automaton.initial_state(), byte)),
            WalkState::Word(state) if byte == WORD_END && self.ends_with_count => {
                if self.is_near(*state) {
                    WalkState::Count
                } else {
                    WalkState::Dead
                }
            }
            WalkState::Word(state) => WalkState::Word(self.automaton.transition(*state, byte)),
            WalkState::Count => WalkState::Count,
            WalkState::Dead => WalkState::Dead,
        }
    }
}

impl NearWalk {
    fn is_near(&self, state: u32) -> bool {
        matches!(self.automaton.distance(state), Distance::Exact(_))
    }
}
