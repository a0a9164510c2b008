//! Bytes of a pattern's texts with the cases that they match, and the long grams made of them.
//!
//! Trigrams ignore case and long grams don't; both are made from these bytes. Invariant: a [`PatternByte`] stands for every byte that
//! it may match, and a [`LongGram`] for every number that its bytes may have.

use super::grams::{FOLDED, Gram, LONG_GRAM_BYTES, long_gram};

/// A byte of a pattern's text, and the cases that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PatternByte {
    /// The byte, in lower case if it is an ASCII letter.
    pub(super) folded: u8,
    case: ByteCase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ByteCase {
    /// Lower case, or a byte without case.
    Lower,
    Upper,
    Either,
}

impl PatternByte {
    /// Exact this byte.
    pub(super) fn exactly(byte: u8) -> Self {
        let case = if byte.is_ascii_uppercase() { ByteCase::Upper } else { ByteCase::Lower };
        Self { folded: FOLDED[usize::from(byte)], case }
    }

    /// The same byte, matching in lower and in upper case.
    pub(super) fn in_either_case(self) -> Self {
        if self.folded.is_ascii_lowercase() { Self { case: ByteCase::Either, ..self } } else { self }
    }
}

/// A text that a part of a pattern may match.
pub(super) type PatternText = Vec<PatternByte>;

/// The text that matches exactly these bytes.
pub(super) fn exact_text(bytes: &[u8]) -> PatternText {
    bytes.iter().map(|byte| PatternByte::exactly(*byte)).collect()
}

/// The long grams that five bytes of a pattern may match. They differ in case only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LongGram {
    first: Gram,
    /// A bit for each byte that must be in upper case; the highest of the five bits belongs to the first byte.
    upper: u8,
    /// A bit for each byte that may be in either case.
    either: u8,
}

impl LongGram {
    pub(super) fn of(bytes: &[PatternByte; LONG_GRAM_BYTES]) -> Self {
        let bits = |case| bytes.iter().fold(0, |bits, byte| bits << 1 | u8::from(byte.case == case));
        let first = long_gram(bytes.map(|byte| byte.folded));
        Self { first, upper: bits(ByteCase::Upper), either: bits(ByteCase::Either) }
    }

    /// The smallest and the largest number of these long grams.
    pub(super) fn range(self) -> (Gram, Gram) {
        (self.first | Gram::from(self.upper), self.first | Gram::from(self.upper | self.either))
    }

    /// Whether one of these long grams has this number.
    pub(super) fn may_be(self, number: Gram) -> bool {
        let (smallest, largest) = self.range();
        (smallest..=largest).contains(&number) && number & !Gram::from(self.either) == smallest
    }
}
