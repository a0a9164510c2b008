//! Analysis of a pattern: the texts that every match is, or begins and ends with, and the grams that every match contains.
//!
//! One bottom-up pass over the expression's tree, after Russ Cox's "Regular Expression Matching with a Trigram Index".
//! Invariant: each value holds for every match. Where a set grows too large, it is replaced by a weaker statement, never a wrong one.

use super::grams::LONG_GRAM_BYTES;
use super::pattern_bytes::{PatternText, exact_text};
use super::plan::GramPlan;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// The most texts of an exact set; of a larger set only prefixes and suffixes are kept.
const MAX_TEXTS: usize = 64;
/// The most bytes of an exact set with more than one text.
const MAX_TEXT_BYTES: usize = 8_192;
/// The most prefixes or suffixes.
const MAX_AFFIXES: usize = 32;
/// The most bytes of a prefix or suffix. With these on both sides of a concatenation, every gram across it is known.
const AFFIX_BYTES: usize = LONG_GRAM_BYTES - 1;
/// With this many bytes on both sides, every trigram across a concatenation is known. Affixes get shorter than this only where
/// there would be too many texts.
const TRIGRAM_AFFIX_BYTES: usize = 2;
/// The most texts across a concatenation; with more of them the affixes are shortened.
const MAX_JOINED: usize = 128;
/// The most characters of a class that is expanded to its characters.
const MAX_CLASS: u32 = 128;
/// The most repetitions that are expanded.
const MAX_EXPANDED: u32 = 8;

/// A set of texts, sorted and distinct.
type TextSet = Vec<PatternText>;

/// What holds for every match of a part of the pattern.
#[derive(Debug, Clone)]
pub(super) enum PatternInfo {
    /// Every match is one of these texts.
    Exact(TextSet),
    /// Every match begins with one of `prefixes` and ends with one of `suffixes`, and a content with a match satisfies `plan`.
    Affixes {
        /// TextSet that a match may begin with.
        prefixes: TextSet,
        /// TextSet that a match may end with.
        suffixes: TextSet,
        /// The grams that a content with a match contains.
        plan: GramPlan,
    },
}

pub(super) fn analyse(hir: &Hir) -> PatternInfo {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => PatternInfo::empty(),
        HirKind::Literal(literal) => PatternInfo::Exact(vec![exact_text(&literal.0)]),
        HirKind::Class(class) => analyse_class(class),
        HirKind::Capture(capture) => analyse(&capture.sub),
        HirKind::Repetition(repetition) => analyse_repetition(repetition),
        HirKind::Concat(parts) => parts.iter().map(analyse).fold(PatternInfo::empty(), PatternInfo::concat),
        HirKind::Alternation(parts) => {
            let none = PatternInfo::Exact(Vec::new());
            parts.iter().map(analyse).fold(none, PatternInfo::or)
        }
    }
}

fn analyse_class(class: &Class) -> PatternInfo {
    let mut texts = Vec::new();
    // A match never contains a line break, even if the class does.
    match class {
        Class::Unicode(class) => {
            let sizes = class.ranges().iter().map(|range| u32::from(range.end()) - u32::from(range.start()) + 1);
            if sizes.fold(0, u32::saturating_add) > MAX_CLASS {
                return PatternInfo::anything();
            }
            let chars = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            texts.extend(chars.filter(|c| *c != '\n').map(|c| exact_text(c.encode_utf8(&mut [0; 4]).as_bytes())));
        }
        Class::Bytes(class) => {
            let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            texts.extend(bytes.filter(|byte| *byte != b'\n').map(|byte| exact_text(&[byte])));
        }
    }
    PatternInfo::Exact(merge_cases(set(texts))).bounded()
}

/// Merges pairs of single bytes that differ in case only.
fn merge_cases(texts: TextSet) -> TextSet {
    // The two cases of a byte are neighbours in the set.
    let is_same =
        |one: &PatternText, other: &PatternText| one.len() == 1 && other.len() == 1 && one[0].folded == other[0].folded;
    let merged = |texts: &[PatternText]| match texts {
        [one, _, ..] => one.iter().map(|byte| byte.in_either_case()).collect(),
        _ => texts.concat(),
    };
    texts.chunk_by(is_same).map(merged).collect()
}

fn analyse_repetition(repetition: &Repetition) -> PatternInfo {
    if repetition.max == Some(0) {
        return PatternInfo::empty();
    }
    let once = analyse(&repetition.sub);
    if repetition.min == 0 {
        let optional = repetition.max == Some(1);
        return if optional { once.or(PatternInfo::empty()) } else { PatternInfo::anything() };
    }
    let times = repetition.min.min(MAX_EXPANDED);
    let mut known = once.clone();
    for _ in 1..times {
        known = known.concat(once.clone());
    }
    if repetition.max == Some(times) {
        return known;
    }
    // More repetitions keep the affixes and the grams of these.
    known.into_affixes()
}

impl PatternInfo {
    fn empty() -> Self {
        Self::Exact(vec![Vec::new()])
    }

    fn anything() -> Self {
        Self::Affixes { prefixes: vec![Vec::new()], suffixes: vec![Vec::new()], plan: GramPlan::All }
    }

    /// The texts that a match may begin with, each as long as known.
    pub(super) fn prefixes(&self) -> &[PatternText] {
        match self {
            Self::Exact(texts) => texts,
            Self::Affixes { prefixes, .. } => prefixes,
        }
    }

    /// The texts that a match may end with.
    pub(super) fn suffixes(&self) -> &[PatternText] {
        match self {
            Self::Exact(texts) => texts,
            Self::Affixes { suffixes, .. } => suffixes,
        }
    }

    /// The grams that a content with a match contains.
    pub(super) fn required(&self) -> GramPlan {
        match self {
            Self::Exact(texts) => GramPlan::one_of(texts),
            Self::Affixes { plan, .. } => plan.clone(),
        }
    }

    /// This part followed by the other.
    fn concat(self, other: Self) -> Self {
        let is_small = |one: &[PatternText], other: &[PatternText], max| one.len().saturating_mul(other.len()) <= max;
        if let (Self::Exact(one), Self::Exact(two)) = (&self, &other)
            && is_small(one, two, MAX_TEXTS)
        {
            return Self::Exact(joined(one, two)).bounded();
        }
        let mut plans = vec![self.required(), other.required()];
        // If one side is exact, its affixes extend into the other side. Otherwise the suffixes and prefixes of both are joined.
        let prefixes = match &self {
            Self::Exact(texts) => extended(texts, other.prefixes(), keep_start, |next| joined(texts, next)),
            Self::Affixes { prefixes, .. } => prefixes.clone(),
        };
        let suffixes = match &other {
            Self::Exact(texts) => extended(texts, self.suffixes(), keep_end, |before| joined(before, texts)),
            Self::Affixes { suffixes, .. } => suffixes.clone(),
        };
        plans.push(GramPlan::one_of(&joined_affixes(self.suffixes(), other.prefixes())));
        plans.push(GramPlan::one_of(&prefixes));
        plans.push(GramPlan::one_of(&suffixes));
        Self::Affixes { prefixes: cut_prefixes(prefixes), suffixes: cut_suffixes(suffixes), plan: GramPlan::and(plans) }
    }

    /// This part or the other.
    fn or(self, other: Self) -> Self {
        if let (Self::Exact(one), Self::Exact(two)) = (&self, &other) {
            return Self::Exact(set(one.iter().chain(two).cloned().collect())).bounded();
        }
        let both = |one: &[PatternText], two: &[PatternText]| set(one.iter().chain(two).cloned().collect());
        Self::Affixes {
            prefixes: cut_prefixes(both(self.prefixes(), other.prefixes())),
            suffixes: cut_suffixes(both(self.suffixes(), other.suffixes())),
            plan: GramPlan::or([self.required(), other.required()]),
        }
    }

    /// Keeps only the affixes of an exact set that is too large.
    fn bounded(self) -> Self {
        let is_large = match &self {
            Self::Exact(texts) => {
                texts.len() > MAX_TEXTS
                    || (texts.len() > 1 && texts.iter().map(Vec::len).sum::<usize>() > MAX_TEXT_BYTES)
            }
            Self::Affixes { .. } => false,
        };
        if is_large { self.into_affixes() } else { self }
    }

    /// Keeps only prefixes, suffixes and the plan.
    fn into_affixes(self) -> Self {
        let plan = self.required();
        Self::Affixes {
            prefixes: cut_prefixes(self.prefixes().to_vec()),
            suffixes: cut_suffixes(self.suffixes().to_vec()),
            plan,
        }
    }
}

fn set(mut texts: TextSet) -> TextSet {
    texts.sort_unstable();
    texts.dedup();
    texts
}

fn joined(one: &[PatternText], two: &[PatternText]) -> TextSet {
    set(one.iter().flat_map(|start| two.iter().map(move |end| [start.as_slice(), end].concat())).collect())
}

/// `texts` extended by the neighbouring texts, of which as many bytes are used as give few enough results. Not extended at all if
/// even two bytes give too many.
fn extended(
    texts: &[PatternText],
    neighbours: &[PatternText],
    shorten: fn(&mut PatternText, usize),
    join: impl Fn(&[PatternText]) -> TextSet,
) -> TextSet {
    let mut neighbours = neighbours.to_vec();
    let mut bytes = AFFIX_BYTES;
    while texts.len().saturating_mul(neighbours.len()) > MAX_TEXTS {
        if bytes < TRIGRAM_AFFIX_BYTES {
            return texts.to_vec();
        }
        neighbours = shortened(neighbours, bytes, shorten);
        bytes -= 1;
    }
    join(&neighbours)
}

/// The texts that may occur where a part that ends with one of `suffixes` precedes a part that begins with one of `prefixes`.
fn joined_affixes(suffixes: &[PatternText], prefixes: &[PatternText]) -> TextSet {
    let mut left = cut_suffixes(suffixes.to_vec());
    let mut right = cut_prefixes(prefixes.to_vec());
    for bytes in (TRIGRAM_AFFIX_BYTES..AFFIX_BYTES).rev() {
        if left.len() * right.len() <= MAX_JOINED {
            break;
        }
        (left, right) = (shortened(left, bytes, keep_end), shortened(right, bytes, keep_start));
    }
    joined(&left, &right)
}

fn keep_start(text: &mut PatternText, bytes: usize) {
    text.truncate(bytes);
}

fn keep_end(text: &mut PatternText, bytes: usize) {
    drop(text.drain(..text.len().saturating_sub(bytes)));
}

fn cut_prefixes(texts: TextSet) -> TextSet {
    cut(texts, keep_start)
}

fn cut_suffixes(texts: TextSet) -> TextSet {
    cut(texts, keep_end)
}

/// Shortens the texts until there are few enough.
fn cut(mut texts: TextSet, shorten: fn(&mut PatternText, usize)) -> TextSet {
    for bytes in (0..=AFFIX_BYTES).rev() {
        texts = shortened(texts, bytes, shorten);
        if texts.len() <= MAX_AFFIXES {
            break;
        }
    }
    texts
}

fn shortened(mut texts: TextSet, bytes: usize, shorten: fn(&mut PatternText, usize)) -> TextSet {
    texts.iter_mut().for_each(|text| shorten(text, bytes));
    set(texts)
}
