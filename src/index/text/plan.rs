//! Which grams a content must have so that a pattern can match in it.
//!
//! Invariants: lines that don't satisfy the plan have no match, and neither have contents that don't. The other way round nothing is
//! promised.

use super::analysis::{self, Knowledge};
use super::grams::{Gram, LONG, gram};
use super::letters::{Letter, LongGram, Text};
use regex_syntax::hir::Hir;

/// See the module. Trigrams and pairs are of folded bytes, long grams aren't.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Plan {
    /// Any content may match.
    All,
    /// None does.
    Nothing,
    /// Those with this trigram.
    Gram(Gram),
    /// Those with one of these long grams.
    Long(LongGram),
    /// Those in which these two bytes stand side by side.
    Pair([u8; 2]),
    /// Those that satisfy each; at least two, ordered, no two the same.
    And(Vec<Plan>),
    /// Those that satisfy one; at least two, ordered, no two the same.
    Or(Vec<Plan>),
}

/// Grams of each kind that are asked of one literal; a longer one is known well enough by so many.
const LITERAL_GRAMS: usize = 64;
/// Long grams of a literal with which its trigrams don't help any more.
const ENOUGH_LONG: usize = 3;
/// Parts of a plan; of one with more only some are asked, or none.
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
            _ => Self::fewer(flat),
        }
    }

    /// As many of these as are few enough: whatever satisfies all satisfies them.
    fn fewer(mut parts: Vec<Self>) -> Self {
        let mut room = MAX_PARTS;
        parts.retain(|part| {
            let left = room.checked_sub(part.parts());
            room = left.unwrap_or(room);
            left.is_some()
        });
        match parts.len() {
            0 => Self::All,
            1 => parts.swap_remove(0),
            _ => Self::And(parts),
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
            _ if flat.iter().map(Self::parts).sum::<usize>() > MAX_PARTS => Self::All,
            _ => Self::Or(flat),
        }
    }

    /// A text that holds one of these holds...
    pub(super) fn one_of(literals: &[Text]) -> Self {
        if literals.iter().any(|literal| literal.len() < 3) {
            return Self::All;
        }
        Self::or(literals.iter().map(|literal| Self::literal(literal)))
    }

    fn literal(literal: &[Letter]) -> Self {
        let long = literal.windows(LONG).filter_map(|at| Some(LongGram::of(at.first_chunk()?)));
        let mut parts = some(long.map(Self::Long));
        if parts.len() < ENOUGH_LONG {
            let short = literal.windows(3).filter_map(|at| Some(gram(folded(at.first_chunk()?))));
            parts.extend(some(short.map(Self::Gram)));
        }
        Self::and(parts)
    }

    fn by_pairs(known: &Knowledge) -> Self {
        let all = [known.starts(), known.ends()].map(|literals| {
            let is_short = literals.len() > MAX_PAIRS || literals.iter().any(|literal| literal.len() < 2);
            let pairs = literals.iter().filter_map(|literal| Some(Self::Pair(folded(literal.first_chunk()?))));
            if is_short { Self::All } else { Self::or(pairs) }
        });
        all.into_iter().find(|plan| *plan != Self::All).unwrap_or(Self::All)
    }

    fn parts(&self) -> usize {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::parts).sum(),
            _ => 1,
        }
    }

    /// Whether a text with exactly these grams satisfies the plan; what the index answers, for one content.
    #[cfg(test)]
    pub(super) fn is_satisfied(&self, grams: &std::collections::BTreeSet<Gram>) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Gram(gram) => grams.contains(gram),
            Self::Long(long) => grams.iter().any(|gram| long.may_be(*gram)),
            Self::Pair(pair) => grams.range(..super::grams::FIRST_LONG).any(|gram| {
                let [_, one, two, three] = gram.to_be_bytes();
                [one, two] == *pair || [two, three] == *pair
            }),
            Self::And(parts) => parts.iter().all(|part| part.is_satisfied(grams)),
            Self::Or(parts) => parts.iter().any(|part| part.is_satisfied(grams)),
        }
    }
}

/// So many of them that all parts of a literal are asked for, each once.
fn some(grams: impl Iterator<Item = Plan>) -> Vec<Plan> {
    let mut grams: Vec<Plan> = grams.collect();
    grams.sort_unstable();
    grams.dedup();
    let step = grams.len().div_ceil(LITERAL_GRAMS).max(1);
    grams.into_iter().step_by(step).collect()
}

fn folded<const N: usize>(letters: &[Letter; N]) -> [u8; N] {
    letters.map(|letter| letter.folded)
}
