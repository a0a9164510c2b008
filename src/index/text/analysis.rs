//! What is known of every match of a pattern: the texts it is, or begins and ends with, and the trigrams it has.
//!
//! The pattern's tree is walked once from its leaves up, after Russ Cox's "Regular Expression Matching with a Trigram Index". Bytes
//! are folded as the index folds them. Invariant: each value holds for every match; where sets grow too large, less is known, never
//! something wrong.

use super::grams::FOLDED;
use super::plan::Plan;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// Texts that a part may be; with more of them only their ends are kept.
const MAX_TEXTS: usize = 64;
/// Their bytes together, unless there is only one.
const MAX_TEXT_BYTES: usize = 8_192;
/// Texts that a part may begin or end with.
const MAX_ENDS: usize = 32;
/// Bytes of them that are kept: with two on each side of a seam every trigram across it is known.
const END_BYTES: usize = 2;
/// Letters of a class that are told apart.
const MAX_CLASS: u32 = 128;
/// Times that a repeated part is written out.
const MAX_WRITTEN_OUT: u32 = 8;

/// A set of texts, ordered, no two the same.
type Texts = Vec<Vec<u8>>;

/// What is known of a part of the pattern.
#[derive(Debug, Clone)]
pub(super) enum Knowledge {
    /// A match is one of these texts.
    Exactly(Texts),
    /// A match begins with one of `starts`, ends with one of `ends`, and what holds it satisfies `plan`.
    Partly {
        /// See there.
        starts: Texts,
        /// See there.
        ends: Texts,
        /// See there.
        plan: Plan,
    },
}

/// What is known of `hir`.
pub(super) fn analyse(hir: &Hir) -> Knowledge {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Knowledge::empty(),
        HirKind::Literal(literal) => Knowledge::Exactly(vec![fold(&literal.0)]),
        HirKind::Class(class) => of_class(class),
        HirKind::Capture(capture) => analyse(&capture.sub),
        HirKind::Repetition(repetition) => of_repetition(repetition),
        HirKind::Concat(parts) => parts.iter().map(analyse).fold(Knowledge::empty(), Knowledge::then),
        HirKind::Alternation(parts) => {
            let none = Knowledge::Exactly(Vec::new());
            parts.iter().map(analyse).fold(none, Knowledge::or)
        }
    }
}

fn fold(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| FOLDED[usize::from(*byte)]).collect()
}

fn of_class(class: &Class) -> Knowledge {
    let mut texts = Vec::new();
    // A match never holds a line break, whatever the class says.
    match class {
        Class::Unicode(class) => {
            let letters = class.ranges().iter().map(|range| u32::from(range.end()) - u32::from(range.start()) + 1);
            if letters.fold(0, u32::saturating_add) > MAX_CLASS {
                return Knowledge::anything();
            }
            let letters = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            texts.extend(letters.filter(|c| *c != '\n').map(|c| fold(c.encode_utf8(&mut [0; 4]).as_bytes())));
        }
        Class::Bytes(class) => {
            let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            texts.extend(bytes.filter(|byte| *byte != b'\n').map(|byte| fold(&[byte])));
        }
    }
    Knowledge::Exactly(set(texts)).bounded()
}

fn of_repetition(repetition: &Repetition) -> Knowledge {
    if repetition.max == Some(0) {
        return Knowledge::empty();
    }
    let once = analyse(&repetition.sub);
    if repetition.min == 0 {
        let optional = repetition.max == Some(1);
        return if optional { once.or(Knowledge::empty()) } else { Knowledge::anything() };
    }
    let times = repetition.min.min(MAX_WRITTEN_OUT);
    let mut known = once.clone();
    for _ in 1..times {
        known = known.then(once.clone());
    }
    if repetition.max == Some(times) {
        return known;
    }
    // It begins and ends as so many of them do, and has what they have.
    known.partly()
}

impl Knowledge {
    fn empty() -> Self {
        Self::Exactly(vec![Vec::new()])
    }

    fn anything() -> Self {
        Self::Partly { starts: vec![Vec::new()], ends: vec![Vec::new()], plan: Plan::All }
    }

    /// What a match begins with; each at its full length as far as it is known.
    pub(super) fn starts(&self) -> &[Vec<u8>] {
        match self {
            Self::Exactly(texts) => texts,
            Self::Partly { starts, .. } => starts,
        }
    }

    /// What a match ends with.
    pub(super) fn ends(&self) -> &[Vec<u8>] {
        match self {
            Self::Exactly(texts) => texts,
            Self::Partly { ends, .. } => ends,
        }
    }

    /// What a content must have.
    pub(super) fn required(&self) -> Plan {
        match self {
            Self::Exactly(texts) => Plan::one_of(texts),
            Self::Partly { plan, .. } => plan.clone(),
        }
    }

    /// This one, and then the other.
    fn then(self, other: Self) -> Self {
        let is_small = |one: &[Vec<u8>], other: &[Vec<u8>], max| one.len().saturating_mul(other.len()) <= max;
        if let (Self::Exactly(one), Self::Exactly(two)) = (&self, &other)
            && is_small(one, two, MAX_TEXTS)
        {
            return Self::Exactly(joined(one, two)).bounded();
        }
        let mut plans = vec![self.required(), other.required()];
        // What stands at the seam is known in full where one side is known in full; else by the ends of both.
        let starts = match &self {
            Self::Exactly(texts) if is_small(texts, other.starts(), MAX_TEXTS) => joined(texts, other.starts()),
            _ => self.starts().to_vec(),
        };
        let ends = match &other {
            Self::Exactly(texts) if is_small(self.ends(), texts, MAX_TEXTS) => joined(self.ends(), texts),
            _ => other.ends().to_vec(),
        };
        let (left, right) = (cut_ends(self.ends().to_vec()), cut_starts(other.starts().to_vec()));
        plans.push(Plan::one_of(&joined(&left, &right)));
        plans.push(Plan::one_of(&starts));
        plans.push(Plan::one_of(&ends));
        Self::Partly { starts: cut_starts(starts), ends: cut_ends(ends), plan: Plan::and(plans) }
    }

    /// This one or the other.
    fn or(self, other: Self) -> Self {
        if let (Self::Exactly(one), Self::Exactly(two)) = (&self, &other) {
            return Self::Exactly(set(one.iter().chain(two).cloned().collect())).bounded();
        }
        let both = |one: &[Vec<u8>], two: &[Vec<u8>]| set(one.iter().chain(two).cloned().collect());
        Self::Partly {
            starts: cut_starts(both(self.starts(), other.starts())),
            ends: cut_ends(both(self.ends(), other.ends())),
            plan: Plan::or([self.required(), other.required()]),
        }
    }

    fn bounded(self) -> Self {
        let is_large = match &self {
            Self::Exactly(texts) => {
                texts.len() > MAX_TEXTS
                    || (texts.len() > 1 && texts.iter().map(Vec::len).sum::<usize>() > MAX_TEXT_BYTES)
            }
            Self::Partly { .. } => false,
        };
        if is_large { self.partly() } else { self }
    }

    fn partly(self) -> Self {
        let plan = self.required();
        Self::Partly { starts: cut_starts(self.starts().to_vec()), ends: cut_ends(self.ends().to_vec()), plan }
    }
}

fn set(mut texts: Texts) -> Texts {
    texts.sort_unstable();
    texts.dedup();
    texts
}

fn joined(one: &[Vec<u8>], two: &[Vec<u8>]) -> Texts {
    set(one.iter().flat_map(|start| two.iter().map(move |end| [start.as_slice(), end].concat())).collect())
}

fn cut_starts(texts: Texts) -> Texts {
    cut(texts, |text, bytes| text.truncate(bytes))
}

fn cut_ends(texts: Texts) -> Texts {
    cut(texts, |text, bytes| drop(text.drain(..text.len().saturating_sub(bytes))))
}

/// Shortens the texts until there are few enough.
fn cut(mut texts: Texts, shorten: impl Fn(&mut Vec<u8>, usize)) -> Texts {
    for bytes in (0..=END_BYTES).rev() {
        texts.iter_mut().for_each(|text| shorten(text, bytes));
        texts = set(texts);
        if texts.len() <= MAX_ENDS {
            break;
        }
    }
    texts
}
