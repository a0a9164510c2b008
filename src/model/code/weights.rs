//! What a configuration may change about the order of ranked results: `[ranking]`.

use serde::{Deserialize, Serialize};

/// How much each factor counts; only their ratios matter. See `docs/ranking.md` for the formula.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Of `exact_match_boost`: the name is what was asked for, or begins with it.
    pub exact_match: f64,
    /// Of `qualified_name_boost`: the names around it, or its path, are those that were asked for.
    pub qualified_name: f64,
    /// Of `path_affinity`: the path holds words of the query, and is nobody's test or copy.
    pub path_affinity: f64,
    /// Of `definition_boost`: it is defined here, and of a kind that is worth finding.
    pub definition: f64,
    /// Of `kind_match`: it is of the kind that the query names.
    pub kind_match: f64,
    /// Of the words: of `bm25_score / (bm25_score + bm25_half)`.
    pub bm25: f64,
    /// The `bm25_score` that counts half.
    pub bm25_half: f64,
    /// What is left of `path_affinity` in tests, 0 to 1.
    pub test_factor: f64,
    /// What is left of `path_affinity` in vendored code, 0 to 1.
    pub vendored_factor: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            exact_match: 5.0,
            qualified_name: 1.5,
            path_affinity: 1.0,
            definition: 1.0,
            kind_match: 0.5,
            bm25: 4.0,
            bm25_half: 20.0,
            test_factor: 0.4,
            vendored_factor: 0.4,
        }
    }
}

/// A weight that can't be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`ranking.{name}` must be a number between {least} and {most}; correct it in the configuration file")]
pub struct BadWeight {
    /// Its name.
    pub name: &'static str,
    /// The least it may be.
    pub least: &'static str,
    /// The most it may be.
    pub most: &'static str,
}

impl Weights {
    /// Checks that every weight is a number in its bounds.
    ///
    /// # Errors
    /// The first that isn't.
    pub fn check(&self) -> Result<(), BadWeight> {
        let weights = [
            ("exact_match", self.exact_match),
            ("qualified_name", self.qualified_name),
            ("path_affinity", self.path_affinity),
            ("definition", self.definition),
            ("kind_match", self.kind_match),
            ("bm25", self.bm25),
        ];
        // Written so that what is no number fails too.
        if let Some((name, _)) = weights.iter().find(|(_, weight)| !(0.0..=100.0).contains(weight)) {
            return Err(BadWeight { name, least: "0", most: "100" });
        }
        if self.sum() <= 0.0 {
            return Err(BadWeight { name: "exact_match", least: "0.001", most: "100" });
        }
        if !(0.001..=1000.0).contains(&self.bm25_half) {
            return Err(BadWeight { name: "bm25_half", least: "0.001", most: "1000" });
        }
        let shares = [("test_factor", self.test_factor), ("vendored_factor", self.vendored_factor)];
        match shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            Some((name, _)) => Err(BadWeight { name, least: "0", most: "1" }),
            None => Ok(()),
        }
    }

    /// All weights together.
    pub fn sum(&self) -> f64 {
        self.exact_match + self.qualified_name + self.path_affinity + self.definition + self.kind_match + self.bm25
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_configuration_says_is_checked_and_the_rest_is_default() {
        let weights: Weights = toml::from_str("bm25 = 2.5").unwrap();
        assert_eq!(weights, Weights { bm25: 2.5, ..Weights::default() });
        assert!(weights.check().is_ok());
        assert!(toml::from_str::<Weights>("bm26 = 1").is_err());
        let name = |weights: Weights| weights.check().map_err(|bad| bad.name);
        assert_eq!(name(Weights { bm25: -1.0, ..weights }), Err("bm25"));
        assert_eq!(name(Weights { kind_match: f64::NAN, ..weights }), Err("kind_match"));
        assert_eq!(name(Weights { bm25_half: 0.0, ..weights }), Err("bm25_half"));
        assert_eq!(name(Weights { vendored_factor: 1.5, ..weights }), Err("vendored_factor"));
        let nothing = Weights {
            exact_match: 0.0,
            qualified_name: 0.0,
            path_affinity: 0.0,
            definition: 0.0,
            kind_match: 0.0,
            bm25: 0.0,
            ..weights
        };
        assert_eq!(name(nothing), Err("exact_match"));
    }
}
