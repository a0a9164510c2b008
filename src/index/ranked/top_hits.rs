//! The best hits so far: bounded, and the same whatever order they come in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ContentNo;
use codeyard_model::code::RankingReasons;

use super::RankedHit;

/// FeatureKind hits are ordered by: the worst is the least. A file stands before its symbols.
type Key = (u64, Reverse<u32>, Reverse<Option<u32>>);

/// See the module.
pub(super) struct TopHits {
    most: usize,
    heap: BinaryHeap<Reverse<TopEntry>>,
}

struct TopEntry {
    key: Key,
    content: ContentNo,
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
    /// Keeps at most so many.
    pub(super) fn new(most: usize) -> Self {
        Self { most, heap: BinaryHeap::new() }
    }

    /// Whether a hit with this score, as [`micros`] gives it, could still be kept.
    pub(super) fn may_take(&self, score: u64) -> bool {
        self.heap.len() < self.most || self.heap.peek().is_some_and(|least| score >= least.0.key.0)
    }

    /// Keeps the hit if it is among the best.
    pub(super) fn take(&mut self, entry: usize, content: ContentNo, ordinal: Option<u32>, reasons: RankingReasons) {
        let key = (micros(reasons.final_score), Reverse(entry as u32), Reverse(ordinal));
        if self.heap.len() < self.most {
            self.heap.push(Reverse(TopEntry { key, content, reasons }));
        } else if let Some(mut least) = self.heap.peek_mut()
            && least.0.key < key
        {
            *least = Reverse(TopEntry { key, content, reasons });
        }
    }

    /// The best first.
    pub(super) fn into_hits(self) -> Vec<RankedHit> {
        let hits = self.heap.into_sorted_vec().into_iter().map(|Reverse(kept)| RankedHit {
            entry: kept.key.1.0 as usize,
            content: kept.content,
            ordinal: kept.key.2.0,
            reasons: kept.reasons,
        });
        hits.collect()
    }
}

/// A score as a whole number; scores have four digits, so that this tells them apart. None is below zero, so that cutting rounds.
pub(super) fn micros(score: f64) -> u64 {
    (score * 1e6 + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_in_one_order_however_they_come() {
        let all: Vec<(usize, Option<u32>, f64)> = vec![
            (0, Some(1), 0.5),
            (0, Some(0), 0.5),
            (1, None, 0.5),
            (1, Some(3), 0.5),
            (2, None, 0.9),
            (3, None, 0.1),
        ];
        let kept = |order: &mut dyn Iterator<Item = &(usize, Option<u32>, f64)>, most| {
            let mut top = TopHits::new(most);
            for (entry, ordinal, final_score) in order {
                if top.may_take(micros(*final_score)) {
                    top.take(*entry, 0, *ordinal, RankingReasons { final_score: *final_score, ..RankingReasons::default() });
                }
            }
            top.into_hits().iter().map(|hit| (hit.entry, hit.ordinal)).collect::<Vec<_>>()
        };
        let right = [(2, None), (0, Some(0)), (0, Some(1)), (1, None), (1, Some(3)), (3, None)];
        for most in 0..8 {
            assert_eq!(kept(&mut all.iter(), most), right[..most.min(6)]);
            assert_eq!(kept(&mut all.iter().rev(), most), right[..most.min(6)]);
        }
    }
}
