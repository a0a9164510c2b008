//! Which contents of a segment satisfy a plan, or nearly: the rarest gram first, and no further than it pays.
//!
//! Invariant: no content that satisfies the plan is left out.

use super::dictionary::Item;
use super::grams::{Gram, gram};
use super::letters::LongGram;
use super::lists::{Rank, put_in_order};
use super::plan::Plan;
use super::segment::Segment;
use std::collections::BTreeMap;
use std::io;

/// Reading one more content takes as long as reading a list of so many. A list so much longer than what is left isn't read.
const LIST_PER_CONTENT: u64 = 2_048;
/// Blocks of the dictionary that are kept for one question.
const MAX_BLOCKS_KEPT: usize = 512;

/// One question to one segment.
pub(super) struct Evaluation<'a> {
    segment: &'a Segment,
    blocks: BTreeMap<usize, Vec<Item>>,
}

/// A plan whose grams were looked up; where a gram is unknown, nothing is left.
enum Step {
    All,
    Nothing,
    List(Item),
    /// Any of these lists.
    Lists(Vec<Item>),
    And(Vec<Step>),
    Or(Vec<Step>),
}

impl<'a> Evaluation<'a> {
    pub(super) fn of(segment: &'a Segment) -> Self {
        Self { segment, blocks: BTreeMap::new() }
    }

    /// The ranks of the contents that may match, ascending; `None`: all.
    pub(super) fn candidates(mut self, plan: &Plan) -> io::Result<Option<Vec<Rank>>> {
        let step = self.look_up(plan)?;
        self.run(&step)
    }

    fn look_up(&mut self, plan: &Plan) -> io::Result<Step> {
        Ok(match plan {
            Plan::All => Step::All,
            Plan::Nothing => Step::Nothing,
            Plan::Gram(gram) => self.find(*gram)?.map_or(Step::Nothing, Step::List),
            Plan::Pair(pair) => Step::Lists(self.find_pair(*pair)?),
            Plan::Long(long) => match self.find_long(*long)?[..] {
                [] => Step::Nothing,
                [item] => Step::List(item),
                ref items => Step::Lists(items.to_vec()),
            },
            Plan::And(parts) => {
                let mut steps = Vec::with_capacity(parts.len());
                for part in parts {
                    match self.look_up(part)? {
                        Step::Nothing => return Ok(Step::Nothing),
                        Step::All => {}
                        step => steps.push(step),
                    }
                }
                // A stable order, so that the same question always takes the same way.
                steps.sort_by_key(|step| self.size(step));
                if steps.is_empty() { Step::All } else { Step::And(steps) }
            }
            Plan::Or(parts) => {
                let mut steps = Vec::with_capacity(parts.len());
                for part in parts {
                    match self.look_up(part)? {
                        Step::All => return Ok(Step::All),
                        Step::Nothing => {}
                        step => steps.push(step),
                    }
                }
                if steps.is_empty() { Step::Nothing } else { Step::Or(steps) }
            }
        })
    }

    /// At most so many contents satisfy it.
    fn size(&self, step: &Step) -> u64 {
        match step {
            Step::All => u64::from(self.segment.universe()),
            Step::Nothing => 0,
            Step::List(item) => u64::from(item.count),
            Step::Lists(items) => items.iter().map(|item| u64::from(item.count)).sum(),
            Step::And(steps) => steps.first().map_or(0, |first| self.size(first)),
            Step::Or(steps) => steps.iter().map(|step| self.size(step)).sum(),
        }
    }

    fn run(&self, step: &Step) -> io::Result<Option<Vec<Rank>>> {
        let universe = self.segment.universe();
        let mut ranks = Vec::new();
        match step {
            Step::All => return Ok(None),
            Step::Nothing => {}
            Step::List(item) => self.segment.list(item, &mut ranks)?,
            Step::Lists(items) => {
                // Where one of many lists has most contents, nothing is gained.
                let is_common = items.iter().any(|item| u64::from(item.count) * 2 > u64::from(universe));
                if is_common || self.size(step) > u64::from(universe) * 4 {
                    return Ok(None);
                }
                for item in items {
                    self.segment.list(item, &mut ranks)?;
                }
                put_in_order(&mut ranks, universe);
            }
            Step::And(steps) => return self.run_all(steps),
            Step::Or(steps) => {
                for step in steps {
                    match self.run(step)? {
                        None => return Ok(None),
                        Some(more) => ranks.extend(more),
                    }
                    if ranks.len() > 4 * universe as usize {
                        put_in_order(&mut ranks, universe);
                    }
                }
                put_in_order(&mut ranks, universe);
            }
        }
        Ok(Some(ranks))
    }

    fn run_all(&self, steps: &[Step]) -> io::Result<Option<Vec<Rank>>> {
        let mut kept: Option<Vec<Rank>> = None;
        for step in steps {
            let left = kept.as_ref().map(|kept| kept.len() as u64);
            if left.is_some_and(|left| self.size(step) > left.saturating_mul(LIST_PER_CONTENT)) {
                break;
            }
            match (&mut kept, step) {
                (Some(kept), Step::List(item)) => self.segment.intersect(item, kept)?,
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

    fn find(&mut self, gram: Gram) -> io::Result<Option<Item>> {
        let Some(at) = self.segment.block_of(gram) else { return Ok(None) };
        let items = self.block(at)?;
        Ok(items.binary_search_by_key(&gram, |item| item.gram).ok().and_then(|at| items.get(at).copied()))
    }

    fn block(&mut self, at: usize) -> io::Result<&[Item]> {
        if self.blocks.len() >= MAX_BLOCKS_KEPT && !self.blocks.contains_key(&at) {
            self.blocks.clear();
        }
        Ok(match self.blocks.entry(at) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => place.insert(self.segment.block(at)?),
        })
    }

    /// The trigrams with this pair in them.
    fn find_pair(&mut self, [one, other]: [u8; 2]) -> io::Result<Vec<Item>> {
        let mut found = Vec::new();
        for before in 0..=255 {
            found.extend(self.find(gram([before, one, other]))?);
        }
        self.find_range(gram([one, other, 0]), gram([one, other, 255]), &mut found)?;
        found.sort_unstable_by_key(|item| item.gram);
        found.dedup();
        Ok(found)
    }

    /// The long grams that this one may be.
    fn find_long(&mut self, long: LongGram) -> io::Result<Vec<Item>> {
        let (smallest, largest) = long.range();
        let mut found = Vec::new();
        self.find_range(smallest, largest, &mut found)?;
        found.retain(|item| long.may_be(item.gram));
        Ok(found)
    }

    /// Appends what the dictionary has from one gram to the other.
    fn find_range(&mut self, first: Gram, last: Gram, found: &mut Vec<Item>) -> io::Result<()> {
        let from = self.segment.block_of(first).unwrap_or(0);
        for at in from..self.segment.block_count() {
            let items = self.block(at)?;
            let inside =
                items.partition_point(|item| item.gram < first)..items.partition_point(|item| item.gram <= last);
            found.extend(&items[inside]);
            if items.last().is_none_or(|item| item.gram >= last) {
                break;
            }
        }
        Ok(())
    }
}
