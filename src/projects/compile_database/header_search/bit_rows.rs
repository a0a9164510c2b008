//! Sets of small numbers: one row of bits for each file, and the numbering of what the columns stand for.

use std::collections::HashMap;

/// Numbers values in the order in which they come first.
pub(super) struct Numbered<T>(HashMap<T, u32>);

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: std::hash::Hash + Eq> Numbered<T> {
    pub(super) fn of(&mut self, value: T) -> u32 {
        let next = number(self.0.len());
        *self.0.entry(value).or_insert(next)
    }

    /// The values, in the order of their numbers.
    pub(super) fn into_values(self) -> Vec<T> {
        let mut all: Vec<(T, u32)> = self.0.into_iter().collect();
        all.sort_unstable_by_key(|(_, number)| *number);
        all.into_iter().map(|(value, _)| value).collect()
    }
}

pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The positions of the bits that are set in a row.
pub(super) fn columns(row: &[u64]) -> impl Iterator<Item = usize> {
    row.iter()
        .enumerate()
        .flat_map(|(word, bits)| (0..64).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| word * 64 + bit))
}

pub(super) struct BitRows {
    words: usize,
    bits: Vec<u64>,
}

impl BitRows {
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self { words, bits: vec![0; rows * words] }
    }

    pub(super) fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..(row + 1) * self.words]
    }

    pub(super) fn set(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] |= 1 << (column % 64);
    }

    /// Adds the bits of `other` to `row`. Returns whether that changed it.
    pub(super) fn add(&mut self, row: usize, other: usize) -> bool {
        let mut changed = false;
        for word in 0..self.words {
            let more = self.bits[other * self.words + word];
            let own = &mut self.bits[row * self.words + word];
            changed |= more & !*own != 0;
            *own |= more;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_merged_and_listed() {
        let mut rows = BitRows::new(2, 130);
        [0, 64, 129].into_iter().for_each(|column| rows.set(1, column));
        assert!(rows.add(0, 1) && !rows.add(0, 1));
        assert_eq!(columns(rows.row(0)).collect::<Vec<_>>(), [0, 64, 129]);
        let mut numbers = Numbered::default();
        assert_eq!(["b", "a", "b"].map(|name| numbers.of(name)), [0, 1, 0]);
        assert_eq!(numbers.into_values(), ["b", "a"]);
    }
}
