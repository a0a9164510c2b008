//! Finds the candidates of a ranked query: the terms to look up, and the documents that contain them.
//!
//! A *feature* is one way in which a symbol can match, such as "its name contains the second word". It consists of a
//! few terms of one field. A candidate is a document with the set of its features. The posting lists of the rarest
//! terms are scanned, up to `MAX_RANKED_POSTINGS` entries in total. The others are only probed for the documents that
//! the scan found.
//!
//! tantivy's own queries don't fit: they score each document, and don't say which terms matched.

use std::collections::BTreeSet;
use std::io;

use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};

use crate::limits::MAX_RANKED_POSTINGS;
use codeyard_model::code::QueryIntent;

use super::feature_kinds::{FeatureKind, MatchFeature};
use super::nearest::{NearTerm, TermCheck, nearest_terms};
use super::parsed_query::ParsedQuery;
use super::schema::{Fields, indexed_name, name_terms, pair_term, scope_term};
use super::symbol_index::SymbolIndexError;
use super::tokenizer::normalize;
use super::vocabulary::synonyms;

/// Terms that a prefix in a ranked query expands to.
const MAX_RANKED_EXPANSIONS: usize = 128;

/// Documents that are processed at once.
const WINDOW: u32 = 4_096;
/// Prefixes of fewer characters aren't expanded.
const MIN_PREFIX_CHARS: usize = 3;
/// The limit of features: one for each bit of a set.
const MAX_FEATURES: usize = 64;

struct FeatureTerm {
    feature: usize,
    field: Field,
    term: String,
    /// By segment: where its posting list is.
    postings: Vec<Option<TermInfo>>,
    frequency: u64,
    is_scanned: bool,
}

/// The terms of a query, and which of their posting lists are scanned.
#[derive(Default)]
pub(super) struct CandidatePlan {
    /// At most [`MAX_FEATURES`].
    pub features: Vec<MatchFeature>,
    /// Whether documents that contain common terms only are left out.
    pub is_truncated: bool,
    /// The normalized names that are nearly the query's name, nearest first.
    pub nearest: Vec<NearTerm>,
    terms: Vec<FeatureTerm>,
}

impl CandidatePlan {
    pub(super) fn search(searcher: &Searcher, fields: Fields, parsed: &ParsedQuery) -> Result<Self, SymbolIndexError> {
        let mut plan = Self::default();
        plan.names(searcher, fields, parsed)?;
        plan.add(searcher, FeatureKind::NormalizedName, fields.normalized, normalized_names(parsed))?;
        plan.qualifiers(searcher, fields, parsed)?;
        let normalized = normalize(&parsed.name);
        if normalized.chars().count() >= MIN_PREFIX_CHARS && parsed.intent == QueryIntent::Symbol {
            let terms = prefixed_terms(searcher, fields.normalized, &normalized)?;
            plan.add(searcher, FeatureKind::NamePrefix, fields.normalized, terms)?;
        }
        for (at, word) in parsed.words.iter().enumerate() {
            plan.add(searcher, FeatureKind::Word(at), fields.words, name_terms(word))?;
            if parsed.intent == QueryIntent::Symbol && word.chars().count() >= MIN_PREFIX_CHARS {
                let terms = prefixed_terms(searcher, fields.words, word)?;
                let own = format!("{word}:");
                let terms = terms.into_iter().filter(|term| !term.starts_with(&own));
                plan.add(searcher, FeatureKind::WordPrefix(at), fields.words, terms)?;
            }
            plan.add(searcher, FeatureKind::Scope(at), fields.scope, [word.clone()])?;
            plan.add(searcher, FeatureKind::Signature(at), fields.signature, [word.clone()])?;
            plan.add(searcher, FeatureKind::Doc(at), fields.doc, [word.clone()])?;
        }
        for (at, (one, two)) in parsed.pairs.iter().enumerate() {
            plan.add(searcher, FeatureKind::DocPair(at), fields.doc, [pair_term(one, two)])?;
        }
        if parsed.intent != QueryIntent::Symbol {
            plan.add(searcher, FeatureKind::MentionedName, fields.normalized, parsed.mentioned.iter().cloned())?;
            plan.synonyms(searcher, fields, parsed)?;
        }
        plan.choose_scanned();
        Ok(plan)
    }

    /// Adds the names that are nearly the query's name.
    pub(super) fn add_nearest(
        &mut self,
        searcher: &Searcher,
        fields: Fields,
        parsed: &ParsedQuery,
        exists: TermCheck<'_>,
    ) -> Result<(), SymbolIndexError> {
        let near = nearest_terms(searcher, fields.normalized, &normalize(&parsed.name), false, exists)?;
        for distance in [1, 2] {
            let terms = near.iter().filter(|(of, _)| *of == distance).map(|(_, term)| term.clone());
            self.add(searcher, FeatureKind::NearName(distance), fields.normalized, terms)?;
        }
        let spelt = nearest_terms(searcher, fields.name, &parsed.name, false, exists)?;
        self.add(searcher, FeatureKind::NearSpelling, fields.name, spelt.into_iter().map(|(_, term)| term))?;
        self.nearest = near;
        self.choose_scanned();
        Ok(())
    }

    /// Adds the words that mean the same as words of a sentence.
    fn synonyms(&mut self, searcher: &Searcher, fields: Fields, parsed: &ParsedQuery) -> Result<(), SymbolIndexError> {
        for (at, word) in parsed.words.iter().enumerate() {
            let others = synonyms(word).iter().filter(|other| !parsed.words.contains(other));
            let names: Vec<String> = others.clone().flat_map(|other| name_terms(other)).collect();
            self.add(searcher, FeatureKind::Synonym(at), fields.words, names)?;
            self.add(searcher, FeatureKind::DocSynonym(at), fields.doc, others.cloned())?;
        }
        Ok(())
    }

    /// Adds the nearest words of names for words that occur nowhere: neither here nor in other indexes that are searched.
    pub(super) fn add_near_words(
        &mut self,
        searcher: &Searcher,
        fields: Fields,
        parsed: &ParsedQuery,
        occurs_elsewhere: &dyn Fn(usize) -> bool,
        exists: TermCheck<'_>,
    ) -> Result<(), SymbolIndexError> {
        for (at, word) in parsed.words.iter().enumerate() {
            let occurs = self.features.iter().any(|feature| feature.kind.word() == Some(at) && feature.frequency > 0);
            if !occurs && !occurs_elsewhere(at) {
                let near = nearest_terms(searcher, fields.words, word, true, exists)?;
                self.add(searcher, FeatureKind::NearWord(at), fields.words, near.into_iter().map(|(_, term)| term))?;
            }
        }
        self.choose_scanned();
        Ok(())
    }

    /// Whether any document has the query's name.
    pub(super) fn has_name(&self) -> bool {
        self.features.iter().any(|feature| feature.kind.is_whole_name() && feature.frequency > 0)
    }

    /// The plans of a search for a name: the exact spelling, and the name without case and separators.
    pub(super) fn locate(
        searcher: &Searcher,
        fields: Fields,
        parsed: &ParsedQuery,
    ) -> Result<[Self; 2], SymbolIndexError> {
        let mut exact = Self::default();
        exact.names(searcher, fields, parsed)?;
        let mut loose = Self::default();
        let name = normalize(&parsed.name);
        loose.add(
            searcher,
            FeatureKind::NormalizedName,
            fields.normalized,
            Some(name).filter(|name| !name.is_empty()),
        )?;
        for plan in [&mut exact, &mut loose] {
            plan.qualifiers(searcher, fields, parsed)?;
            plan.choose_scanned();
        }
        Ok([exact, loose])
    }

    fn names(&mut self, searcher: &Searcher, fields: Fields, parsed: &ParsedQuery) -> Result<(), SymbolIndexError> {
        self.add(searcher, FeatureKind::Name, fields.name, [indexed_name(&parsed.name).to_owned()])?;
        let whole = Some(indexed_name(&parsed.whole).to_owned()).filter(|whole| *whole != parsed.name);
        self.add(searcher, FeatureKind::QualifiedName, fields.name, whole)
    }

    fn qualifiers(
        &mut self,
        searcher: &Searcher,
        fields: Fields,
        parsed: &ParsedQuery,
    ) -> Result<(), SymbolIndexError> {
        for (at, qualifier) in parsed.qualifiers.iter().enumerate() {
            self.add(searcher, FeatureKind::Qualifier(at), fields.scope, [scope_term(qualifier)])?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        searcher: &Searcher,
        kind: FeatureKind,
        field: Field,
        terms: impl IntoIterator<Item = String>,
    ) -> Result<(), SymbolIndexError> {
        let feature = self.features.len();
        let mut total = 0;
        let segments = searcher.segment_readers().iter().map(|segment| segment.inverted_index(field));
        let segments = segments.collect::<tantivy::Result<Vec<_>>>()?;
        for term in terms {
            let named = Term::from_field_text(field, &term);
            let postings =
                segments.iter().map(|segment| segment.get_term_info(&named)).collect::<io::Result<Vec<_>>>()?;
            let frequency = postings.iter().flatten().map(|info| u64::from(info.doc_freq)).sum();
            if frequency > 0 {
                total += frequency;
                self.terms.push(FeatureTerm { feature, field, term, postings, frequency, is_scanned: false });
            }
        }
        if total > 0 && feature < MAX_FEATURES {
            self.features.push(MatchFeature { kind, frequency: total });
        } else {
            self.terms.retain(|term| term.feature != feature);
        }
        Ok(())
    }

    /// Chooses the posting lists to scan: those of whole names always, then the rarest of the query's words, then those of
    /// words that mean the same.
    fn choose_scanned(&mut self) {
        let features = &self.features;
        let rank = |term: &FeatureTerm| match features[term.feature].kind {
            FeatureKind::MentionedName | FeatureKind::NearName(_) => 0,
            kind if kind.is_whole_name() => 0,
            FeatureKind::Synonym(_) | FeatureKind::DocSynonym(_) => 2,
            FeatureKind::Qualifier(_) => 3,
            _ => 1_u8,
        };
        self.terms.sort_by(|one, other| {
            (rank(one), one.frequency, one.feature, &one.term).cmp(&(
                rank(other),
                other.frequency,
                other.feature,
                &other.term,
            ))
        });
        let mut left = MAX_RANKED_POSTINGS;
        let mut is_truncated = false;
        for term in &mut self.terms {
            let rank = rank(term);
            term.is_scanned = rank == 0 || (rank <= 2 && term.frequency <= left);
            is_truncated |= rank == 1 && !term.is_scanned;
            if term.is_scanned {
                left = left.saturating_sub(term.frequency);
            }
        }
        self.is_truncated = is_truncated;
        // Common words that only mean the same aren't worth a probe for each candidate.
        self.terms.retain(|term| term.is_scanned || rank(term) != 2);
    }

    /// Counts the documents of each feature again, with `counts` as the filter. Terms that aren't scanned keep the
    /// frequency from the index.
    pub(super) fn recount(
        &mut self,
        searcher: &Searcher,
        counts: impl Fn(usize, &mut dyn Iterator<Item = DocId>) -> u64,
    ) -> Result<(), SymbolIndexError> {
        for feature in &mut self.features {
            feature.frequency = 0;
        }
        for term in &self.terms {
            let mut frequency = term.frequency;
            if term.is_scanned {
                frequency = 0;
                for (at, segment) in searcher.segment_readers().iter().enumerate() {
                    if let Some(postings) = postings(at, segment, term)? {
                        frequency += counts(at, &mut PostingDocs(postings));
                    }
                }
            }
            self.features[term.feature].frequency += frequency;
        }
        Ok(())
    }

    /// Calls `each` with every document of a segment that a scanned term contains, in ascending order, and the set of
    /// its features. `nth` is the index of the segment in the searcher.
    pub(super) fn candidates(
        &self,
        nth: usize,
        segment: &SegmentReader,
        mut each: impl FnMut(DocId, u64),
    ) -> Result<(), SymbolIndexError> {
        // Posting lists are large values, so they are moved once only.
        let scanned_count = self.terms.iter().filter(|term| term.is_scanned).count();
        let mut scanned = Vec::with_capacity(scanned_count);
        let mut probed = Vec::with_capacity(self.terms.len() - scanned_count);
        for term in &self.terms {
            if let Some(postings) = postings(nth, segment, term)? {
                let list = if term.is_scanned { &mut scanned } else { &mut probed };
                list.push((1_u64 << term.feature, postings));
            }
        }
        let mut features = vec![0_u64; WINDOW as usize];
        let mut touched = [0_u64; WINDOW as usize / 64];
        loop {
            scanned.retain(|(_, postings)| postings.doc() != TERMINATED);
            let Some(lowest) = scanned.iter().map(|(_, postings)| postings.doc()).min() else { return Ok(()) };
            let from = lowest - lowest % WINDOW;
            let end = from.saturating_add(WINDOW);
            for (feature, postings) in &mut scanned {
                let mut doc = postings.doc();
                while doc < end {
                    let at = (doc - from) as usize;
                    features[at] |= *feature;
                    touched[at / 64] |= 1 << (at % 64);
                    doc = postings.advance();
                }
            }
            for (block, bits) in touched.iter_mut().enumerate() {
                while *bits != 0 {
                    let at = block * 64 + bits.trailing_zeros() as usize;
                    *bits &= *bits - 1;
                    let doc = from + at as u32;
                    for (feature, postings) in &mut probed {
                        if postings.doc() < doc {
                            postings.seek(doc);
                        }
                        if postings.doc() == doc {
                            features[at] |= *feature;
                        }
                    }
                    each(doc, std::mem::take(&mut features[at]));
                }
            }
        }
    }
}

fn normalized_names(parsed: &ParsedQuery) -> BTreeSet<String> {
    [&parsed.name, &parsed.whole].into_iter().map(|name| normalize(name)).filter(|name| !name.is_empty()).collect()
}

/// Iterates over the documents of a posting list.
struct PostingDocs(SegmentPostings);

impl Iterator for PostingDocs {
    type Item = DocId;

    fn next(&mut self) -> Option<DocId> {
        let doc = self.0.doc();
        (doc != TERMINATED).then(|| {
            self.0.advance();
            doc
        })
    }
}

fn postings(
    nth: usize,
    segment: &SegmentReader,
    term: &FeatureTerm,
) -> Result<Option<SegmentPostings>, SymbolIndexError> {
    let Some(Some(info)) = term.postings.get(nth) else { return Ok(None) };
    let index = segment.inverted_index(term.field)?;
    Ok(Some(index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?))
}

/// The first terms that begin with `start`, in order, without `start` itself.
fn prefixed_terms(searcher: &Searcher, field: Field, start: &str) -> Result<Vec<String>, SymbolIndexError> {
    let mut found = BTreeSet::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(field)?;
        let mut terms = index.terms().range().gt(start).into_stream()?;
        for _ in 0..MAX_RANKED_EXPANSIONS {
            if !terms.advance() || !terms.key().starts_with(start.as_bytes()) {
                break;
            }
            found.insert(String::from_utf8_lossy(terms.key()).into_owned());
        }
    }
    Ok(found.into_iter().take(MAX_RANKED_EXPANSIONS).collect())
}
