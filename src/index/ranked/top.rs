//! The best hits so far: bounded, and the same whatever order they come in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::index::ContentNo;
use crate::model::code::Reasons;

use super::Hit;

/// What hits are ordered by: the worst is the least. A file stands before its symbols.
type Key = (u64, Reverse<u32>, Reverse<Option<u32>>);

/// See the module.
pub(super) struct Top {
    most: usize,
    heap: BinaryHeap<Reverse<Kept>>,
}

struct Kept {
    key: Key,
    content: ContentNo,
    reasons: Reasons,
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl Top {
    /// Keeps at most so many.
    pub fn new(most: usize) -> Self {
        Self { most, heap: BinaryHeap::new() }
    }

    /// Whether a hit with this score could still be kept.
    pub fn may_take(&self, score: f64) -> bool {
        self.heap.len() < self.most || self.heap.peek().is_some_and(|least| micros(score) >= least.0.key.0)
    }

    /// Keeps the hit if it is among the best.
    pub fn take(&mut self, entry: usize, content: ContentNo, ordinal: Option<u32>, reasons: Reasons) {
        let key = (micros(reasons.final_score), Reverse(entry as u32), Reverse(ordinal));
        if self.heap.len() < self.most {
            self.heap.push(Reverse(Kept { key, content, reasons }));
        } else if let Some(mut least) = self.heap.peek_mut()
            && least.0.key < key
        {
            *least = Reverse(Kept { key, content, reasons });
        }
    }

    /// The best first.
    pub fn into_hits(self) -> Vec<Hit> {
        let hits = self.heap.into_sorted_vec().into_iter().map(|Reverse(kept)| Hit {
            entry: kept.key.1.0 as usize,
            content: kept.content,
            ordinal: kept.key.2.0,
            reasons: kept.reasons,
        });
        hits.collect()
    }
}

/// Scores have four digits, so that this tells them apart.
fn micros(score: f64) -> u64 {
    (score * 1e6).round() as u64
}
