//! From a question to candidates: which terms stand for it, which documents hold them.
//!
//! A *lane* is one reason for which a symbol may be meant, such as "its name holds the second word"; it is a few terms of one field.
//! A candidate is a document and the set of its lanes. The rarest terms are read from end to end, until `MAX_RANKED_POSTINGS`; the
//! others are only asked about documents that those found.

use std::collections::BTreeSet;
use std::io;

use tantivy::postings::{SegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};

use crate::limits::{MAX_RANKED_EXPANSIONS, MAX_RANKED_POSTINGS};
use codeyard_model::code::Intent;

use super::intent::Asked;
use super::schema::{Fields, name_terms, pair_term, scope_term};
use super::store::RankError;
use super::words::squeeze;

/// Documents that are worked on at once.
const WINDOW: u32 = 4_096;
/// A beginning must have so many letters to be looked up as one.
const SHORTEST_BEGINNING: usize = 3;
/// The lanes that there can be: one for each bit of a set.
const MOST_LANES: usize = 64;

/// What a lane says of a symbol. The numbers are those of [`Asked::words`] and [`Asked::qualifiers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// It is called so, letter by letter.
    Name,
    /// It is called as the whole question is, with what stands before the name.
    Whole,
    /// It is called so, but for case and separators.
    Squeezed,
    /// Its name begins so, but for case and separators.
    Begins,
    /// Its name holds the word.
    Word(usize),
    /// Its name holds a word that begins with the word.
    Start(usize),
    /// A name around it holds the word.
    Scope(usize),
    /// Its signature holds the word.
    Signature(usize),
    /// Its comment holds the word.
    Doc(usize),
    /// Its comment holds the word and the next one, side by side.
    Pair(usize),
    /// A name around it is the qualifier.
    Qualifier(usize),
}

/// One lane.
pub(super) struct Lane {
    /// See there.
    pub what: What,
    /// In how many documents it is.
    pub frequency: u64,
}

/// A term of a lane.
struct Run {
    lane: usize,
    field: Field,
    term: String,
    /// By segment: where its documents are.
    places: Vec<Option<TermInfo>>,
    frequency: u64,
    is_start: bool,
}

/// What to look for.
#[derive(Default)]
pub(super) struct Plan {
    /// At most 64.
    pub lanes: Vec<Lane>,
    /// Some documents that hold nothing but common terms are left out.
    pub cut: bool,
    runs: Vec<Run>,
}

impl Plan {
    /// For a search.
    pub(super) fn search(searcher: &Searcher, fields: Fields, asked: &Asked) -> Result<Self, RankError> {
        let mut plan = Self::default();
        plan.names(searcher, fields, asked)?;
        plan.add(searcher, What::Squeezed, fields.squeezed, squeezed(asked))?;
        plan.qualifiers(searcher, fields, asked)?;
        let squeezed = squeeze(&asked.name);
        if squeezed.chars().count() >= SHORTEST_BEGINNING && asked.intent == Intent::Symbol {
            let terms = beginning(searcher, fields.squeezed, &squeezed)?;
            plan.add(searcher, What::Begins, fields.squeezed, terms)?;
        }
        for (at, word) in asked.words.iter().enumerate() {
            plan.add(searcher, What::Word(at), fields.words, name_terms(word))?;
            if asked.intent == Intent::Symbol && word.chars().count() >= SHORTEST_BEGINNING {
                let terms = beginning(searcher, fields.words, word)?;
                let own = format!("{word}:");
                let terms = terms.into_iter().filter(|term| !term.starts_with(&own));
                plan.add(searcher, What::Start(at), fields.words, terms)?;
            }
            plan.add(searcher, What::Scope(at), fields.scope, [word.clone()])?;
            plan.add(searcher, What::Signature(at), fields.signature, [word.clone()])?;
            plan.add(searcher, What::Doc(at), fields.doc, [word.clone()])?;
            if let Some(next) = asked.words.get(at + 1) {
                plan.add(searcher, What::Pair(at), fields.doc, [pair_term(word, next)])?;
            }
        }
        plan.choose();
        Ok(plan)
    }

    /// For a name alone: spelt exactly so, and, if that finds nothing, but for case and separators.
    pub(super) fn locate(searcher: &Searcher, fields: Fields, asked: &Asked) -> Result<[Self; 2], RankError> {
        let mut exact = Self::default();
        exact.names(searcher, fields, asked)?;
        let mut loose = Self::default();
        let name = squeeze(&asked.name);
        loose.add(searcher, What::Squeezed, fields.squeezed, Some(name).filter(|name| !name.is_empty()))?;
        for plan in [&mut exact, &mut loose] {
            plan.qualifiers(searcher, fields, asked)?;
            plan.choose();
        }
        Ok([exact, loose])
    }

    fn names(&mut self, searcher: &Searcher, fields: Fields, asked: &Asked) -> Result<(), RankError> {
        self.add(searcher, What::Name, fields.name, [asked.name.clone()])?;
        let whole = Some(asked.whole.clone()).filter(|whole| *whole != asked.name);
        self.add(searcher, What::Whole, fields.name, whole)
    }

    fn qualifiers(&mut self, searcher: &Searcher, fields: Fields, asked: &Asked) -> Result<(), RankError> {
        for (at, qualifier) in asked.qualifiers.iter().enumerate() {
            self.add(searcher, What::Qualifier(at), fields.scope, [scope_term(qualifier)])?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        searcher: &Searcher,
        what: What,
        field: Field,
        terms: impl IntoIterator<Item = String>,
    ) -> Result<(), RankError> {
        let lane = self.lanes.len();
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
                self.runs.push(Run { lane, field, term, places, frequency, is_start: false });
            }
        }
        if all > 0 && lane < MOST_LANES {
            self.lanes.push(Lane { what, frequency: all });
        } else {
            self.runs.retain(|run| run.lane != lane);
        }
        Ok(())
    }

    /// Which terms are read from end to end: whole names always, then the rarest.
    fn choose(&mut self) {
        let lanes = &self.lanes;
        let rank = |run: &Run| match lanes[run.lane].what {
            What::Name | What::Whole | What::Squeezed => 0,
            What::Qualifier(_) => 2,
            _ => 1_u8,
        };
        self.runs.sort_by(|one, other| {
            (rank(one), one.frequency, one.lane, &one.term).cmp(&(
                rank(other),
                other.frequency,
                other.lane,
                &other.term,
            ))
        });
        let mut left = MAX_RANKED_POSTINGS;
        let mut cut = false;
        for run in &mut self.runs {
            let rank = rank(run);
            run.is_start = rank == 0 || (rank == 1 && run.frequency <= left);
            cut |= rank == 1 && !run.is_start;
            if run.is_start {
                left = left.saturating_sub(run.frequency);
            }
        }
        self.cut = cut;
    }

    /// Counts anew in how many documents each lane is, those alone that `counts`; of terms that aren't read from end to end nothing
    /// better is known than what the index says.
    pub(super) fn recount(
        &mut self,
        searcher: &Searcher,
        counts: impl Fn(usize, &mut dyn Iterator<Item = DocId>) -> u64,
    ) -> Result<(), RankError> {
        for lane in &mut self.lanes {
            lane.frequency = 0;
        }
        for run in &self.runs {
            let mut frequency = run.frequency;
            if run.is_start {
                frequency = 0;
                for (at, segment) in searcher.segment_readers().iter().enumerate() {
                    if let Some(postings) = postings(at, segment, run)? {
                        frequency += counts(at, &mut Documents(postings));
                    }
                }
            }
            self.lanes[run.lane].frequency += frequency;
        }
        Ok(())
    }

    /// Calls `each` with every document of a segment that a starting term holds, ascending, and the set of its lanes. `nth`: which
    /// segment of the searcher it is.
    pub(super) fn candidates(
        &self,
        nth: usize,
        segment: &SegmentReader,
        mut each: impl FnMut(DocId, u64),
    ) -> Result<(), RankError> {
        // What is read with is large, so it had better not be moved often.
        let starts = self.runs.iter().filter(|run| run.is_start).count();
        let mut starting = Vec::with_capacity(starts);
        let mut asking = Vec::with_capacity(self.runs.len() - starts);
        for run in &self.runs {
            if let Some(postings) = postings(nth, segment, run)? {
                let list = if run.is_start { &mut starting } else { &mut asking };
                list.push((1_u64 << run.lane, postings));
            }
        }
        let mut lanes = vec![0_u64; WINDOW as usize];
        let mut touched = [0_u64; WINDOW as usize / 64];
        loop {
            starting.retain(|(_, postings)| postings.doc() != TERMINATED);
            let Some(lowest) = starting.iter().map(|(_, postings)| postings.doc()).min() else { return Ok(()) };
            let from = lowest - lowest % WINDOW;
            let end = from.saturating_add(WINDOW);
            for (lane, postings) in &mut starting {
                let mut doc = postings.doc();
                while doc < end {
                    let at = (doc - from) as usize;
                    lanes[at] |= *lane;
                    touched[at / 64] |= 1 << (at % 64);
                    doc = postings.advance();
                }
            }
            for (block, bits) in touched.iter_mut().enumerate() {
                while *bits != 0 {
                    let at = block * 64 + bits.trailing_zeros() as usize;
                    *bits &= *bits - 1;
                    let doc = from + at as u32;
                    for (lane, postings) in &mut asking {
                        if postings.doc() < doc {
                            postings.seek(doc);
                        }
                        if postings.doc() == doc {
                            lanes[at] |= *lane;
                        }
                    }
                    each(doc, std::mem::take(&mut lanes[at]));
                }
            }
        }
    }
}

fn squeezed(asked: &Asked) -> BTreeSet<String> {
    [&asked.name, &asked.whole].into_iter().map(|name| squeeze(name)).filter(|name| !name.is_empty()).collect()
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

fn postings(nth: usize, segment: &SegmentReader, run: &Run) -> Result<Option<SegmentPostings>, RankError> {
    let Some(Some(place)) = run.places.get(nth) else { return Ok(None) };
    let index = segment.inverted_index(run.field)?;
    Ok(Some(index.read_postings_from_terminfo(place, IndexRecordOption::Basic)?))
}

/// The first terms that begin so, in their order, but not the beginning itself.
fn beginning(searcher: &Searcher, field: Field, start: &str) -> Result<Vec<String>, RankError> {
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
