//! Counters for a fixed list of words: one atomic addition per count, no lock, no allocation.
//!
//! Invariant: a word that isn't in the list counts as the last one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One counter for each word of a list.
#[derive(Debug)]
pub struct Tally {
    words: &'static [&'static str],
    counts: Box<[AtomicU64]>,
}

impl Tally {
    /// Counters that are zero. `words` must not be empty.
    pub fn new(words: &'static [&'static str]) -> Self {
        Self { words, counts: words.iter().map(|_| AtomicU64::new(0)).collect() }
    }

    /// Counts one.
    pub fn count(&self, word: &str) {
        self.add(word, 1);
    }

    /// Adds to a count.
    pub fn add(&self, word: &str, more: u64) {
        let at = self.words.iter().position(|known| *known == word);
        if let Some(count) = self.counts.get(at.unwrap_or(self.words.len() - 1)) {
            count.fetch_add(more, Relaxed);
        }
    }

    /// Each word with its count.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.words.iter().zip(&self.counts).map(|(word, count)| (*word, count.load(Relaxed)))
    }

    /// The count of one word.
    pub fn of(&self, word: &str) -> u64 {
        self.each().find(|(known, _)| *known == word).map_or(0, |(_, count)| count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_not_listed_counts_as_the_last() {
        let tally = Tally::new(&["a", "b", "other"]);
        tally.count("b");
        tally.add("b", 2);
        tally.count("a caller's text");
        assert_eq!(tally.each().collect::<Vec<_>>(), [("a", 0), ("b", 3), ("other", 1)]);
        assert_eq!((tally.of("b"), tally.of("none")), (3, 0));
    }
}
