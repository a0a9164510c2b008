//! The letters of a pattern's texts: a byte, and in which case it matches.
//!
//! Trigrams are of folded bytes, long grams of bytes as they are; from these letters both are made. Invariant: a letter stands for
//! every byte that it may match, and a long gram for every number that its bytes may have.

use super::grams::{FOLDED, Gram, LONG, long_gram};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Letter {
    /// In lower case, if it is an ASCII letter.
    pub(super) folded: u8,
    case: Case,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Case {
    /// Lower case, or nothing that has a case.
    Lower,
    Upper,
    Either,
}

impl Letter {
    /// Exactly this byte.
    pub(super) fn exactly(byte: u8) -> Self {
        let case = if byte.is_ascii_uppercase() { Case::Upper } else { Case::Lower };
        Self { folded: FOLDED[usize::from(byte)], case }
    }

    /// This byte in lower and in upper case.
    pub(super) fn in_either_case(self) -> Self {
        if self.folded.is_ascii_lowercase() { Self { case: Case::Either, ..self } } else { self }
    }
}

/// A text that a part of a pattern may be.
pub(super) type Text = Vec<Letter>;

/// A text that matches these bytes only.
pub(super) fn text(bytes: &[u8]) -> Text {
    bytes.iter().map(|byte| Letter::exactly(*byte)).collect()
}

/// Long grams that differ in case only: those that five letters of a pattern may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LongGram {
    first: Gram,
    /// A bit for each letter in upper case; the first letter has the highest of the five.
    upper: u8,
    /// A bit for each letter in either case.
    either: u8,
}

impl LongGram {
    pub(super) fn of(letters: &[Letter; LONG]) -> Self {
        let bits = |case| letters.iter().fold(0, |bits, letter| bits << 1 | u8::from(letter.case == case));
        let first = long_gram(letters.map(|letter| letter.folded));
        Self { first, upper: bits(Case::Upper), either: bits(Case::Either) }
    }

    /// The smallest and the largest number that it may have.
    pub(super) fn range(self) -> (Gram, Gram) {
        (self.first | Gram::from(self.upper), self.first | Gram::from(self.upper | self.either))
    }

    /// Whether it may have this number.
    pub(super) fn may_be(self, number: Gram) -> bool {
        let (smallest, largest) = self.range();
        (smallest..=largest).contains(&number) && number & !Gram::from(self.either) == smallest
    }
}
