//! The best hits of a query: a bounded heap whose result doesn't depend on the order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ContentNo;
use codeyard_model::code::RankingReasons;

use super::RankedHit;

/// The order of hits: score, then entry, then ordinal. A file precedes its symbols.
type Key = (u64, Reverse<u32>, Reverse<Option<u32>>);

/// A bounded heap of the best hits.
pub(super) struct TopHits {
    limit: usize,
    heap: BinaryHeap<Reverse<TopEntry>>,
}

struct TopEntry {
    key: Key,
    content: ContentNo,
    is_test: bool,
    reasons: RankingReasons,
}

impl PartialEq for TopEntry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for TopEntry {}

impl PartialOrd for TopEntry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TopEntry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl TopHits {
    /// Keeps at most `limit` hits.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::new() }
    }

    /// Whether a hit with this score, as from [`micros`], could be kept.
    pub(super) fn may_keep(&self, score: u64) -> bool {
        self.heap.len() < self.limit || self.heap.peek().is_some_and(|least| score >= least.0.key.0)
    }

    /// Adds a hit if it is among the best.
    pub(super) fn add(&mut self, hit: RankedHit) {
        let RankedHit { entry, content, ordinal, is_test, reasons } = hit;
        let key = (micros(reasons.final_score), Reverse(entry as u32), Reverse(ordinal));
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(TopEntry { key, content, is_test, reasons }));
        } else if let Some(mut least) = self.heap.peek_mut()
            && least.0.key < key
        {
            *least = Reverse(TopEntry { key, content, is_test, reasons });
        }
    }

    /// The hits, best first.
    pub(super) fn into_hits(self) -> Vec<RankedHit> {
        let hits = self.heap.into_sorted_vec().into_iter().map(|Reverse(entry)| RankedHit {
            entry: entry.key.1.0 as usize,
            content: entry.content,
            ordinal: entry.key.2.0,
            is_test: entry.is_test,
            reasons: entry.reasons,
        });
        hits.collect()
    }
}

/// A score as an integer. Scores have four decimal places and are never negative, so truncation after adding a half
/// rounds.
pub(super) fn micros(score: f64) -> u64 {
    (score * 1e6 + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_does_not_depend_on_the_order_of_insertion() {
        let all: Vec<(usize, Option<u32>, f64)> = vec![
            (0, Some(1), 0.5),
            (0, Some(0), 0.5),
            (1, None, 0.5),
            (1, Some(3), 0.5),
            (2, None, 0.9),
            (3, None, 0.1),
        ];
        let best = |order: &mut dyn Iterator<Item = &(usize, Option<u32>, f64)>, limit| {
            let mut top = TopHits::new(limit);
            for (entry, ordinal, final_score) in order {
                if top.may_keep(micros(*final_score)) {
                    let reasons = RankingReasons { final_score: *final_score, ..RankingReasons::default() };
                    top.add(RankedHit { entry: *entry, content: 0, ordinal: *ordinal, is_test: false, reasons });
                }
            }
            top.into_hits().iter().map(|hit| (hit.entry, hit.ordinal)).collect::<Vec<_>>()
        };
        let right = [(2, None), (0, Some(0)), (0, Some(1)), (1, None), (1, Some(3)), (3, None)];
        for limit in 0..8 {
            assert_eq!(best(&mut all.iter(), limit), right[..limit.min(6)]);
            assert_eq!(best(&mut all.iter().rev(), limit), right[..limit.min(6)]);
        }
    }
}
