//! How often the features of a query occur: the numbers that make the scores of several indexes comparable.
//!
//! The weight of a word depends on how many symbols have it. A search over several indexes adds up these numbers first, and each index
//! scores its candidates with the sums. Invariant: with the sums, a candidate has the score that one index of all symbols would give it.

use super::feature_kinds::{FeatureKind, MatchFeature};

/// The statistics of one query in one index, or in several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryStatistics {
    symbols: u64,
    /// The symbols that have a feature.
    frequencies: Vec<(FeatureKind, u64)>,
}

impl QueryStatistics {
    /// The statistics of an index with so many `symbols`.
    pub(super) fn new(symbols: u64, features: &[MatchFeature]) -> Self {
        Self { symbols, frequencies: features.iter().map(|feature| (feature.kind, feature.frequency)).collect() }
    }

    /// Adds those of another index for the same query.
    pub fn add(&mut self, other: &Self) {
        self.symbols += other.symbols;
        for (kind, frequency) in &other.frequencies {
            match self.frequencies.iter_mut().find(|(known, _)| known == kind) {
                Some((_, sum)) => *sum += frequency,
                None => self.frequencies.push((*kind, *frequency)),
            }
        }
    }

    pub(super) fn symbols(&self) -> u64 {
        self.symbols
    }

    /// Whether any symbol has the name of the query.
    pub(super) fn has_name(&self) -> bool {
        self.frequencies.iter().any(|(kind, frequency)| kind.is_whole_name() && *frequency > 0)
    }

    /// Whether any symbol has the word with this index.
    pub(super) fn has_word(&self, word: usize) -> bool {
        self.frequencies.iter().any(|(kind, frequency)| kind.word() == Some(word) && *frequency > 0)
    }

    /// Replaces the frequencies of `features`.
    pub(super) fn apply(&self, features: &mut [MatchFeature]) {
        for feature in features {
            if let Some((_, sum)) = self.frequencies.iter().find(|(kind, _)| *kind == feature.kind) {
                feature.frequency = *sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_replace_the_frequencies_of_the_same_features() {
        let feature = |kind, frequency| MatchFeature { kind, frequency };
        let mut sum = QueryStatistics::new(10, &[feature(FeatureKind::Word(0), 2)]);
        sum.add(&QueryStatistics::new(5, &[feature(FeatureKind::Word(1), 1), feature(FeatureKind::Word(0), 4)]));
        let mut features =
            [feature(FeatureKind::Word(1), 9), feature(FeatureKind::Doc(0), 7), feature(FeatureKind::Word(0), 1)];
        sum.apply(&mut features);
        assert_eq!((sum.symbols(), features.map(|feature| feature.frequency)), (15, [1, 7, 6]));
    }
}
