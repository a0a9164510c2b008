//! From a question to candidates: which terms stand for it, which documents hold them.
//!
//! A *feature* is one reason for which a symbol may be meant, such as "its name holds the second word"; it is a few terms of one field.
//! A candidate is a document and the set of its features. The rarest terms are read from end to end, until `MAX_RANKED_POSTINGS`; the
//! others are only parsed about documents that those found.

use std::collections::BTreeSet;
use std::io;

use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};

use crate::limits::{MAX_RANKED_EXPANSIONS, MAX_RANKED_POSTINGS};
use codeyard_model::code::QueryIntent;

use super::parsed_query::ParsedQuery;
use super::schema::{Fields, name_terms, pair_term, scope_term};
use super::symbol_index::SymbolIndexError;
use super::tokenizer::normalize;

/// Documents that are worked on at once.
const WINDOW: u32 = 4_096;
/// A beginning must have so many letters to be looked up as one.
const SHORTEST_BEGINNING: usize = 3;
/// The features that there can be: one for each bit of a set.
const MAX_FEATURES: usize = 64;

/// FeatureKind a feature says of a symbol. The numbers are those of [`ParsedQuery::words`] and [`ParsedQuery::qualifiers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeatureKind {
    /// The name, character by character.
    Name,
    /// The name is the whole query, including the qualifiers.
    QualifiedName,
    /// The name, ignoring case and separators.
    NormalizedName,
    /// The name begins with the query's name, ignoring case and separators.
    NamePrefix,
    /// The name contains the word.
    Word(usize),
    /// The name contains a word that begins with the word.
    WordPrefix(usize),
    /// The name of an enclosing symbol contains the word.
    Scope(usize),
    /// The signature contains the word.
    Signature(usize),
    /// The comment contains the word.
    Doc(usize),
    /// The comment contains the word followed by the next word of the query.
    DocPair(usize),
    /// The name of an enclosing symbol is the qualifier.
    Qualifier(usize),
}

/// One feature.
pub(super) struct MatchFeature {
    /// See there.
    pub kind: FeatureKind,
    /// In how many documents it is.
    pub frequency: u64,
}

/// A term of a feature.
struct FeatureTerm {
    feature: usize,
    field: Field,
    term: String,
    /// By segment: where its documents are.
    places: Vec<Option<TermInfo>>,
    frequency: u64,
    is_start: bool,
}

/// FeatureKind to look for.
#[derive(Default)]
pub(super) struct CandidatePlan {
    /// At most 64.
    pub features: Vec<MatchFeature>,
    /// Some documents that hold nothing but common terms are left out.
    pub is_truncated: bool,
    terms: Vec<FeatureTerm>,
}

impl CandidatePlan {
    /// For a search.
    pub(super) fn search(searcher: &Searcher, fields: Fields, parsed: &ParsedQuery) -> Result<Self, SymbolIndexError> {
        let mut plan = Self::default();
        plan.names(searcher, fields, parsed)?;
        plan.add(searcher, FeatureKind::NormalizedName, fields.normalized, normalized(parsed))?;
        plan.qualifiers(searcher, fields, parsed)?;
        let normalized = normalize(&parsed.name);
        if normalized.chars().count() >= SHORTEST_BEGINNING && parsed.intent == QueryIntent::Symbol {
            let terms = beginning(searcher, fields.normalized, &normalized)?;
            plan.add(searcher, FeatureKind::NamePrefix, fields.normalized, terms)?;
        }
        for (at, word) in parsed.words.iter().enumerate() {
            plan.add(searcher, FeatureKind::Word(at), fields.words, name_terms(word))?;
            if parsed.intent == QueryIntent::Symbol && word.chars().count() >= SHORTEST_BEGINNING {
                let terms = beginning(searcher, fields.words, word)?;
                let own = format!("{word}:");
                let terms = terms.into_iter().filter(|term| !term.starts_with(&own));
                plan.add(searcher, FeatureKind::WordPrefix(at), fields.words, terms)?;
            }
            plan.add(searcher, FeatureKind::Scope(at), fields.scope, [word.clone()])?;
            plan.add(searcher, FeatureKind::Signature(at), fields.signature, [word.clone()])?;
            plan.add(searcher, FeatureKind::Doc(at), fields.doc, [word.clone()])?;
            if let Some(next) = parsed.words.get(at + 1) {
                plan.add(searcher, FeatureKind::DocPair(at), fields.doc, [pair_term(word, next)])?;
            }
        }
        plan.choose();
        Ok(plan)
    }

    /// For a name alone: spelt exactly so, and, if that finds nothing, but for case and separators.
    pub(super) fn locate(searcher: &Searcher, fields: Fields, parsed: &ParsedQuery) -> Result<[Self; 2], SymbolIndexError> {
        let mut exact = Self::default();
        exact.names(searcher, fields, parsed)?;
        let mut loose = Self::default();
        let name = normalize(&parsed.name);
        loose.add(searcher, FeatureKind::NormalizedName, fields.normalized, Some(name).filter(|name| !name.is_empty()))?;
        for plan in [&mut exact, &mut loose] {
            plan.qualifiers(searcher, fields, parsed)?;
            plan.choose();
        }
        Ok([exact, loose])
    }

    fn names(&mut self, searcher: &Searcher, fields: Fields, parsed: &ParsedQuery) -> Result<(), SymbolIndexError> {
        self.add(searcher, FeatureKind::Name, fields.name, [parsed.name.clone()])?;
        let whole = Some(parsed.whole.clone()).filter(|whole| *whole != parsed.name);
        self.add(searcher, FeatureKind::QualifiedName, fields.name, whole)
    }

    fn qualifiers(&mut self, searcher: &Searcher, fields: Fields, parsed: &ParsedQuery) -> Result<(), SymbolIndexError> {
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
        let mut all = 0;
        let segments = searcher.segment_readers().iter().map(|segment| segment.inverted_index(field));
        let segments = segments.collect::<tantivy::Result<Vec<_>>>()?;
        for term in terms {
            let named = Term::from_field_text(field, &term);
            let places =
                segments.iter().map(|segment| segment.get_term_info(&named)).collect::<io::Result<Vec<_>>>()?;
            let frequency = places.iter().flatten().map(|place| u64::from(place.doc_freq)).sum();
            if frequency > 0 {
                all += frequency;
                self.terms.push(FeatureTerm { feature, field, term, places, frequency, is_start: false });
            }
        }
        if all > 0 && feature < MAX_FEATURES {
            self.features.push(MatchFeature { kind, frequency: all });
        } else {
            self.terms.retain(|run| run.feature != feature);
        }
        Ok(())
    }

    /// Which terms are read from end to end: whole names always, then the rarest.
    fn choose(&mut self) {
        let features = &self.features;
        let rank = |run: &FeatureTerm| match features[run.feature].kind {
            FeatureKind::Name | FeatureKind::QualifiedName | FeatureKind::NormalizedName => 0,
            FeatureKind::Qualifier(_) => 2,
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
        for run in &mut self.terms {
            let rank = rank(run);
            run.is_start = rank == 0 || (rank == 1 && run.frequency <= left);
            is_truncated |= rank == 1 && !run.is_start;
            if run.is_start {
                left = left.saturating_sub(run.frequency);
            }
        }
        self.is_truncated = is_truncated;
    }

    /// Counts anew in how many documents each feature is, those alone that `counts`; of terms that aren't read from end to end nothing
    /// better is known than what the index says.
    pub(super) fn recount(
        &mut self,
        searcher: &Searcher,
        counts: impl Fn(usize, &mut dyn Iterator<Item = DocId>) -> u64,
    ) -> Result<(), SymbolIndexError> {
        for feature in &mut self.features {
            feature.frequency = 0;
        }
        for run in &self.terms {
            let mut frequency = run.frequency;
            if run.is_start {
                frequency = 0;
                for (at, segment) in searcher.segment_readers().iter().enumerate() {
                    if let Some(postings) = postings(at, segment, run)? {
                        frequency += counts(at, &mut Documents(postings));
                    }
                }
            }
            self.features[run.feature].frequency += frequency;
        }
        Ok(())
    }

    /// Calls `each` with every document of a segment that a starting term holds, ascending, and the set of its features. `nth`: which
    /// segment of the searcher it is.
    pub(super) fn candidates(
        &self,
        nth: usize,
        segment: &SegmentReader,
        mut each: impl FnMut(DocId, u64),
    ) -> Result<(), SymbolIndexError> {
        // FeatureKind is read with is large, so it had better not be moved often.
        let starts = self.terms.iter().filter(|run| run.is_start).count();
        let mut starting = Vec::with_capacity(starts);
        let mut asking = Vec::with_capacity(self.terms.len() - starts);
        for run in &self.terms {
            if let Some(postings) = postings(nth, segment, run)? {
                let list = if run.is_start { &mut starting } else { &mut asking };
                list.push((1_u64 << run.feature, postings));
            }
        }
        let mut features = vec![0_u64; WINDOW as usize];
        let mut touched = [0_u64; WINDOW as usize / 64];
        loop {
            starting.retain(|(_, postings)| postings.doc() != TERMINATED);
            let Some(lowest) = starting.iter().map(|(_, postings)| postings.doc()).min() else { return Ok(()) };
            let from = lowest - lowest % WINDOW;
            let end = from.saturating_add(WINDOW);
            for (feature, postings) in &mut starting {
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
                    for (feature, postings) in &mut asking {
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

fn normalized(parsed: &ParsedQuery) -> BTreeSet<String> {
    [&parsed.name, &parsed.whole].into_iter().map(|name| normalize(name)).filter(|name| !name.is_empty()).collect()
}

/// The documents of a list, one after another.
struct Documents(SegmentPostings);

impl Iterator for Documents {
    type Item = DocId;

    fn next(&mut self) -> Option<DocId> {
        let doc = self.0.doc();
        (doc != TERMINATED).then(|| {
            self.0.advance();
            doc
        })
    }
}

fn postings(nth: usize, segment: &SegmentReader, run: &FeatureTerm) -> Result<Option<SegmentPostings>, SymbolIndexError> {
    let Some(Some(place)) = run.places.get(nth) else { return Ok(None) };
    let index = segment.inverted_index(run.field)?;
    Ok(Some(index.read_postings_from_terminfo(place, IndexRecordOption::Basic)?))
}

/// The first terms that begin so, in their order, but not the beginning itself.
fn beginning(searcher: &Searcher, field: Field, start: &str) -> Result<Vec<String>, SymbolIndexError> {
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
