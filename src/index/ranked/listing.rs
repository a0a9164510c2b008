//! Lists the symbols of a manifest that pass filters, without ranking them: in the order of their files, then of the source.
//!
//! It reads columns and, for an expression, the dictionary of names; never the facts. Invariants: the total counts every symbol that passes; the
//! result doesn't depend on segments; memory depends on the limit and on the number of files only.

use std::collections::HashSet;

use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED};

use crate::{ContentNo, Language, ManifestEntry};
use codeyard_model::code::{QueryIntent, RankingReasons, SymbolKind};

use super::index_view::{SHOWN_NOWHERE, SHOWN_SEVERAL, SegmentColumns, SymbolIndexView};
use super::schema::RankingInfo;
use super::symbol_index::SymbolIndexError;
use super::top_hits::TopHits;
use super::{RankedHit, RankedHits};

/// Which symbols are listed.
#[derive(Clone, Copy)]
pub struct SymbolListing<'a> {
    /// Only these kinds; all but imports if there are none.
    pub kinds: &'a [SymbolKind],
    /// None of these kinds.
    pub excluded_kinds: &'a [SymbolKind],
    /// Only files in this language.
    pub language: Option<Language>,
    /// Only files that pass this filter.
    pub filter: &'a dyn Fn(&ManifestEntry) -> bool,
    /// Only names that pass this filter.
    pub name: Option<&'a dyn Fn(&str) -> bool>,
    pub limit: usize,
}

impl SymbolListing<'_> {
    fn has_kind(&self, kind: SymbolKind) -> bool {
        let has = |kinds: &[SymbolKind]| kinds.iter().any(|wanted| wanted.covers(kind));
        let is_listed = if self.kinds.is_empty() { kind != SymbolKind::Use } else { has(self.kinds) };
        is_listed && !has(self.excluded_kinds)
    }
}

struct Listing<'a> {
    view: &'a SymbolIndexView,
    of: SymbolListing<'a>,
    top: TopHits,
    total: usize,
    /// By entry: whether its file passes, if that is known.
    passing: Vec<Option<bool>>,
}

impl SymbolIndexView {
    /// The symbols that pass, in the order of paths and of the source. Their scores are 0.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn list(&self, of: SymbolListing<'_>) -> Result<RankedHits, SymbolIndexError> {
        let passing = vec![None; self.manifest.entries().len()];
        let mut listing = Listing { view: self, of, top: TopHits::new(of.limit), total: 0, passing };
        for (segment, columns) in self.searcher.segment_readers().iter().zip(&self.columns) {
            match of.name {
                Some(passes) => listing.add_named(segment, columns, passes)?,
                None => (0..segment.max_doc()).for_each(|doc| listing.add(segment, columns, doc)),
            }
        }
        let Listing { top, total, .. } = listing;
        Ok(RankedHits { hits: top.into_hits(), total, intent: QueryIntent::Symbol, ..RankedHits::default() })
    }
}

impl Listing<'_> {
    /// Adds the symbols whose name passes.
    fn add_named(
        &mut self,
        segment: &SegmentReader,
        columns: &SegmentColumns,
        passes: &dyn Fn(&str) -> bool,
    ) -> Result<(), SymbolIndexError> {
        let index = segment.inverted_index(self.view.name_field())?;
        let mut terms = index.terms().stream()?;
        // An import has several names.
        let mut seen: HashSet<DocId> = HashSet::new();
        while terms.advance() {
            if !std::str::from_utf8(terms.key()).is_ok_and(passes) {
                continue;
            }
            let mut docs = index.read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
            while docs.doc() != TERMINATED {
                if seen.insert(docs.doc()) {
                    self.add(segment, columns, docs.doc());
                }
                docs.advance();
            }
        }
        Ok(())
    }

    fn add(&mut self, segment: &SegmentReader, columns: &SegmentColumns, doc: DocId) {
        let content = columns.content.get_val(doc);
        let shown = self.view.entry_of(content);
        if shown == SHOWN_NOWHERE || segment.is_deleted(doc) {
            return;
        }
        let Some(info) = RankingInfo::unpacked(columns.info.get_val(doc)) else { return };
        if !self.of.has_kind(info.kind) || self.of.language.is_some_and(|of| of.number() != info.language) {
            return;
        }
        let view = self.view;
        let mut add = |at: usize| {
            let Some(entry) = view.manifest.entries().get(at) else { return };
            if !*self.passing[at].get_or_insert_with(|| (self.of.filter)(entry)) {
                return;
            }
            self.total += 1;
            self.top.add(RankedHit {
                entry: at,
                content: content as ContentNo,
                ordinal: Some(info.ordinal),
                is_test: entry.class.is_test || info.is_test,
                reasons: RankingReasons::default(),
            });
        };
        if shown == SHOWN_SEVERAL {
            view.manifest.positions(content as ContentNo).for_each(add);
        } else {
            add(shown as usize);
        }
    }
}
