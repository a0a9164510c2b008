//! Which trigrams a content must have so that a pattern can match in it.
//!
//! Invariant: a content that doesn't satisfy the plan has no match. The other way round nothing is promised.

use super::analysis::{self, Knowledge};
use super::grams::{Gram, gram};
use regex_syntax::hir::Hir;

/// See the module. Trigrams and pairs are of folded bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plan {
    /// Any content may match.
    All,
    /// None does.
    Nothing,
    /// Those with this trigram.
    Gram(Gram),
    /// Those in which these two bytes stand side by side.
    Pair([u8; 2]),
    /// Those that satisfy each; at least two, ordered, no two the same.
    And(Vec<Plan>),
    /// Those that satisfy one; at least two, ordered, no two the same.
    Or(Vec<Plan>),
}

/// Trigrams that are asked of one literal; a longer one is known well enough by so many.
const LITERAL_GRAMS: usize = 64;
/// Parts of a plan; what has more is taken for `All`.
const MAX_PARTS: usize = 4_096;
/// Pairs that are tried where no trigram is known.
const MAX_PAIRS: usize = 8;

impl Plan {
    /// The plan of a pattern.
    pub(super) fn of(hir: &Hir) -> Self {
        let known = analysis::analyse(hir);
        let plan = known.required();
        if plan == Self::All { Self::by_pairs(&known) } else { plan }
    }

    /// All of them at once.
    pub(super) fn and(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::All => {}
                Self::Nothing => return Self::Nothing,
                Self::And(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        match flat.len() {
            0 => Self::All,
            1 => flat.swap_remove(0),
            _ => Self::bounded(Self::And(flat)),
        }
    }

    /// At least one of them.
    pub(super) fn or(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::All => return Self::All,
                Self::Nothing => {}
                Self::Or(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        match flat.len() {
            0 => Self::Nothing,
            1 => flat.swap_remove(0),
            _ => Self::bounded(Self::Or(flat)),
        }
    }

    /// A text that holds one of these holds...
    pub(super) fn one_of(literals: &[Vec<u8>]) -> Self {
        if literals.iter().any(|literal| literal.len() < 3) {
            return Self::All;
        }
        Self::or(literals.iter().map(|literal| Self::literal(literal)))
    }

    fn literal(literal: &[u8]) -> Self {
        let mut grams: Vec<Gram> = literal.windows(3).filter_map(|at| Some(gram(at.try_into().ok()?))).collect();
        grams.sort_unstable();
        grams.dedup();
        let step = grams.len().div_ceil(LITERAL_GRAMS).max(1);
        Self::and(grams.into_iter().step_by(step).map(Self::Gram))
    }

    fn by_pairs(known: &Knowledge) -> Self {
        let all = [known.starts(), known.ends()].map(|literals| {
            let is_short = literals.len() > MAX_PAIRS || literals.iter().any(|literal| literal.len() < 2);
            let pairs = literals.iter().filter_map(|literal| Some(Self::Pair(*literal.first_chunk()?)));
            if is_short { Self::All } else { Self::or(pairs) }
        });
        all.into_iter().find(|plan| *plan != Self::All).unwrap_or(Self::All)
    }

    fn bounded(self) -> Self {
        if self.parts() > MAX_PARTS { Self::All } else { self }
    }

    fn parts(&self) -> usize {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::parts).sum(),
            _ => 1,
        }
    }

    /// Whether a text with exactly these trigrams satisfies the plan; what the index answers, for one content.
    #[cfg(test)]
    pub(super) fn is_satisfied(&self, grams: &std::collections::BTreeSet<Gram>) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Gram(gram) => grams.contains(gram),
            Self::Pair(pair) => grams.iter().any(|gram| {
                let [_, one, two, three] = gram.to_be_bytes();
                [one, two] == *pair || [two, three] == *pair
            }),
            Self::And(parts) => parts.iter().all(|part| part.is_satisfied(grams)),
            Self::Or(parts) => parts.iter().any(|part| part.is_satisfied(grams)),
        }
    }
}
