//! Evaluates a plan on a segment: intersects posting lists, the rarest gram first, until another list costs more than it saves.
//!
//! Invariant: every content that satisfies the plan is in the result. The result may contain others.

use super::dictionary::DictionaryEntry;
use super::grams::{Gram, UNINDEXED, trigram};
use super::pattern_bytes::LongGram;
use super::plan::GramPlan;
use super::posting_lists::{PartRank, sort_and_dedup};
use super::segment::Segment;
use std::collections::BTreeMap;
use std::io;

/// Searching one more content takes as long as reading this many postings. A list this many times longer than the number of
/// remaining candidates isn't read.
const POSTINGS_PER_CONTENT: u64 = 2_048;
/// Dictionary blocks cached during one evaluation.
const MAX_CACHED_BLOCKS: usize = 512;

/// The evaluation of one plan on one segment.
pub(super) struct Evaluation<'a> {
    segment: &'a Segment,
    blocks: BTreeMap<usize, Vec<DictionaryEntry>>,
}

/// A plan with each gram replaced by its posting list. An unknown gram becomes `Nothing`.
enum ResolvedPlan {
    All,
    Nothing,
    List(DictionaryEntry),
    /// The union of these lists.
    Lists(Vec<DictionaryEntry>),
    And(Vec<ResolvedPlan>),
    Or(Vec<ResolvedPlan>),
}

impl<'a> Evaluation<'a> {
    pub(super) fn of(segment: &'a Segment) -> Self {
        Self { segment, blocks: BTreeMap::new() }
    }

    /// The ranks of the parts that may match, ascending; `None` means all.
    pub(super) fn candidates(mut self, plan: &GramPlan) -> io::Result<Option<Vec<PartRank>>> {
        let resolved = self.resolve(plan)?;
        let Some(mut ranks) = self.run(&resolved)? else { return Ok(None) };
        if let Some(unindexed) = self.find(UNINDEXED)? {
            self.segment.list(&unindexed, &mut ranks)?;
            sort_and_dedup(&mut ranks, self.segment.universe());
        }
        Ok(Some(ranks))
    }

    fn resolve(&mut self, plan: &GramPlan) -> io::Result<ResolvedPlan> {
        Ok(match plan {
            GramPlan::All => ResolvedPlan::All,
            GramPlan::Nothing => ResolvedPlan::Nothing,
            GramPlan::Trigram(gram) => self.find(*gram)?.map_or(ResolvedPlan::Nothing, ResolvedPlan::List),
            GramPlan::Pair(pair) => ResolvedPlan::Lists(self.find_pair(*pair)?),
            GramPlan::Long(long) => match self.find_long(*long)?[..] {
                [] => ResolvedPlan::Nothing,
                [item] => ResolvedPlan::List(item),
                ref items => ResolvedPlan::Lists(items.to_vec()),
            },
            GramPlan::And(parts) => {
                let mut steps = Vec::with_capacity(parts.len());
                for part in parts {
                    match self.resolve(part)? {
                        ResolvedPlan::Nothing => return Ok(ResolvedPlan::Nothing),
                        ResolvedPlan::All => {}
                        step => steps.push(step),
                    }
                }
                // A stable sort: the same plan is always evaluated in the same order.
                steps.sort_by_key(|step| self.size(step));
                if steps.is_empty() { ResolvedPlan::All } else { ResolvedPlan::And(steps) }
            }
            GramPlan::Or(parts) => {
                let mut steps = Vec::with_capacity(parts.len());
                for part in parts {
                    match self.resolve(part)? {
                        ResolvedPlan::All => return Ok(ResolvedPlan::All),
                        ResolvedPlan::Nothing => {}
                        step => steps.push(step),
                    }
                }
                if steps.is_empty() { ResolvedPlan::Nothing } else { ResolvedPlan::Or(steps) }
            }
        })
    }

    /// An upper bound of the number of parts that satisfy the plan.
    fn size(&self, step: &ResolvedPlan) -> u64 {
        match step {
            ResolvedPlan::All => u64::from(self.segment.universe()),
            ResolvedPlan::Nothing => 0,
            ResolvedPlan::List(item) => u64::from(item.count),
            ResolvedPlan::Lists(items) => items.iter().map(|item| u64::from(item.count)).sum(),
            ResolvedPlan::And(steps) => steps.first().map_or(0, |first| self.size(first)),
            ResolvedPlan::Or(steps) => steps.iter().map(|step| self.size(step)).sum(),
        }
    }

    fn run(&self, step: &ResolvedPlan) -> io::Result<Option<Vec<PartRank>>> {
        let universe = self.segment.universe();
        let mut ranks = Vec::new();
        match step {
            ResolvedPlan::All => return Ok(None),
            ResolvedPlan::Nothing => {}
            ResolvedPlan::List(item) => self.segment.list(item, &mut ranks)?,
            ResolvedPlan::Lists(items) => {
                // The union excludes too little if one list has most parts.
                let is_common = items.iter().any(|item| u64::from(item.count) * 2 > u64::from(universe));
                if is_common || self.size(step) > u64::from(universe) * 4 {
                    return Ok(None);
                }
                for item in items {
                    self.segment.list(item, &mut ranks)?;
                }
                sort_and_dedup(&mut ranks, universe);
            }
            ResolvedPlan::And(steps) => return self.run_all(steps),
            ResolvedPlan::Or(steps) => {
                for step in steps {
                    match self.run(step)? {
                        None => return Ok(None),
                        Some(more) => ranks.extend(more),
                    }
                    if ranks.len() > 4 * universe as usize {
                        sort_and_dedup(&mut ranks, universe);
                    }
                }
                sort_and_dedup(&mut ranks, universe);
            }
        }
        Ok(Some(ranks))
    }

    fn run_all(&self, steps: &[ResolvedPlan]) -> io::Result<Option<Vec<PartRank>>> {
        let mut kept: Option<Vec<PartRank>> = None;
        for step in steps {
            let left = kept.as_ref().map(|kept| kept.len() as u64);
            if left.is_some_and(|left| self.size(step) > left.saturating_mul(POSTINGS_PER_CONTENT)) {
                break;
            }
            match (&mut kept, step) {
                (Some(kept), ResolvedPlan::List(item)) => self.segment.intersect(item, kept)?,
                (Some(kept), step) => {
                    if let Some(others) = self.run(step)? {
                        kept.retain(|rank| others.binary_search(rank).is_ok());
                    }
                }
                (none, step) => *none = self.run(step)?,
            }
        }
        Ok(kept)
    }

    fn find(&mut self, gram: Gram) -> io::Result<Option<DictionaryEntry>> {
        let Some(at) = self.segment.block_of(gram) else { return Ok(None) };
        let entries = self.block(at)?;
        Ok(entries.binary_search_by_key(&gram, |entry| entry.gram).ok().and_then(|at| entries.get(at).copied()))
    }

    fn block(&mut self, at: usize) -> io::Result<&[DictionaryEntry]> {
        if self.blocks.len() >= MAX_CACHED_BLOCKS && !self.blocks.contains_key(&at) {
            self.blocks.clear();
        }
        Ok(match self.blocks.entry(at) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => place.insert(self.segment.block(at)?),
        })
    }

    /// The trigrams that contain this pair.
    fn find_pair(&mut self, [one, other]: [u8; 2]) -> io::Result<Vec<DictionaryEntry>> {
        let mut found = Vec::new();
        for before in 0..=255 {
            found.extend(self.find(trigram([before, one, other]))?);
        }
        self.find_range(trigram([one, other, 0]), trigram([one, other, 255]), &mut found)?;
        found.sort_unstable_by_key(|entry| entry.gram);
        found.dedup();
        Ok(found)
    }

    /// The long grams that this one stands for.
    fn find_long(&mut self, long: LongGram) -> io::Result<Vec<DictionaryEntry>> {
        let (smallest, largest) = long.range();
        let mut found = Vec::new();
        self.find_range(smallest, largest, &mut found)?;
        found.retain(|entry| long.may_be(entry.gram));
        Ok(found)
    }

    /// Appends the dictionary's entries from `first` to `last`, both included.
    fn find_range(&mut self, first: Gram, last: Gram, found: &mut Vec<DictionaryEntry>) -> io::Result<()> {
        let from = self.segment.block_of(first).unwrap_or(0);
        for at in from..self.segment.block_count() {
            let entries = self.block(at)?;
            let inside = entries.partition_point(|entry| entry.gram < first)
                ..entries.partition_point(|entry| entry.gram <= last);
            found.extend(&entries[inside]);
            if entries.last().is_none_or(|entry| entry.gram >= last) {
                break;
            }
        }
        Ok(())
    }
}
