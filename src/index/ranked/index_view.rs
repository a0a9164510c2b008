//! One published state of the symbol index beside one manifest: where questions are answered.

use std::sync::Arc;

use tantivy::columnar::ColumnValues;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Searcher, TERMINATED, Term};

use crate::limits::MAX_RANKED_TEXT_BYTES;
use crate::{ContentNo, ManifestEntry, Manifest};
use codeyard_model::code::{QueryIntent, Weights};

use super::scoring::Scorer;
use super::path_table::PathTable;
use super::parsed_query::ParsedQuery;
use super::match_features::CandidatePlan;
use super::schema::{Fields, RankingInfo};
use super::symbol_index::SymbolIndexError;
use super::top_hits::{TopHits, micros};
use super::tokenizer::truncate_str;
use super::{RankedHits, RankedQuery};

/// No file shows the content.
const SHOWN_NOWHERE: u32 = u32::MAX;
/// Several files show the content.
const SHOWN_SEVERAL: u32 = u32::MAX - 1;
/// Documents whose column is read at once.
const BLOCK: usize = 1_024;

/// See the module. Doesn't change; shared by all questions of its generation.
pub struct SymbolIndexView {
    searcher: Searcher,
    fields: Fields,
    manifest: Arc<Manifest>,
    /// By content: the entry that shows it, [`SHOWN_SEVERAL`] or [`SHOWN_NOWHERE`].
    shown: Box<[u32]>,
    paths: PathTable,
    columns: Vec<SegmentColumns>,
    /// Symbols that the manifest shows; one of a content that several files show counts once.
    symbols: u64,
    /// The index holds no others.
    is_all: bool,
}

struct SegmentColumns {
    content: Arc<dyn ColumnValues<u64>>,
    info: Arc<dyn ColumnValues<u64>>,
    /// One bit for each document: it was removed, or not exactly one file shows it.
    odd: Box<[u64]>,
}

impl SegmentColumns {
    fn is_odd(&self, doc: DocId) -> bool {
        self.odd.get(doc as usize / 64).is_none_or(|word| word & (1 << (doc % 64)) != 0)
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
            let column =
                |name| -> Result<_, SymbolIndexError> { Ok(segment.fast_fields().u64(name)?.first_or_default_col(u64::MAX)) };
            columns.push(SegmentColumns { content: column("content")?, info: column("info")?, odd: Box::default() });
        }
        let paths = PathTable::new(&manifest);
        let shown = shown.into();
        let mut view = Self { searcher, fields, manifest, shown, paths, columns, symbols: 0, is_all: false };
        view.count();
        Ok(view)
    }

    /// Looks at each document once: whether and how it is shown.
    fn count(&mut self) {
        let (mut all, mut symbols) = (0, 0);
        let mut columns = std::mem::take(&mut self.columns);
        let mut block = [0; BLOCK];
        for (segment, columns) in self.searcher.segment_readers().iter().zip(&mut columns) {
            let mut odd = vec![0_u64; (segment.max_doc() as usize).div_ceil(64)];
            all += u64::from(segment.max_doc());
            let mut from = 0;
            while from < segment.max_doc() {
                let length = BLOCK.min((segment.max_doc() - from) as usize);
                columns.content.get_range(u64::from(from), &mut block[..length]);
                for (doc, content) in (from..).zip(&block[..length]) {
                    let shown = self.where_shown(*content);
                    let is_shown = shown != SHOWN_NOWHERE && !segment.is_deleted(doc);
                    symbols += u64::from(is_shown);
                    odd[doc as usize / 64] |= u64::from(!is_shown || shown == SHOWN_SEVERAL) << (doc % 64);
                }
                from += length as u32;
            }
            columns.odd = odd.into();
        }
        (self.columns, self.symbols, self.is_all) = (columns, symbols, all == symbols);
    }

    fn where_shown(&self, content: u64) -> u32 {
        usize::try_from(content).ok().and_then(|content| self.shown.get(content)).copied().unwrap_or(SHOWN_NOWHERE)
    }

    /// The manifest that it shows.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// The symbols with this stable key, each by the position of its entry and its ordinal, in that order.
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
                if let (Some(info), true) = (info, self.where_shown(content) != SHOWN_NOWHERE) {
                    found.extend(self.manifest.positions(content as ContentNo).map(|at| (at, info.ordinal)));
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Symbols of the contents that the manifest shows.
    pub fn symbol_count(&self) -> u64 {
        self.symbols
    }

    /// Symbols and files that a name or words may mean, the best first.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn search(&self, ask: &RankedQuery, weights: &Weights) -> Result<RankedHits, SymbolIndexError> {
        let parsed = ParsedQuery::read(truncate_str(ask.text, MAX_RANKED_TEXT_BYTES));
        let mut work = RankedSearch::new(self, ask, &parsed);
        if ask.files && ask.kind.is_none() && matches!(parsed.intent, QueryIntent::Path | QueryIntent::Symbol) {
            work.files(&Scorer::new(&parsed, weights, ask.kind, &[], 0));
        }
        let mut is_cut = false;
        if parsed.intent != QueryIntent::Path || work.total == 0 {
            let plan = CandidatePlan::search(&self.searcher, self.fields, &parsed)?;
            is_cut = plan.is_truncated;
            work.symbols(plan, weights)?;
        }
        Ok(work.into_results(is_cut))
    }

    /// Symbols that are called so, but for case and separators; what stands around a name may stand before it. Those spelt exactly so
    /// hide the others.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn locate(&self, ask: &RankedQuery, weights: &Weights) -> Result<RankedHits, SymbolIndexError> {
        let parsed = ParsedQuery { intent: QueryIntent::Symbol, ..ParsedQuery::read(truncate_str(ask.text, MAX_RANKED_TEXT_BYTES)) };
        for plan in CandidatePlan::locate(&self.searcher, self.fields, &parsed)? {
            let mut work = RankedSearch::new(self, ask, &parsed);
            work.is_strict = true;
            work.symbols(plan, weights)?;
            if work.total > 0 {
                return Ok(work.into_results(false));
            }
        }
        Ok(RankedSearch::new(self, ask, &parsed).into_results(false))
    }
}

/// By set of features: the most that a score can be. FeatureKind is parsed most is remembered.
struct ScoreBounds(Box<[(u64, u64)]>);

impl ScoreBounds {
    /// Sets that are remembered; a power of two.
    const PLACES: usize = 1_024;

    fn new() -> Self {
        // The empty set is never parsed about.
        Self(vec![(0, 0); Self::PLACES].into())
    }

    fn of(&mut self, features: u64, scorer: &Scorer) -> u64 {
        let at = features.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::PLACES.ilog2());
        let place = &mut self.0[at as usize];
        if place.0 != features {
            *place = (features, micros(scorer.bound_of_features(features)));
        }
        place.1
    }
}

/// One question under way.
struct RankedSearch<'a> {
    view: &'a SymbolIndexView,
    ask: &'a RankedQuery<'a>,
    parsed: &'a ParsedQuery,
    top: TopHits,
    total: usize,
    /// By entry: 0 if it wasn't looked at yet, 1 if it doesn't pass, else 2 and how many words its path holds.
    known: Vec<u8>,
    bounds: ScoreBounds,
    /// FeatureKind stands before the name must be around it or in its path.
    is_strict: bool,
}

impl<'a> RankedSearch<'a> {
    fn new(view: &'a SymbolIndexView, ask: &'a RankedQuery<'a>, parsed: &'a ParsedQuery) -> Self {
        let known = vec![0; view.manifest.entries().len()];
        Self { view, ask, parsed, top: TopHits::new(ask.limit), total: 0, known, bounds: ScoreBounds::new(), is_strict: false }
    }

    /// The entry, if it passes.
    fn passing(&mut self, at: usize) -> Option<&'a ManifestEntry> {
        let entry = self.view.manifest.entries().get(at)?;
        let known = self.known.get_mut(at)?;
        if *known == 0 {
            *known = if self.ask.filter.is_none_or(|filter| filter(entry)) { 2 } else { 1 };
        }
        (*known > 1).then_some(entry)
    }

    /// How many of the question's words the path of a passing entry holds.
    fn path_words(&mut self, at: usize) -> usize {
        let known = &mut self.known[at];
        if *known == 2 {
            *known = 3 + self.view.paths.count_words(at, &self.parsed.words) as u8;
        }
        usize::from(*known - 3)
    }

    fn files(&mut self, scorer: &Scorer) {
        let view = self.view;
        let mut found = Vec::new();
        match self.parsed.intent {
            QueryIntent::Path => view.paths.find_path(&self.parsed.whole, |entry, exact| found.push((entry, exact))),
            _ if self.parsed.qualifiers.is_empty() && self.parsed.kind.is_none() => {
                view.paths.find_stem(&self.parsed.name, |entry, exact| found.push((entry, exact)));
            }
            _ => {}
        }
        for (at, exact) in found {
            let Some(entry) = self.passing(at) else { continue };
            if self.ask.language.is_some_and(|language| entry.language != Some(language)) {
                continue;
            }
            self.total += 1;
            let reasons = scorer.file(exact, entry, self.path_words(at));
            self.top.take(at, entry.content, None, reasons);
        }
    }

    fn symbols(&mut self, mut plan: CandidatePlan, weights: &Weights) -> Result<(), SymbolIndexError> {
        let view = self.view;
        if !view.is_all {
            plan.recount(&view.searcher, |segment, docs| view.count_shown(segment, docs))?;
        }
        let scorer = Scorer::new(self.parsed, weights, self.ask.kind, &plan.features, view.symbols);
        let counts_all = self.counts_all();
        for (nth, (segment, columns)) in view.searcher.segment_readers().iter().zip(&view.columns).enumerate() {
            let has_deletes = segment.has_deletes();
            plan.candidates(nth, segment, |doc, features| {
                // Most candidates are too far behind to look at. They only count, once for each file that shows them.
                let is_hopeless = counts_all && !self.top.may_take(self.bounds.of(features, &scorer));
                let is_odd = columns.is_odd(doc);
                if is_hopeless && !is_odd {
                    self.total += 1;
                } else if !(is_odd && has_deletes && segment.is_deleted(doc)) {
                    self.consider(&scorer, columns, is_hopeless, doc, features);
                }
            })?;
        }
        Ok(())
    }

    fn consider(&mut self, scorer: &Scorer, columns: &SegmentColumns, is_hopeless: bool, doc: DocId, features: u64) {
        let content = columns.content.get_val(doc);
        let shown = self.view.where_shown(content);
        if shown == SHOWN_NOWHERE {
            return;
        }
        if is_hopeless {
            let files = if shown == SHOWN_SEVERAL { self.view.manifest.positions(content as ContentNo).count() } else { 1 };
            self.total += files;
            return;
        }
        let Some(info) = RankingInfo::unpacked(columns.info.get_val(doc)) else { return };
        if self.ask.kind.is_some_and(|kind| kind != info.kind)
            || self.ask.language.is_some_and(|language| language.number() != info.language)
        {
            return;
        }
        let candidate = scorer.candidate(features, info);
        let may_be_kept = self.top.may_take(micros(scorer.bound(&candidate)));
        let view = self.view;
        let content = content as ContentNo;
        let mut one = |at: usize| {
            let Some(entry) = self.passing(at) else { return };
            if self.is_strict && !scorer.is_qualified(&candidate, entry) {
                return;
            }
            self.total += 1;
            if may_be_kept {
                let words = self.path_words(at);
                self.top.take(at, content, Some(info.ordinal), scorer.reasons(&candidate, entry, words));
            }
        };
        if shown == SHOWN_SEVERAL {
            view.manifest.positions(content).for_each(one);
        } else {
            one(shown as usize);
        }
    }

    /// Whatever the manifest shows passes.
    fn counts_all(&self) -> bool {
        self.ask.kind.is_none() && self.ask.language.is_none() && self.ask.filter.is_none() && !self.is_strict
    }

    fn into_results(self, is_truncated: bool) -> RankedHits {
        RankedHits { hits: self.top.into_hits(), total: self.total, intent: self.parsed.intent, is_truncated }
    }
}

impl SymbolIndexView {
    /// How many of these documents the manifest shows.
    fn count_shown(&self, segment: usize, docs: &mut dyn Iterator<Item = DocId>) -> u64 {
        let (Some(columns), Some(reader)) = (self.columns.get(segment), self.searcher.segment_readers().get(segment))
        else {
            return 0;
        };
        let shown =
            docs.filter(|doc| !reader.is_deleted(*doc) && self.where_shown(columns.content.get_val(*doc)) != SHOWN_NOWHERE);
        shown.count() as u64
    }
}
