//! Computes the factors and the score of a candidate. Pure arithmetic in a fixed order, so that it gives the same bits
//! everywhere.
//!
//! Factors are rounded first, and the score is computed from the rounded ones, so that readers of an answer can
//! compute it again.

use crate::{ManifestEntry, Provenance};
use codeyard_model::code::{QueryIntent, RankingReasons, SymbolKind, Visibility, Weights};

use super::feature_kinds::{FeatureKind, MatchFeature};
use super::matched_words::{
    DOC, DOC_SYNONYM, MatchedWords, NAME, NEAR, NORMALIZED_NAME, PAIR, SCOPE, SIGNATURE, START, SYNONYM,
};
use super::parsed_query::ParsedQuery;
use super::schema::RankingInfo;

/// How much of a word counts as found where only a similar word or one of the same meaning is.
const SIMILAR_SHARE: f64 = 0.7;
/// `exact_match_boost` of a name that a sentence consists of, of a name that has all its words, and of a comment that has
/// all its pairs of words.
const MENTIONED: f64 = 0.7;
const SENTENCE_NAME: f64 = 0.5;
const SENTENCE_COMMENT: f64 = 0.7;
/// Pairs of words that make a phrase.
const MIN_PHRASE_PAIRS: usize = 2;
/// Computes scores for one query.
pub(super) struct Scorer<'a> {
    parsed: &'a ParsedQuery,
    weights: &'a Weights,
    kind: Option<SymbolKind>,
    /// The reciprocal of the sum of all weights.
    scale: f64,
    /// By feature: its kind, and its part of `bm25_score` before length.
    parts: Vec<(FeatureKind, f64)>,
}

/// The factors of a candidate that don't depend on its path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CandidateFactors {
    exact: f64,
    qualifiers: u32,
    is_whole: bool,
    scope_share: f64,
    definition: f64,
    kind_match: f64,
    bm25: f64,
    is_test: bool,
}

impl<'a> Scorer<'a> {
    /// A scorer for a query. `symbols` is the number of symbols of the manifest.
    pub(super) fn new(
        parsed: &'a ParsedQuery,
        weights: &'a Weights,
        kind: Option<SymbolKind>,
        features: &[MatchFeature],
        symbols: u64,
    ) -> Self {
        let parts = features.iter().map(|feature| {
            let boost = match feature.kind {
                FeatureKind::Word(_) => NAME.boost,
                FeatureKind::WordPrefix(_) => START.boost,
                FeatureKind::Scope(_) => SCOPE.boost,
                FeatureKind::Signature(_) => SIGNATURE.boost,
                FeatureKind::Doc(_) => DOC.boost,
                FeatureKind::DocPair(_) => PAIR.boost,
                FeatureKind::NearWord(_) => NEAR.boost,
                FeatureKind::Synonym(_) => SYNONYM.boost,
                FeatureKind::DocSynonym(_) => DOC_SYNONYM.boost,
                FeatureKind::Name
                | FeatureKind::QualifiedName
                | FeatureKind::NormalizedName
                | FeatureKind::NamePrefix
                | FeatureKind::Qualifier(_)
                | FeatureKind::MentionedName
                | FeatureKind::NearName(_)
                | FeatureKind::NearSpelling => 0.0,
            };
            // How common the words are that a word may be a misspelling of says nothing about it.
            let frequency = if matches!(feature.kind, FeatureKind::NearWord(_)) { 0 } else { feature.frequency };
            let all = symbols as f64;
            let with = frequency.min(symbols) as f64;
            (feature.kind, boost * (1.0 + (all - with + 0.5) / (with + 0.5)).ln())
        });
        Self { parsed, weights, kind: kind.or(parsed.kind), scale: 1.0 / weights.sum(), parts: parts.collect() }
    }

    /// The factors that don't depend on the path.
    pub(super) fn candidate(&self, features: u64, info: RankingInfo) -> CandidateFactors {
        let of = MatchedWords::new(&self.parts, features, info, MENTIONED * self.parsed.mentioned_share);
        let MatchedWords { named, prefixed, scoped, near, names, .. } = of;
        let words = self.parsed.words.len();
        let in_name = (named | prefixed | near).count_ones() as usize;
        // The share of the name's words that are query words.
        let share = if info.name_words == 0 { 0.0 } else { (in_name as f64 / info.name_words as f64).min(1.0) };
        let partial = if in_name == words && words > 0 { 0.3 + 0.3 * share } else { 0.0 };
        let partial = if self.is_sentence() {
            let similar = (of.similar_in_name & !(named | near)).count_ones() as usize;
            partial.max(self.sentence_match(in_name, similar, info.name_words, of.pairs))
        } else {
            partial
        };
        let begins = if names[2] > 0.0 { names[2] + 0.2 * share } else { 0.0 };
        let mut found = CandidateFactors {
            is_test: info.is_test,
            is_whole: of.is_whole,
            qualifiers: of.qualifiers,
            ..CandidateFactors::default()
        };
        found.exact = names[0].max(names[1]).max(begins).max(partial).max(names[3]);
        // Having all words counts more than having one word in a better place.
        let covered = named | prefixed | scoped | of.in_other_fields;
        let only_similar = f64::from(((near | of.similar) & !covered).count_ones());
        let covered = f64::from(covered.count_ones()) + SIMILAR_SHARE * only_similar;
        found.bm25 = of.bm25 * (covered / words.max(1) as f64);
        let missing = words - in_name;
        let scoped = (scoped & !(named | prefixed | near)).count_ones() as usize;
        found.scope_share = if missing == 0 { 0.0 } else { scoped as f64 / missing as f64 };
        found.definition = definition(info) * self.kind_preference(info.kind);
        found.kind_match = f64::from(u8::from(self.kind.is_some_and(|kind| kind.covers(info.kind))));
        found
    }

    fn is_sentence(&self) -> bool {
        matches!(self.parsed.intent, QueryIntent::NaturalLanguage | QueryIntent::Error)
    }

    /// How much of a sentence the name has, as words or `similar` ones, or the comment as pairs of words.
    fn sentence_match(&self, in_name: usize, similar: usize, name_words: usize, pairs: usize) -> f64 {
        let words = self.parsed.words.len().max(1) as f64;
        let named = (in_name as f64 + SIMILAR_SHARE * similar as f64) / words;
        let share = if name_words == 0 { 0.0 } else { ((in_name + similar) as f64 / name_words as f64).min(1.0) };
        let of_name = SENTENCE_NAME * named * named * (0.5 + 0.5 * share);
        let all_pairs = self.parsed.pairs.len();
        let said = if all_pairs >= MIN_PHRASE_PAIRS { pairs as f64 / all_pairs as f64 } else { 0.0 };
        of_name.max(SENTENCE_COMMENT * said * said)
    }

    /// A sentence asks for functions and types rather than for fields and variables, and a sentence about an action for
    /// functions.
    fn kind_preference(&self, kind: SymbolKind) -> f64 {
        use SymbolKind::{Const, Field, Fn, Impl, Macro, Method, Module, Static, Use, Variable};
        match kind {
            _ if !self.is_sentence() || self.kind.is_some() => 1.0,
            Fn | Method | Macro | Use => 1.0,
            Field | Variable => 0.4,
            Const | Static if self.parsed.wants_action => 0.6,
            Module | Impl => 0.8,
            _ if self.parsed.wants_action => 0.85,
            _ => 1.0,
        }
    }

    /// An upper bound of the candidate's score for any path. For most candidates, nothing else is computed.
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
        // Rounding adds less than this to factors and score.
        sum * self.scale + 0.000_2
    }

    /// An upper bound of the score of any candidate with these features: that of the shortest name and comment.
    pub(super) fn bound_of_features(&self, features: u64) -> f64 {
        let best = RankingInfo {
            kind: self.kind.unwrap_or(SymbolKind::Fn),
            language: 0,
            visibility: Visibility::Public,
            is_definition: true,
            is_local: false,
            is_test: false,
            name_words: 1,
            doc_words: 0,
            signature_words: 0,
            ordinal: 0,
        };
        self.bound(&CandidateFactors { definition: 1.0, ..self.candidate(features, best) })
    }

    /// All factors of a candidate in this file. `words` is the number of query words in the path.
    pub(super) fn reasons(&self, candidate: &CandidateFactors, entry: &ManifestEntry, words: usize) -> RankingReasons {
        let demotion = self.demotion(entry, entry.class.is_test || candidate.is_test);
        self.finish(candidate, self.qualified(candidate, entry), self.affinity(entry, words), demotion)
    }

    /// Whether a test ranks lower for this query, or other code if it asks for tests.
    fn ranks_lower(&self, is_test: bool) -> bool {
        if self.parsed.asks_for_tests { !is_test } else { is_test && !self.parsed.wants_tests }
    }

    /// The factor of what a search seldom looks for: tests, and what programs wrote.
    fn demotion(&self, entry: &ManifestEntry, is_test: bool) -> f64 {
        let test = if self.ranks_lower(is_test) { self.weights.test_factor } else { 1.0 };
        let is_written = entry.class.provenance == Provenance::Written;
        test * if is_written { 1.0 } else { self.weights.generated_factor }
    }

    /// Whether all qualifiers match enclosing symbols or the path.
    pub(super) fn is_qualified(&self, candidate: &CandidateFactors, entry: &ManifestEntry) -> bool {
        (self.parsed.qualifiers.is_empty() && self.parsed.path.is_none()) || self.qualified(candidate, entry) >= 1.0
    }

    /// All factors of a file as a hit. `exact` says how well its path matches.
    pub(super) fn file(&self, exact: f64, entry: &ManifestEntry, words: usize) -> RankingReasons {
        // A file with the name is a better answer than a symbol whose name only begins with it.
        let definition = f64::from(u8::from(self.parsed.intent != QueryIntent::Path));
        let candidate = CandidateFactors { exact, kind_match: 1.0, definition, ..CandidateFactors::default() };
        self.finish(&candidate, 0.0, self.affinity(entry, words), self.demotion(entry, entry.class.is_test))
    }

    fn finish(&self, candidate: &CandidateFactors, qualified: f64, affinity: f64, demotion: f64) -> RankingReasons {
        // A test with exactly this name is what the query asks for.
        let exact = if candidate.exact < NORMALIZED_NAME { candidate.exact * demotion } else { candidate.exact };
        let reasons = RankingReasons {
            exact_match_boost: rounded(exact),
            qualified_name_boost: rounded(qualified),
            path_affinity: rounded(affinity * demotion),
            definition_boost: rounded(candidate.definition * if self.is_sentence() { demotion } else { 1.0 }),
            kind_match: rounded(candidate.kind_match),
            bm25_score: rounded(candidate.bm25 * demotion),
            final_score: 0.0,
        };
        RankingReasons { final_score: final_score(&reasons, self.weights), ..reasons }
    }

    /// The share of the qualifiers that match enclosing symbols or the path. Without qualifiers: the share of the
    /// words missing in the name that enclosing names have.
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
        let vendored = if entry.class.is_vendored { self.weights.vendored_factor } else { 1.0 };
        place * vendored
    }
}

/// The score that follows from the factors (`docs/internals/ranking.md`).
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

/// Rounds to four decimal places. Factors are never negative, so truncation after adding a half rounds.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 10_000.0 + 0.5) as u64 as f64 / 10_000.0
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
    let defined = if info.is_definition { 1.0 } else { 0.4 };
    let visible = match info.visibility {
        Visibility::Public => 1.0,
        Visibility::Restricted => 0.95,
        Visibility::Private => 0.9,
    };
    let nested = if info.is_local { 0.7 } else { 1.0 };
    kind * defined * visible * nested
}

/// Whether a segment of the path, with or without its extension, is the normalized name.
fn in_path(path: &str, normalized: &str) -> bool {
    let same = |segment: &str| {
        let characters = segment.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
        characters.eq(normalized.chars())
    };
    path.split('/').any(|segment| same(segment) || segment.split_once('.').is_some_and(|(stem, _)| same(stem)))
}

/// Whether the path is or ends with `end`, which is in lower case.
fn ends_with_path(path: &str, end: &str) -> bool {
    let path = path.to_lowercase();
    let end = end.trim_start_matches("./").trim_start_matches('/');
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileClass;

    fn entry(path: &str) -> ManifestEntry {
        ManifestEntry { path: path.into(), content: 0, language: None, size: 1, class: FileClass::of(path) }
    }

    fn info(kind: SymbolKind) -> RankingInfo {
        RankingInfo {
            kind,
            language: 0,
            visibility: Visibility::Public,
            is_definition: true,
            is_local: false,
            is_test: false,
            name_words: 2,
            doc_words: 4,
            signature_words: 4,
            ordinal: 0,
        }
    }

    fn with<T>(text: &str, kinds: &[(FeatureKind, u64)], test: impl FnOnce(&Scorer, u64) -> T) -> T {
        let parsed = ParsedQuery::parse(text);
        let features: Vec<MatchFeature> =
            kinds.iter().map(|(kind, frequency)| MatchFeature { kind: *kind, frequency: *frequency }).collect();
        test(&Scorer::new(&parsed, &Weights::default(), None, &features, 1_000), (1 << kinds.len()) - 1)
    }

    #[test]
    fn closer_names_have_higher_factors() {
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
    fn rare_words_more_words_and_short_names_score_higher() {
        let bm25 = |kinds: &[(FeatureKind, u64)], name_words| {
            let info = RankingInfo { name_words, ..info(SymbolKind::Fn) };
            with("split the path", kinds, |scorer, features| scorer.candidate(features, info).bm25)
        };
        assert!(bm25(&[(FeatureKind::Word(0), 3)], 2) > bm25(&[(FeatureKind::Word(0), 300)], 2));
        assert!(bm25(&[(FeatureKind::Word(0), 3)], 2) > bm25(&[(FeatureKind::Word(0), 3)], 4));
        assert!(bm25(&[(FeatureKind::Word(0), 3)], 2) > bm25(&[(FeatureKind::Doc(0), 3)], 2));
        assert!(
            bm25(&[(FeatureKind::Doc(0), 3), (FeatureKind::Doc(1), 3)], 2) > 3.0 * bm25(&[(FeatureKind::Doc(0), 3)], 2)
        );
        let twice = bm25(&[(FeatureKind::Word(0), 3), (FeatureKind::WordPrefix(0), 3)], 2);
        assert_eq!(twice, bm25(&[(FeatureKind::Word(0), 3)], 2), "a whole word isn't a beginning too");
    }

    #[test]
    fn qualifiers_match_enclosing_names_or_the_path() {
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
    fn tests_and_vendored_files_rank_lower_unless_requested() {
        let affinity = |text: &str, path: &str, words| {
            let candidate = CandidateFactors::default();
            with(text, &[], |scorer, _| scorer.reasons(&candidate, &entry(path), words).path_affinity)
        };
        assert!(affinity("run", "src/a.rs", 0) > affinity("run", "src/deep/er/a.rs", 0));
        assert!(affinity("run", "src/run.rs", 1) > affinity("run", "a.rs", 0));
        assert!(affinity("run", "tests/run.rs", 1) < affinity("run", "very/deep/down/here/a.rs", 0));
        assert!(affinity("run", "vendor/tests/run.rs", 1) < affinity("run", "tests/run.rs", 1));
        assert!(affinity("run test", "tests/run.rs", 2) > affinity("run test", "src/a.rs", 0));
    }

    #[test]
    fn tests_rank_lower_unless_they_have_the_name() {
        let score = |text: &str, kinds: &[(FeatureKind, u64)], info: RankingInfo, path: &str| {
            with(text, kinds, |scorer, features| {
                scorer.reasons(&scorer.candidate(features, info), &entry(path), 0).final_score
            })
        };
        let plain = info(SymbolKind::Fn);
        let in_test = RankingInfo { is_test: true, ..plain };
        let word = [(FeatureKind::Word(0), 3)];
        assert!(score("run", &word, plain, "src/a.rs") > 1.5 * score("run", &word, plain, "tests/a.rs"));
        assert_eq!(score("run", &word, in_test, "tests/a.rs"), score("run", &word, plain, "tests/a.rs"));
        assert!(score("run", &word, in_test, "src/a.rs") < score("run", &word, plain, "src/a.rs"));
        assert_eq!(score("run test", &word, in_test, "src/a.rs"), score("run test", &word, plain, "src/a.rs"));
        let name = [(FeatureKind::Name, 1), (FeatureKind::Word(0), 3)];
        assert!(score("run", &name, plain, "tests/a.rs") > score("run", &word, plain, "src/a.rs"));
    }

    #[test]
    fn what_programs_wrote_ranks_lower_and_keeps_its_name() {
        let score = |kinds: &[(FeatureKind, u64)], provenance| {
            with("run", kinds, |scorer, features| {
                let mut entry = entry("src/a.rs");
                entry.class.provenance = provenance;
                scorer.reasons(&scorer.candidate(features, info(SymbolKind::Fn)), &entry, 0)
            })
        };
        let word = [(FeatureKind::Word(0), 3)];
        let name = [(FeatureKind::Name, 1), (FeatureKind::Word(0), 3)];
        for provenance in [Provenance::Generated, Provenance::Minified] {
            let written = score(&word, Provenance::Written);
            let demoted = score(&word, provenance);
            assert!(written.final_score > 1.5 * demoted.final_score, "{written:?} {demoted:?}");
            let written = score(&name, Provenance::Written);
            let demoted = score(&name, provenance);
            assert!(written.final_score > demoted.final_score && demoted.exact_match_boost == 1.0, "{demoted:?}");
            assert!(demoted.final_score > score(&word, Provenance::Written).final_score);
        }
    }

    #[test]
    fn sentences_about_actions_prefer_functions_to_fields() {
        let value = |text: &str, kind| with(text, &[], |scorer, _| scorer.candidate(0, info(kind)).definition);
        for (text, kind) in [("split the path", SymbolKind::Method), ("the segments of a path", SymbolKind::Struct)] {
            assert!(value(text, kind) > 2.0 * value(text, SymbolKind::Field), "{text}");
        }
        assert!(value("split the path", SymbolKind::Method) > value("split the path", SymbolKind::Struct));
        assert!(value("the segments of a path", SymbolKind::Struct) > value("split the path", SymbolKind::Struct));
        assert_eq!(value("split_path", SymbolKind::Field), 0.7);
    }

    #[test]
    fn near_names_rank_between_exact_and_other_names() {
        let exact = |kinds: &[(FeatureKind, u64)]| {
            with("parse_conf", kinds, |scorer, features| {
                rounded(scorer.candidate(features, info(SymbolKind::Fn)).exact)
            })
        };
        let one = exact(&[(FeatureKind::NearName(1), 1)]);
        let two = exact(&[(FeatureKind::NearName(2), 1)]);
        assert!(exact(&[(FeatureKind::NormalizedName, 1)]) > one && one > two);
        assert!(two > exact(&[(FeatureKind::Word(0), 1), (FeatureKind::NearWord(1), 1)]));
        assert!(exact(&[(FeatureKind::Word(0), 1), (FeatureKind::NearWord(1), 1)]) > 0.5);
    }

    #[test]
    fn definitions_rank_by_kind_and_visibility() {
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
        let kinds = [
            (FeatureKind::Name, 1),
            (FeatureKind::Word(0), 5),
            (FeatureKind::Doc(1), 90),
            (FeatureKind::Scope(1), 7),
            (FeatureKind::DocPair(0), 2),
        ];
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
