//! Gram plans: which grams a content must contain so that a pattern can match in it.
//!
//! Invariant: a line or a content that doesn't satisfy the plan has no match. One that satisfies it may have none either.

use super::analysis::{self, PatternInfo};
use super::grams::{Gram, LONG_GRAM_BYTES, trigram};
use super::pattern_bytes::{LongGram, PatternByte, PatternText};
use regex_syntax::hir::Hir;

/// A Boolean expression over grams. Trigrams and pairs ignore ASCII case, long grams don't.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GramPlan {
    /// Every content may match.
    All,
    /// No content matches.
    Nothing,
    /// Contents with this trigram.
    Trigram(Gram),
    /// Contents with one of these long grams.
    Long(LongGram),
    /// Contents with these two bytes side by side.
    Pair([u8; 2]),
    /// Contents that satisfy all of at least two plans, which are sorted and distinct.
    And(Vec<GramPlan>),
    /// Contents that satisfy one of at least two plans, which are sorted and distinct.
    Or(Vec<GramPlan>),
}

/// The most grams of each kind for one literal. More of them hardly exclude more contents.
const MAX_LITERAL_GRAMS: usize = 64;
/// A literal with this many long grams needs no trigrams.
const ENOUGH_LONG_GRAMS: usize = 3;
/// The most leaves of a plan. A larger conjunction loses some of them, and a larger disjunction becomes [`GramPlan::All`].
const MAX_LEAVES: usize = 4_096;
/// The most pairs in a plan without grams.
const MAX_PAIRS: usize = 8;

impl GramPlan {
    /// The plan of a pattern.
    pub(super) fn of(hir: &Hir) -> Self {
        let known = analysis::analyse(hir);
        let plan = known.required();
        if plan == Self::All { Self::by_pairs(&known) } else { plan }
    }

    /// The conjunction of plans.
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
            _ => Self::limited(flat),
        }
    }

    /// The conjunction of as many of these as have few enough leaves together.
    fn limited(mut parts: Vec<Self>) -> Self {
        let mut room = MAX_LEAVES;
        parts.retain(|part| {
            let left = room.checked_sub(part.leaves());
            room = left.unwrap_or(room);
            left.is_some()
        });
        match parts.len() {
            0 => Self::All,
            1 => parts.swap_remove(0),
            _ => Self::And(parts),
        }
    }

    /// The disjunction of plans.
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
            _ if flat.iter().map(Self::leaves).sum::<usize>() > MAX_LEAVES => Self::All,
            _ => Self::Or(flat),
        }
    }

    /// The plan of a content that contains one of these texts.
    pub(super) fn one_of(literals: &[PatternText]) -> Self {
        if literals.iter().any(|literal| literal.len() < 3) {
            return Self::All;
        }
        Self::or(literals.iter().map(|literal| Self::literal(literal)))
    }

    fn literal(literal: &[PatternByte]) -> Self {
        let long = literal.windows(LONG_GRAM_BYTES).filter_map(|at| Some(LongGram::of(at.first_chunk()?)));
        let mut parts = sampled(long.map(Self::Long));
        if parts.len() < ENOUGH_LONG_GRAMS {
            let short = literal.windows(3).filter_map(|at| Some(trigram(folded(at.first_chunk()?))));
            parts.extend(sampled(short.map(Self::Trigram)));
        }
        Self::and(parts)
    }

    /// The pairs that a match begins or ends with, where no gram is known.
    fn by_pairs(known: &PatternInfo) -> Self {
        let all = [known.prefixes(), known.suffixes()].map(|literals| {
            let is_short = literals.len() > MAX_PAIRS || literals.iter().any(|literal| literal.len() < 2);
            let pairs = literals.iter().filter_map(|literal| Some(Self::Pair(folded(literal.first_chunk()?))));
            if is_short { Self::All } else { Self::or(pairs) }
        });
        all.into_iter().find(|plan| *plan != Self::All).unwrap_or(Self::All)
    }

    /// The number of grams and pairs.
    fn leaves(&self) -> usize {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().map(Self::leaves).sum(),
            _ => 1,
        }
    }

    /// Whether a content with exactly these grams satisfies the plan.
    #[cfg(test)]
    pub(super) fn is_satisfied(&self, grams: &std::collections::BTreeSet<Gram>) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Trigram(gram) => grams.contains(gram),
            Self::Long(long) => grams.iter().any(|gram| long.may_be(*gram)),
            Self::Pair(pair) => grams.range(..super::grams::FIRST_LONG_GRAM).any(|gram| {
                let [_, one, two, three] = gram.to_be_bytes();
                [one, two] == *pair || [two, three] == *pair
            }),
            Self::And(parts) => parts.iter().all(|part| part.is_satisfied(grams)),
            Self::Or(parts) => parts.iter().any(|part| part.is_satisfied(grams)),
        }
    }
}

/// At most [`MAX_LITERAL_GRAMS`] distinct grams, taken evenly.
fn sampled(grams: impl Iterator<Item = GramPlan>) -> Vec<GramPlan> {
    let mut grams: Vec<GramPlan> = grams.collect();
    grams.sort_unstable();
    grams.dedup();
    let step = grams.len().div_ceil(MAX_LITERAL_GRAMS).max(1);
    grams.into_iter().step_by(step).collect()
}

fn folded<const N: usize>(bytes: &[PatternByte; N]) -> [u8; N] {
    bytes.map(|byte| byte.folded)
}
