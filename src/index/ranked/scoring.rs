//! From what is known of a candidate to its score. Pure arithmetic, in one order, so that it gives the same bits everywhere.
//!
//! Factors are rounded first and the score is computed from the rounded ones: who reads them can compute it again.

use crate::ManifestEntry;
use codeyard_model::code::{QueryIntent, RankingReasons, SymbolKind, Visibility, Weights};

use super::parsed_query::ParsedQuery;
use super::match_features::{MatchFeature, FeatureKind};
use super::schema::RankingInfo;

/// How much a word counts by where it stands, how much the length of the place weakens it, and the usual length.
const NAME: (f64, f64, f64) = (3.0, 0.6, 3.0);
const START: (f64, f64, f64) = (1.8, 0.6, 3.0);
const SCOPE: (f64, f64, f64) = (0.8, 0.0, 1.0);
const SIGNATURE: (f64, f64, f64) = (0.6, 0.3, 6.0);
const DOC: (f64, f64, f64) = (1.6, 0.5, 12.0);
const PAIR: (f64, f64, f64) = (1.4, 0.3, 12.0);
/// How soon more of the same word counts less; each word counts once here, so that it only scales the length.
const K1: f64 = 1.2;

/// FeatureKind a question gives each feature.
pub(super) struct Scorer<'a> {
    parsed: &'a ParsedQuery,
    weights: &'a Weights,
    kind: Option<SymbolKind>,
    /// One by the sum of all weights.
    scale: f64,
    /// By feature: its share of `bm25_score` before length.
    parts: Vec<(FeatureKind, f64)>,
}

/// FeatureKind a candidate has whatever its path is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CandidateFactors {
    exact: f64,
    qualifiers: u32,
    is_whole: bool,
    scope_share: f64,
    definition: f64,
    kind_match: f64,
    bm25: f64,
}

impl<'a> Scorer<'a> {
    /// `symbols`: how many the manifest shows.
    pub(super) fn new(
        parsed: &'a ParsedQuery,
        weights: &'a Weights,
        kind: Option<SymbolKind>,
        features: &[MatchFeature],
        symbols: u64,
    ) -> Self {
        let parts = features.iter().map(|feature| {
            let boost = match feature.kind {
                FeatureKind::Word(_) => NAME.0,
                FeatureKind::WordPrefix(_) => START.0,
                FeatureKind::Scope(_) => SCOPE.0,
                FeatureKind::Signature(_) => SIGNATURE.0,
                FeatureKind::Doc(_) => DOC.0,
                FeatureKind::DocPair(_) => PAIR.0,
                FeatureKind::Name | FeatureKind::QualifiedName | FeatureKind::NormalizedName | FeatureKind::NamePrefix | FeatureKind::Qualifier(_) => 0.0,
            };
            let (all, with) = (symbols as f64, (feature.frequency.min(symbols)) as f64);
            (feature.kind, boost * (1.0 + (all - with + 0.5) / (with + 0.5)).ln())
        });
        Self { parsed, weights, kind: kind.or(parsed.kind), scale: 1.0 / weights.sum(), parts: parts.collect() }
    }

    /// The factors that don't depend on the path.
    pub(super) fn candidate(&self, features: u64, info: RankingInfo) -> CandidateFactors {
        let mut found = CandidateFactors::default();
        let (mut named, mut begun, mut scoped, mut elsewhere) = (0_u64, 0_u64, 0_u64, 0_u64);
        let mut left = features;
        let mut names = [0.0; 3];
        while left != 0 {
            let (kind, part) = self.parts[left.trailing_zeros() as usize];
            left &= left - 1;
            match kind {
                FeatureKind::Name => names[0] = 1.0,
                FeatureKind::QualifiedName => {
                    names[0] = 1.0;
                    found.is_whole = true;
                }
                FeatureKind::NormalizedName => names[1] = 0.85,
                FeatureKind::NamePrefix => names[2] = 0.5,
                FeatureKind::Qualifier(at) => found.qualifiers |= 1 << at,
                FeatureKind::Word(at) => {
                    named |= 1 << at;
                    found.bm25 += part * shortness(NAME, info.name_words);
                }
                FeatureKind::WordPrefix(at) if named >> at & 1 == 0 => {
                    begun |= 1 << at;
                    found.bm25 += part * shortness(START, info.name_words);
                }
                FeatureKind::WordPrefix(_) => {}
                FeatureKind::Scope(at) => {
                    scoped |= 1 << at;
                    found.bm25 += part;
                }
                FeatureKind::Signature(at) => {
                    elsewhere |= 1 << at;
                    found.bm25 += part * shortness(SIGNATURE, info.signature_words);
                }
                FeatureKind::Doc(at) => {
                    elsewhere |= 1 << at;
                    found.bm25 += part * shortness(DOC, info.doc_words);
                }
                FeatureKind::DocPair(_) => found.bm25 += part * shortness(PAIR, info.doc_words),
            }
        }
        let words = self.parsed.words.len();
        let in_name = (named | begun).count_ones() as usize;
        // How much of the name the question's words are.
        let share = if info.name_words == 0 { 0.0 } else { (in_name as f64 / info.name_words as f64).min(1.0) };
        let partial = if in_name == words && words > 0 { 0.3 + 0.3 * share } else { 0.0 };
        let begins = if names[2] > 0.0 { names[2] + 0.2 * share } else { 0.0 };
        found.exact = names[0].max(names[1]).max(begins).max(partial);
        // Who has all words is better than who has one of them in a better place.
        let covered = (named | begun | scoped | elsewhere).count_ones() as f64;
        found.bm25 *= covered / words.max(1) as f64;
        let missing = words - in_name;
        let scoped = (scoped & !(named | begun)).count_ones() as usize;
        found.scope_share = if missing == 0 { 0.0 } else { scoped as f64 / missing as f64 };
        found.definition = definition(info);
        found.kind_match = f64::from(u8::from(self.kind == Some(info.kind)));
        found
    }

    /// No less than a candidate's score, whatever its path is. Most candidates are parsed no more than this.
    pub(super) fn bound(&self, candidate: &CandidateFactors) -> f64 {
        let qualified =
            if self.parsed.qualifiers.is_empty() && self.parsed.path.is_none() { candidate.scope_share } else { 1.0 };
        let weights = self.weights;
        let sum = weights.exact_match * candidate.exact
            + weights.qualified_name * qualified
            + weights.path_affinity
            + weights.definition * candidate.definition
            + weights.kind_match * candidate.kind_match
            + weights.bm25 * candidate.bm25 / (candidate.bm25 + weights.bm25_half);
        // Factors and score are rounded upwards by less than this.
        sum * self.scale + 0.000_2
    }

    /// No less than the score of any candidate with these features: of one with the shortest name and comment.
    pub(super) fn bound_of_features(&self, features: u64) -> f64 {
        let best = RankingInfo {
            kind: self.kind.unwrap_or(SymbolKind::Fn),
            language: 0,
            visibility: Visibility::Public,
            is_definition: true,
            is_local: false,
            name_words: 1,
            doc_words: 0,
            signature_words: 0,
            ordinal: 0,
        };
        self.bound(&CandidateFactors { definition: 1.0, ..self.candidate(features, best) })
    }

    /// All factors of a candidate in this file. `words`: how many of the question's words the path holds.
    pub(super) fn reasons(&self, candidate: &CandidateFactors, entry: &ManifestEntry, words: usize) -> RankingReasons {
        self.finish(candidate, self.qualified(candidate, entry), self.affinity(entry, words))
    }

    /// Whether all that stands before the name in the question stands around it, or is in its path.
    pub(super) fn is_qualified(&self, candidate: &CandidateFactors, entry: &ManifestEntry) -> bool {
        (self.parsed.qualifiers.is_empty() && self.parsed.path.is_none()) || self.qualified(candidate, entry) >= 1.0
    }

    /// All factors of a file that is meant itself: `exact` says how well its path fits.
    pub(super) fn file(&self, exact: f64, entry: &ManifestEntry, words: usize) -> RankingReasons {
        let is_path = self.parsed.intent == QueryIntent::Path;
        let candidate = CandidateFactors { exact, kind_match: f64::from(u8::from(is_path)), ..CandidateFactors::default() };
        self.finish(&candidate, 0.0, self.affinity(entry, words))
    }

    fn finish(&self, candidate: &CandidateFactors, qualified: f64, affinity: f64) -> RankingReasons {
        let reasons = RankingReasons {
            exact_match_boost: rounded(candidate.exact),
            qualified_name_boost: rounded(qualified),
            path_affinity: rounded(affinity),
            definition_boost: rounded(candidate.definition),
            kind_match: rounded(candidate.kind_match),
            bm25_score: rounded(candidate.bm25),
            final_score: 0.0,
        };
        RankingReasons { final_score: final_score(&reasons, self.weights), ..reasons }
    }

    /// How many of the names that should stand around it do, or are in its path; without such names, how many of the words that
    /// its name lacks.
    fn qualified(&self, candidate: &CandidateFactors, entry: &ManifestEntry) -> f64 {
        let parsed = self.parsed;
        let parts = parsed.qualifiers.len() + usize::from(parsed.path.is_some());
        if parts == 0 {
            return candidate.scope_share;
        }
        if candidate.is_whole {
            return 1.0;
        }
        let mut found = candidate.qualifiers.count_ones() as usize;
        for (at, qualifier) in parsed.qualifiers.iter().enumerate() {
            found += usize::from(candidate.qualifiers >> at & 1 == 0 && in_path(&entry.path, qualifier));
        }
        let path = parsed.path.as_deref().is_some_and(|path| ends_with_path(&entry.path, path));
        (found + usize::from(path)) as f64 / parts as f64
    }

    fn affinity(&self, entry: &ManifestEntry, words: usize) -> f64 {
        let all = self.parsed.words.len().max(1);
        let depth = entry.path.bytes().filter(|byte| *byte == b'/').count();
        let place = 0.5 + 0.4 * (words.min(all) as f64 / all as f64) + 0.1 / (1.0 + depth as f64 / 4.0);
        let test = if entry.class.is_test && !self.parsed.wants_tests { self.weights.test_factor } else { 1.0 };
        let vendored = if entry.class.is_vendored { self.weights.vendored_factor } else { 1.0 };
        place * test * vendored
    }
}

/// The score that follows from factors (`docs/ranking.md`).
pub(super) fn final_score(reasons: &RankingReasons, weights: &Weights) -> f64 {
    let bm25 = reasons.bm25_score / (reasons.bm25_score + weights.bm25_half);
    let sum = weights.exact_match * reasons.exact_match_boost
        + weights.qualified_name * reasons.qualified_name_boost
        + weights.path_affinity * reasons.path_affinity
        + weights.definition * reasons.definition_boost
        + weights.kind_match * reasons.kind_match
        + weights.bm25 * bm25;
    rounded(sum / weights.sum())
}

/// To four digits behind the point. No factor is below zero, so that cutting rounds.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 10_000.0 + 0.5) as u64 as f64 / 10_000.0
}

fn shortness((_, slope, usual): (f64, f64, f64), length: usize) -> f64 {
    (K1 + 1.0) / (1.0 + K1 * (1.0 - slope + slope * length as f64 / usual))
}

fn definition(info: RankingInfo) -> f64 {
    let kind = match info.kind {
        SymbolKind::Struct
        | SymbolKind::Class
        | SymbolKind::Enum
        | SymbolKind::Trait
        | SymbolKind::Interface
        | SymbolKind::Type
        | SymbolKind::Fn => 1.0,
        SymbolKind::Method | SymbolKind::Macro | SymbolKind::Module => 0.9,
        SymbolKind::Const | SymbolKind::Static => 0.8,
        SymbolKind::Variable | SymbolKind::Field => 0.7,
        SymbolKind::Impl => 0.4,
        SymbolKind::Use => 0.0,
    };
    let here = if info.is_definition { 1.0 } else { 0.4 };
    let seen = match info.visibility {
        Visibility::Public => 1.0,
        Visibility::Restricted => 0.95,
        Visibility::Private => 0.9,
    };
    let deep = if info.is_local { 0.7 } else { 1.0 };
    kind * here * seen * deep
}

/// Whether a segment of the path, with or without its ending, is the normalized name.
fn in_path(path: &str, normalized: &str) -> bool {
    let same = |segment: &str| {
        let letters = segment.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase);
        letters.eq(normalized.chars())
    };
    path.split('/').any(|segment| same(segment) || segment.split_once('.').is_some_and(|(stem, _)| same(stem)))
}

/// Whether the path is this one, lower case, or ends with it.
fn ends_with_path(path: &str, end: &str) -> bool {
    let path = path.to_lowercase();
    let end = end.trim_start_matches("./").trim_start_matches('/');
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathClass;

    fn entry(path: &str) -> ManifestEntry {
        ManifestEntry { path: path.into(), content: 0, language: None, size: 1, class: PathClass::of(path) }
    }

    fn info(kind: SymbolKind) -> RankingInfo {
        let (visibility, ordinal) = (Visibility::Public, 0);
        let (is_definition, is_local) = (true, false);
        RankingInfo {
            kind,
            language: 0,
            visibility,
            is_definition,
            is_local,
            name_words: 2,
            doc_words: 4,
            signature_words: 4,
            ordinal,
        }
    }

    fn with<T>(text: &str, kinds: &[(FeatureKind, u64)], test: impl FnOnce(&Scorer, u64) -> T) -> T {
        let parsed = ParsedQuery::read(text);
        let features: Vec<MatchFeature> =
            kinds.iter().map(|(kind, frequency)| MatchFeature { kind: *kind, frequency: *frequency }).collect();
        test(&Scorer::new(&parsed, &Weights::default(), None, &features, 1_000), (1 << kinds.len()) - 1)
    }

    #[test]
    fn the_closer_the_name_the_more_it_counts() {
        let exact = |text: &str, kinds: &[(FeatureKind, u64)]| {
            with(text, kinds, |scorer, features| rounded(scorer.candidate(features, info(SymbolKind::Fn)).exact))
        };
        assert_eq!(exact("parse", &[(FeatureKind::Name, 1), (FeatureKind::NormalizedName, 1)]), 1.0);
        assert_eq!(exact("parse", &[(FeatureKind::NormalizedName, 1)]), 0.85);
        assert_eq!(exact("parse", &[(FeatureKind::NamePrefix, 1), (FeatureKind::Word(0), 1)]), 0.6);
        assert_eq!(exact("parse", &[(FeatureKind::Word(0), 1)]), 0.45);
        assert_eq!(exact("parse_conf", &[(FeatureKind::Word(0), 1), (FeatureKind::WordPrefix(1), 1)]), 0.6);
        assert_eq!(exact("parse_conf", &[(FeatureKind::Word(0), 1)]), 0.0);
        assert_eq!(exact("parse", &[(FeatureKind::Doc(0), 1)]), 0.0);
    }

    #[test]
    fn rare_words_many_words_and_short_names_count_more() {
        let bm25 = |kinds: &[(FeatureKind, u64)], name_words| {
            let info = RankingInfo { name_words, ..info(SymbolKind::Fn) };
            with("split the path", kinds, |scorer, features| scorer.candidate(features, info).bm25)
        };
        assert!(bm25(&[(FeatureKind::Word(0), 3)], 2) > bm25(&[(FeatureKind::Word(0), 300)], 2));
        assert!(bm25(&[(FeatureKind::Word(0), 3)], 2) > bm25(&[(FeatureKind::Word(0), 3)], 4));
        assert!(bm25(&[(FeatureKind::Word(0), 3)], 2) > bm25(&[(FeatureKind::Doc(0), 3)], 2));
        assert!(bm25(&[(FeatureKind::Doc(0), 3), (FeatureKind::Doc(1), 3)], 2) > 3.0 * bm25(&[(FeatureKind::Doc(0), 3)], 2));
        let twice = bm25(&[(FeatureKind::Word(0), 3), (FeatureKind::WordPrefix(0), 3)], 2);
        assert_eq!(twice, bm25(&[(FeatureKind::Word(0), 3)], 2), "a whole word isn't a beginning too");
    }

    #[test]
    fn qualifiers_stand_around_or_in_the_path() {
        let qualified = |text: &str, kinds: &[(FeatureKind, u64)], path: &str| {
            with(text, kinds, |scorer, features| {
                let candidate = scorer.candidate(features, info(SymbolKind::Fn));
                (
                    scorer.reasons(&candidate, &entry(path), 0).qualified_name_boost,
                    scorer.is_qualified(&candidate, &entry(path)),
                )
            })
        };
        assert_eq!(qualified("Foo::bar", &[(FeatureKind::Qualifier(0), 1)], "a.rs"), (1.0, true));
        assert_eq!(qualified("Foo::bar", &[(FeatureKind::Name, 1)], "src/foo.rs"), (1.0, true));
        assert_eq!(qualified("Foo::bar", &[(FeatureKind::Name, 1)], "src/food.rs"), (0.0, false));
        assert_eq!(qualified("a::Foo::bar", &[(FeatureKind::Qualifier(1), 1)], "x.rs"), (0.5, false));
        assert_eq!(qualified("src/x.rs:bar", &[(FeatureKind::Name, 1)], "lib/src/x.rs"), (1.0, true));
        assert_eq!(qualified("src/x.rs:bar", &[(FeatureKind::Name, 1)], "lib/asrc/x.rs"), (0.0, false));
        assert_eq!(qualified("bar", &[(FeatureKind::Name, 1)], "x.rs"), (0.0, true));
        assert_eq!(qualified("foo bar baz", &[(FeatureKind::Word(0), 1), (FeatureKind::Scope(1), 1)], "x.rs").0, 0.5);
    }

    #[test]
    fn tests_and_copies_stand_behind_unless_they_are_meant() {
        let affinity =
            |text: &str, path: &str, words| with(text, &[], |scorer, _| scorer.affinity(&entry(path), words));
        assert!(affinity("run", "src/a.rs", 0) > affinity("run", "src/deep/er/a.rs", 0));
        assert!(affinity("run", "src/run.rs", 1) > affinity("run", "a.rs", 0));
        assert!(affinity("run", "tests/run.rs", 1) < affinity("run", "very/deep/down/here/a.rs", 0));
        assert!(affinity("run", "vendor/tests/run.rs", 1) < affinity("run", "tests/run.rs", 1));
        assert!(affinity("run test", "tests/run.rs", 2) > affinity("run test", "src/a.rs", 0));
    }

    #[test]
    fn definitions_worth_finding_stand_first() {
        let value = |kind| definition(info(kind));
        assert!(value(SymbolKind::Fn) > value(SymbolKind::Method) && value(SymbolKind::Field) > value(SymbolKind::Use));
        let declared = RankingInfo { is_definition: false, ..info(SymbolKind::Fn) };
        let local = RankingInfo { is_local: true, ..info(SymbolKind::Fn) };
        let private = RankingInfo { visibility: Visibility::Private, ..info(SymbolKind::Fn) };
        for less in [declared, local, private] {
            assert!(definition(less) < value(SymbolKind::Fn));
        }
    }

    #[test]
    fn no_score_is_above_its_bound() {
        let kinds = [(FeatureKind::Name, 1), (FeatureKind::Word(0), 5), (FeatureKind::Doc(1), 90), (FeatureKind::Scope(1), 7), (FeatureKind::DocPair(0), 2)];
        with("foo bar", &kinds, |scorer, all| {
            for features in 0..=all {
                let candidate = scorer.candidate(features, info(SymbolKind::Method));
                for (path, words) in [("foo.rs", 2), ("tests/a/b.rs", 0)] {
                    let score = scorer.reasons(&candidate, &entry(path), words).final_score;
                    assert!(score <= scorer.bound(&candidate) && (0.0..=1.0).contains(&score));
                    assert!(scorer.bound(&candidate) <= scorer.bound_of_features(features));
                }
            }
        });
    }
}
