//! The state of one ranked query: considers candidates and keeps the best hits.
//!
//! Invariant: a candidate whose score can't reach the best hits is counted, but nothing else is computed for it.

use tantivy::DocId;

use crate::{ContentNo, ManifestEntry};
use codeyard_model::code::{QueryIntent, Weights};

use super::index_view::{SHOWN_NOWHERE, SHOWN_SEVERAL, SegmentColumns, SymbolIndexView};
use super::match_features::CandidatePlan;
use super::parsed_query::ParsedQuery;
use super::schema::RankingInfo;
use super::scoring::Scorer;
use super::statistics::QueryStatistics;
use super::symbol_index::SymbolIndexError;
use super::top_hits::{TopHits, micros};
use super::{RankedHit, RankedHits, RankedQuery};

/// `exact_match_boost` of a test's file whose path has all words of a sentence that asks for tests.
const TEST_FILE: f64 = 0.8;

/// The highest possible score of each set of features. The latest ones are cached.
struct ScoreBounds(Box<[(u64, u64)]>);

impl ScoreBounds {
    /// The number of cached sets; a power of two.
    const CAPACITY: usize = 1_024;

    fn new() -> Self {
        // The empty set is never looked up, so it can mark free places.
        Self(vec![(0, 0); Self::CAPACITY].into())
    }

    fn of(&mut self, features: u64, scorer: &Scorer) -> u64 {
        let at = features.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::CAPACITY.ilog2());
        let place = &mut self.0[at as usize];
        if place.0 != features {
            *place = (features, micros(scorer.bound_of_features(features)));
        }
        place.1
    }
}

/// The state of one query.
pub(super) struct RankedSearch<'a> {
    view: &'a SymbolIndexView,
    query: &'a RankedQuery<'a>,
    parsed: &'a ParsedQuery,
    top: TopHits,
    pub(super) total: usize,
    /// By entry: 0 if it hasn't been filtered yet, 1 if it was rejected, 2 if it passed, else 3 and the number of
    /// query words in its path.
    entry_states: Vec<u8>,
    bounds: ScoreBounds,
    /// Whether the qualifiers must match.
    pub(super) is_strict: bool,
    /// The statistics of all indexes that are searched; `None`: only this one is.
    pub(super) statistics: Option<&'a QueryStatistics>,
}

impl<'a> RankedSearch<'a> {
    pub(super) fn new(view: &'a SymbolIndexView, query: &'a RankedQuery<'a>, parsed: &'a ParsedQuery) -> Self {
        let entry_states = vec![0; view.manifest.entries().len()];
        Self {
            view,
            query,
            parsed,
            top: TopHits::new(query.limit),
            total: 0,
            entry_states,
            bounds: ScoreBounds::new(),
            is_strict: false,
            statistics: None,
        }
    }

    /// The entry, if it passes the filter.
    fn passing_entry(&mut self, at: usize) -> Option<&'a ManifestEntry> {
        let entry = self.view.manifest.entries().get(at)?;
        let state = self.entry_states.get_mut(at)?;
        if *state == 0 {
            *state = if self.query.filter.is_none_or(|filter| filter(entry)) { 2 } else { 1 };
        }
        (*state > 1).then_some(entry)
    }

    /// The number of query words in the path of an entry that passes.
    fn path_words(&mut self, at: usize) -> usize {
        let state = &mut self.entry_states[at];
        if *state == 2 {
            *state = 3 + self.view.paths.count_words(at, &self.parsed.words) as u8;
        }
        usize::from(*state - 3)
    }

    pub(super) fn files(&mut self, scorer: &Scorer) {
        let view = self.view;
        let mut found = Vec::new();
        match self.parsed.intent {
            QueryIntent::Path => view.paths.find_path(&self.parsed.whole, |entry, exact| found.push((entry, exact))),
            QueryIntent::Symbol if self.parsed.qualifiers.is_empty() && self.parsed.kind.is_none() => {
                view.paths.find_stem(&self.parsed.name, |entry, exact| found.push((entry, exact)));
            }
            _ if self.parsed.asks_for_tests => found = self.test_files(),
            QueryIntent::Symbol | QueryIntent::Error | QueryIntent::NaturalLanguage => {}
        }
        for (at, exact) in found {
            let Some(entry) = self.passing_entry(at) else { continue };
            if self.query.language.is_some_and(|language| entry.language != Some(language)) {
                continue;
            }
            self.total += 1;
            let reasons = scorer.file(exact, entry, self.path_words(at));
            let content = entry.content;
            let is_test = entry.class.is_test;
            self.top.add(RankedHit { entry: at, content, ordinal: None, is_test, reasons });
        }
    }

    /// The files of tests whose path has words of the query, and how well it matches. Many tests have no name of their own: calls
    /// of `test(…)`, or one function in each file.
    fn test_files(&self) -> Vec<(usize, f64)> {
        let is_subject = |word: &&String| !matches!(word.as_str(), "test" | "unit" | "unittest" | "spec" | "cas");
        let subject: Vec<String> = self.parsed.words.iter().filter(is_subject).cloned().collect();
        let entries = self.view.manifest.entries().iter().enumerate().filter(|(_, entry)| entry.class.is_test);
        let with_share = entries.map(|(at, _)| {
            let share = self.view.paths.count_words(at, &subject) as f64 / subject.len().max(1) as f64;
            (at, TEST_FILE * share * share)
        });
        with_share.filter(|(_, exact)| *exact > 0.0).collect()
    }

    pub(super) fn symbols(&mut self, mut plan: CandidatePlan, weights: &Weights) -> Result<(), SymbolIndexError> {
        let view = self.view;
        view.recount(&mut plan)?;
        let mut symbols = view.symbols;
        if let Some(sums) = self.statistics {
            sums.apply(&mut plan.features);
            symbols = sums.symbols();
        }
        let scorer = Scorer::new(self.parsed, weights, self.query.kind, &plan.features, symbols);
        let counts_all = self.counts_all();
        for (nth, (segment, columns)) in view.searcher.segment_readers().iter().zip(&view.columns).enumerate() {
            let has_deletes = segment.has_deletes();
            plan.candidates(nth, segment, |doc, features| {
                // The score of most candidates can't reach the best hits. They are only counted, once for each file
                // that has them.
                let is_out_of_reach = counts_all && !self.top.may_keep(self.bounds.of(features, &scorer));
                let is_irregular = columns.is_irregular(doc);
                if is_out_of_reach && !is_irregular {
                    self.total += 1;
                } else if !(is_irregular && has_deletes && segment.is_deleted(doc)) {
                    self.consider(&scorer, columns, is_out_of_reach, doc, features);
                }
            })?;
        }
        Ok(())
    }

    fn consider(
        &mut self,
        scorer: &Scorer,
        columns: &SegmentColumns,
        is_out_of_reach: bool,
        doc: DocId,
        features: u64,
    ) {
        let content = columns.content.get_val(doc);
        let shown = self.view.entry_of(content);
        if shown == SHOWN_NOWHERE {
            return;
        }
        if is_out_of_reach {
            let files =
                if shown == SHOWN_SEVERAL { self.view.manifest.positions(content as ContentNo).count() } else { 1 };
            self.total += files;
            return;
        }
        let Some(info) = RankingInfo::unpacked(columns.info.get_val(doc)) else { return };
        if self.query.kind.is_some_and(|kind| !kind.covers(info.kind))
            || self.query.language.is_some_and(|language| language.number() != info.language)
        {
            return;
        }
        let candidate = scorer.candidate(features, info);
        let may_keep_hit = self.top.may_keep(micros(scorer.bound(&candidate)));
        let view = self.view;
        let content = content as ContentNo;
        let mut add = |at: usize| {
            let Some(entry) = self.passing_entry(at) else { return };
            if self.is_strict && !scorer.is_qualified(&candidate, entry) {
                return;
            }
            self.total += 1;
            if may_keep_hit {
                let words = self.path_words(at);
                let reasons = scorer.reasons(&candidate, entry, words);
                let is_test = entry.class.is_test || info.is_test;
                self.top.add(RankedHit { entry: at, content, ordinal: Some(info.ordinal), is_test, reasons });
            }
        };
        if shown == SHOWN_SEVERAL {
            view.manifest.positions(content).for_each(add);
        } else {
            add(shown as usize);
        }
    }

    /// Whether every symbol of the manifest passes.
    fn counts_all(&self) -> bool {
        self.query.kind.is_none() && self.query.language.is_none() && self.query.filter.is_none() && !self.is_strict
    }

    pub(super) fn into_results(self) -> RankedHits {
        let intent = self.parsed.intent;
        let wants_tests = self.parsed.wants_tests;
        RankedHits { hits: self.top.into_hits(), total: self.total, intent, wants_tests, ..RankedHits::default() }
    }
}
