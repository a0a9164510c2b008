//! One state of the symbol index, restricted to the symbols of one manifest. It answers ranked queries.

use std::sync::Arc;

use tantivy::columnar::ColumnValues;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Searcher, TERMINATED, Term};

use crate::{ContentNo, Manifest};
use codeyard_model::code::{QueryIntent, Weights};

use super::feature_kinds::FeatureKind;
use super::match_features::CandidatePlan;
use super::matched_words::NORMALIZED_NAME;
use super::parsed_query::ParsedQuery;
use super::path_table::PathTable;
use super::ranked_search::RankedSearch;
use super::schema::{Fields, RankingInfo};
use super::scoring::Scorer;
use super::statistics::QueryStatistics;
use super::symbol_index::SymbolIndexError;
use super::tokenizer::truncate_str;
use super::{RankedHit, RankedHits, RankedQuery};

/// Longest ranked query, in bytes; longer ones are cut.
const MAX_RANKED_TEXT_BYTES: usize = 1_024;

/// No file has the content.
pub(super) const SHOWN_NOWHERE: u32 = u32::MAX;
/// Several files have the content.
pub(super) const SHOWN_SEVERAL: u32 = u32::MAX - 1;
/// Documents whose column is read at once.
const BLOCK: usize = 1_024;

/// One state of the symbol index beside one manifest. Immutable; shared by all queries of its generation.
pub struct SymbolIndexView {
    pub(super) searcher: Searcher,
    fields: Fields,
    pub(super) manifest: Arc<Manifest>,
    /// By content: the index of the entry that has it, [`SHOWN_SEVERAL`] or [`SHOWN_NOWHERE`].
    shown: Box<[u32]>,
    pub(super) paths: PathTable,
    pub(super) columns: Vec<SegmentColumns>,
    /// The number of symbols of the manifest. A content that several files have counts once.
    pub(super) symbols: u64,
    /// Whether the index has no other symbols.
    pub(super) has_all_symbols: bool,
}

pub(super) struct SegmentColumns {
    pub(super) content: Arc<dyn ColumnValues<u64>>,
    pub(super) info: Arc<dyn ColumnValues<u64>>,
    /// One bit per document: it was deleted, or the number of files with its content isn't one.
    irregular: Box<[u64]>,
}

impl SegmentColumns {
    pub(super) fn is_irregular(&self, doc: DocId) -> bool {
        self.irregular.get(doc as usize / 64).is_none_or(|word| word & (1 << (doc % 64)) != 0)
    }
}

impl SymbolIndexView {
    pub(super) fn new(searcher: Searcher, fields: Fields, manifest: Arc<Manifest>) -> Result<Self, SymbolIndexError> {
        let highest = manifest.entries().iter().map(|entry| entry.content as usize + 1).max().unwrap_or(0);
        let mut shown = vec![SHOWN_NOWHERE; highest];
        for (at, entry) in (0_u32..).zip(manifest.entries()) {
            let slot = &mut shown[entry.content as usize];
            *slot = if *slot == SHOWN_NOWHERE { at } else { SHOWN_SEVERAL };
        }
        let mut columns = Vec::new();
        for segment in searcher.segment_readers() {
            let column = |name| -> Result<_, SymbolIndexError> {
                Ok(segment.fast_fields().u64(name)?.first_or_default_col(u64::MAX))
            };
            columns.push(SegmentColumns {
                content: column("content")?,
                info: column("info")?,
                irregular: Box::default(),
            });
        }
        let paths = PathTable::new(&manifest);
        let shown = shown.into();
        let mut view = Self { searcher, fields, manifest, shown, paths, columns, symbols: 0, has_all_symbols: false };
        view.count_symbols();
        Ok(view)
    }

    /// Reads the content of each document once: counts the manifest's symbols and fills `irregular`.
    fn count_symbols(&mut self) {
        let mut all = 0;
        let mut symbols = 0;
        let mut columns = std::mem::take(&mut self.columns);
        let mut block = [0; BLOCK];
        for (segment, columns) in self.searcher.segment_readers().iter().zip(&mut columns) {
            let mut irregular = vec![0_u64; (segment.max_doc() as usize).div_ceil(64)];
            all += u64::from(segment.max_doc());
            let mut from = 0;
            while from < segment.max_doc() {
                let length = BLOCK.min((segment.max_doc() - from) as usize);
                columns.content.get_range(u64::from(from), &mut block[..length]);
                for (doc, content) in (from..).zip(&block[..length]) {
                    let shown = self.entry_of(*content);
                    let is_shown = shown != SHOWN_NOWHERE && !segment.is_deleted(doc);
                    symbols += u64::from(is_shown);
                    irregular[doc as usize / 64] |= u64::from(!is_shown || shown == SHOWN_SEVERAL) << (doc % 64);
                }
                from += length as u32;
            }
            columns.irregular = irregular.into();
        }
        (self.columns, self.symbols, self.has_all_symbols) = (columns, symbols, all == symbols);
    }

    pub(super) fn entry_of(&self, content: u64) -> u32 {
        usize::try_from(content).ok().and_then(|content| self.shown.get(content)).copied().unwrap_or(SHOWN_NOWHERE)
    }

    /// The field whose terms are names.
    pub(super) fn name_field(&self) -> Field {
        self.fields.name
    }

    /// The manifest.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// The symbols with this stable key: the index of the entry and the ordinal of each, sorted.
    pub fn stable(&self, key: u64) -> Vec<(usize, u32)> {
        let term = Term::from_field_u64(self.fields.stable, key);
        let mut found = Vec::new();
        for (segment, columns) in self.searcher.segment_readers().iter().zip(&self.columns) {
            let Ok(index) = segment.inverted_index(self.fields.stable) else { continue };
            let Ok(Some(mut docs)) = index.read_postings(&term, IndexRecordOption::Basic) else { continue };
            while docs.doc() != TERMINATED {
                let doc = docs.doc();
                docs.advance();
                let content = columns.content.get_val(doc);
                let info = RankingInfo::unpacked(columns.info.get_val(doc)).filter(|_| !segment.is_deleted(doc));
                if let (Some(info), true) = (info, self.entry_of(content) != SHOWN_NOWHERE) {
                    found.extend(self.manifest.positions(content as ContentNo).map(|at| (at, info.ordinal)));
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// The number of symbols of the manifest's contents.
    pub fn symbol_count(&self) -> u64 {
        self.symbols
    }

    /// The symbols and files that best match a name or words, best first.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn search(&self, query: &RankedQuery, weights: &Weights) -> Result<RankedHits, SymbolIndexError> {
        self.search_among(query, weights, None)
    }

    /// How often the features of a query occur among the symbols of the manifest.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn statistics(&self, query: &RankedQuery) -> Result<QueryStatistics, SymbolIndexError> {
        let parsed = ParsedQuery::parse(truncate_str(query.text, MAX_RANKED_TEXT_BYTES));
        let mut plan = CandidatePlan::search(&self.searcher, self.fields, &parsed)?;
        self.recount(&mut plan)?;
        Ok(QueryStatistics::new(self.symbols, &plan.features))
    }

    /// The same as [`Self::search`], with scores that are comparable with those of other indexes: `statistics` are the sums over
    /// all of them. `None`: those of this index alone.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn search_among(
        &self,
        query: &RankedQuery,
        weights: &Weights,
        statistics: Option<&QueryStatistics>,
    ) -> Result<RankedHits, SymbolIndexError> {
        let parsed = ParsedQuery::parse(truncate_str(query.text, MAX_RANKED_TEXT_BYTES));
        let mut search = RankedSearch::new(self, query, &parsed);
        search.statistics = statistics;
        let is_of_files = matches!(parsed.intent, QueryIntent::Path | QueryIntent::Symbol) || parsed.asks_for_tests;
        if query.files && query.kind.is_none() && is_of_files {
            search.files(&Scorer::new(&parsed, weights, query.kind, &[], 0));
        }
        let mut found = RankedHits::default();
        if parsed.intent != QueryIntent::Path || search.total == 0 {
            let mut plan = CandidatePlan::search(&self.searcher, self.fields, &parsed)?;
            self.recount(&mut plan)?;
            let exists = |field, term: &str| self.has_term(field, term);
            let has_name = statistics.map_or_else(|| plan.has_name(), QueryStatistics::has_name);
            if parsed.is_one_name() && !has_name {
                plan.add_nearest(&self.searcher, self.fields, &parsed, &exists)?;
                (found.is_unknown_name, found.nearest) = (true, std::mem::take(&mut plan.nearest));
            }
            let occurs_elsewhere = |word| statistics.is_some_and(|sums| sums.has_word(word));
            plan.add_near_words(&self.searcher, self.fields, &parsed, &occurs_elsewhere, &exists)?;
            found.is_begun_name = plan.features.iter().any(|feature| feature.kind == FeatureKind::NamePrefix);
            found.is_truncated = plan.is_truncated;
            search.symbols(plan, weights)?;
        }
        let RankedHits { hits, total, intent, wants_tests, .. } = search.into_results();
        let is_whole = |hit: &RankedHit| hit.ordinal.is_some() && hit.reasons.exact_match_boost >= NORMALIZED_NAME;
        found.is_whole_name = hits.iter().any(is_whole);
        Ok(RankedHits { hits, total, intent, wants_tests, ..found })
    }

    /// Restricts the frequencies of features to the manifest.
    pub(super) fn recount(&self, plan: &mut CandidatePlan) -> Result<(), SymbolIndexError> {
        if self.has_all_symbols {
            return Ok(());
        }
        plan.recount(&self.searcher, |segment, docs| self.count_in_manifest(segment, docs))
    }

    /// Whether a symbol of the manifest has this term, which the index has.
    fn has_term(&self, field: Field, term: &str) -> bool {
        if self.has_all_symbols {
            return true;
        }
        let term = Term::from_field_text(field, term);
        self.searcher.segment_readers().iter().zip(&self.columns).any(|(segment, columns)| {
            let postings = segment
                .inverted_index(field)
                .and_then(|index| Ok(index.read_postings(&term, IndexRecordOption::Basic)?));
            let Ok(Some(mut docs)) = postings else { return false };
            while docs.doc() != TERMINATED {
                let doc = docs.doc();
                if !segment.is_deleted(doc) && self.entry_of(columns.content.get_val(doc)) != SHOWN_NOWHERE {
                    return true;
                }
                docs.advance();
            }
            false
        })
    }

    /// The symbols whose names are nearly this name, nearest first: at most one or two letters are different.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn nearest(&self, query: &RankedQuery, weights: &Weights) -> Result<RankedHits, SymbolIndexError> {
        let parsed = ParsedQuery {
            intent: QueryIntent::Symbol,
            ..ParsedQuery::parse(truncate_str(query.text, MAX_RANKED_TEXT_BYTES))
        };
        let mut plan = CandidatePlan::default();
        plan.add_nearest(&self.searcher, self.fields, &parsed, &|field, term| self.has_term(field, term))?;
        let nearest = std::mem::take(&mut plan.nearest);
        let mut search = RankedSearch::new(self, query, &parsed);
        search.symbols(plan, weights)?;
        Ok(RankedHits { nearest, ..search.into_results() })
    }

    /// The symbols with this name, and with these qualifiers if the query has any. Ignores case and separators if no
    /// symbol has the exact spelling.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn locate(&self, query: &RankedQuery, weights: &Weights) -> Result<RankedHits, SymbolIndexError> {
        let text = truncate_str(query.text, MAX_RANKED_TEXT_BYTES);
        let parsed = ParsedQuery { intent: QueryIntent::Symbol, ..ParsedQuery::parse(text) };
        // A name may hold what is a kind, a call or a separator in a query: `Class reference`, `operator()`.
        let verbatim = ParsedQuery::verbatim(text);
        if verbatim.name != parsed.name {
            let [exact, _] = CandidatePlan::locate(&self.searcher, self.fields, &verbatim)?;
            let found = self.strictly(query, &verbatim, exact, weights)?;
            if found.total > 0 {
                return Ok(found);
            }
        }
        for plan in CandidatePlan::locate(&self.searcher, self.fields, &parsed)? {
            let found = self.strictly(query, &parsed, plan, weights)?;
            if found.total > 0 {
                return Ok(found);
            }
        }
        Ok(RankedSearch::new(self, query, &parsed).into_results())
    }

    /// The symbols of a plan whose qualifiers match.
    fn strictly(
        &self,
        query: &RankedQuery,
        parsed: &ParsedQuery,
        plan: CandidatePlan,
        weights: &Weights,
    ) -> Result<RankedHits, SymbolIndexError> {
        let mut search = RankedSearch::new(self, query, parsed);
        search.is_strict = true;
        search.symbols(plan, weights)?;
        Ok(search.into_results())
    }
}

impl SymbolIndexView {
    /// The number of these documents that belong to the manifest.
    fn count_in_manifest(&self, segment: usize, docs: &mut dyn Iterator<Item = DocId>) -> u64 {
        let (Some(columns), Some(reader)) = (self.columns.get(segment), self.searcher.segment_readers().get(segment))
        else {
            return 0;
        };
        let shown = docs
            .filter(|doc| !reader.is_deleted(*doc) && self.entry_of(columns.content.get_val(*doc)) != SHOWN_NOWHERE);
        shown.count() as u64
    }
}
