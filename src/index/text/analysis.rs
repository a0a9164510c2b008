//! What is known of every match of a pattern: the texts it is, or begins and ends with, and the grams it has.
//!
//! The pattern's tree is walked once from its leaves up, after Russ Cox's "Regular Expression Matching with a Trigram Index".
//! Invariant: each value holds for every match; where sets grow too large, less is known, never something wrong.

use super::grams::LONG;
use super::letters::{Text, text};
use super::plan::Plan;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// Texts that a part may be; with more of them only their ends are kept.
const MAX_TEXTS: usize = 64;
/// Their letters together, unless there is only one.
const MAX_TEXT_LETTERS: usize = 8_192;
/// Texts that a part may begin or end with.
const MAX_ENDS: usize = 32;
/// Letters of them that are kept: with so many on each side of a seam every gram across it is known.
const END_LETTERS: usize = LONG - 1;
/// With so many every trigram is; fewer are kept only where there would be too many texts.
const SHORT_END: usize = 2;
/// Texts that may stand across a seam before fewer of their letters are looked at.
const MAX_ACROSS: usize = 128;
/// Letters of a class that are told apart.
const MAX_CLASS: u32 = 128;
/// Times that a repeated part is written out.
const MAX_WRITTEN_OUT: u32 = 8;

/// A set of texts, ordered, no two the same.
type Texts = Vec<Text>;

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
        HirKind::Literal(literal) => Knowledge::Exactly(vec![text(&literal.0)]),
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
            texts.extend(letters.filter(|c| *c != '\n').map(|c| text(c.encode_utf8(&mut [0; 4]).as_bytes())));
        }
        Class::Bytes(class) => {
            let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            texts.extend(bytes.filter(|byte| *byte != b'\n').map(|byte| text(&[byte])));
        }
    }
    Knowledge::Exactly(in_either_case(set(texts))).bounded()
}

/// Letters of which both cases are there become one.
fn in_either_case(texts: Texts) -> Texts {
    // Both cases of a letter are neighbours in the set.
    let is_same = |one: &Text, other: &Text| one.len() == 1 && other.len() == 1 && one[0].folded == other[0].folded;
    let one_of = |texts: &[Text]| match texts {
        [one, _, ..] => one.iter().map(|letter| letter.in_either_case()).collect(),
        _ => texts.concat(),
    };
    texts.chunk_by(is_same).map(one_of).collect()
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
    pub(super) fn starts(&self) -> &[Text] {
        match self {
            Self::Exactly(texts) => texts,
            Self::Partly { starts, .. } => starts,
        }
    }

    /// What a match ends with.
    pub(super) fn ends(&self) -> &[Text] {
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
        let is_small = |one: &[Text], other: &[Text], max| one.len().saturating_mul(other.len()) <= max;
        if let (Self::Exactly(one), Self::Exactly(two)) = (&self, &other)
            && is_small(one, two, MAX_TEXTS)
        {
            return Self::Exactly(joined(one, two)).bounded();
        }
        let mut plans = vec![self.required(), other.required()];
        // What stands at the seam is known in full where one side is known in full; else by the ends of both.
        let starts = match &self {
            Self::Exactly(texts) => extended(texts, other.starts(), keep_start, |next| joined(texts, next)),
            Self::Partly { starts, .. } => starts.clone(),
        };
        let ends = match &other {
            Self::Exactly(texts) => extended(texts, self.ends(), keep_end, |before| joined(before, texts)),
            Self::Partly { ends, .. } => ends.clone(),
        };
        plans.push(Plan::one_of(&across(self.ends(), other.starts())));
        plans.push(Plan::one_of(&starts));
        plans.push(Plan::one_of(&ends));
        Self::Partly { starts: cut_starts(starts), ends: cut_ends(ends), plan: Plan::and(plans) }
    }

    /// This one or the other.
    fn or(self, other: Self) -> Self {
        if let (Self::Exactly(one), Self::Exactly(two)) = (&self, &other) {
            return Self::Exactly(set(one.iter().chain(two).cloned().collect())).bounded();
        }
        let both = |one: &[Text], two: &[Text]| set(one.iter().chain(two).cloned().collect());
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
                    || (texts.len() > 1 && texts.iter().map(Vec::len).sum::<usize>() > MAX_TEXT_LETTERS)
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

fn joined(one: &[Text], two: &[Text]) -> Texts {
    set(one.iter().flat_map(|start| two.iter().map(move |end| [start.as_slice(), end].concat())).collect())
}

/// `texts` with what stands beside them, of which no more letters are taken than give few enough texts; alone, if even two are too many.
fn extended(texts: &[Text], beside: &[Text], shorten: fn(&mut Text, usize), join: impl Fn(&[Text]) -> Texts) -> Texts {
    let (mut beside, mut letters) = (beside.to_vec(), END_LETTERS);
    while texts.len().saturating_mul(beside.len()) > MAX_TEXTS {
        if letters < SHORT_END {
            return texts.to_vec();
        }
        beside = shortened(beside, letters, shorten);
        letters -= 1;
    }
    join(&beside)
}

/// What may stand where something that ends with one of `ends` is followed by something that begins with one of `starts`.
fn across(ends: &[Text], starts: &[Text]) -> Texts {
    let (mut left, mut right) = (cut_ends(ends.to_vec()), cut_starts(starts.to_vec()));
    for letters in (SHORT_END..END_LETTERS).rev() {
        if left.len() * right.len() <= MAX_ACROSS {
            break;
        }
        (left, right) = (shortened(left, letters, keep_end), shortened(right, letters, keep_start));
    }
    joined(&left, &right)
}

fn keep_start(text: &mut Text, letters: usize) {
    text.truncate(letters);
}

fn keep_end(text: &mut Text, letters: usize) {
    drop(text.drain(..text.len().saturating_sub(letters)));
}

fn cut_starts(texts: Texts) -> Texts {
    cut(texts, keep_start)
}

fn cut_ends(texts: Texts) -> Texts {
    cut(texts, keep_end)
}

/// Shortens the texts until there are few enough.
fn cut(mut texts: Texts, shorten: fn(&mut Text, usize)) -> Texts {
    for letters in (0..=END_LETTERS).rev() {
        texts = shortened(texts, letters, shorten);
        if texts.len() <= MAX_ENDS {
            break;
        }
    }
    texts
}

fn shortened(mut texts: Texts, letters: usize, shorten: fn(&mut Text, usize)) -> Texts {
    texts.iter_mut().for_each(|text| shorten(text, letters));
    set(texts)
}
