//! The weights of ranked results, which the section `[ranking]` of a configuration can change.

use serde::{Deserialize, Serialize};

/// The weights of the factors. Only their ratios matter. `docs/internals/ranking.md` has the formula.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Weight of `exact_match_boost`: the name equals the query, begins with it or contains its words.
    pub exact_match: f64,
    /// Weight of `qualified_name_boost`: enclosing symbols or the path match the qualifiers of the query.
    pub qualified_name: f64,
    /// Weight of `path_affinity`: the path contains words of the query, and the file is neither a test nor vendored code.
    pub path_affinity: f64,
    /// Weight of `definition_boost`: the symbol is a definition, and its kind is a frequent target of searches, such as a type or function.
    pub definition: f64,
    /// Weight of `kind_match`: the symbol has the kind that the query names.
    pub kind_match: f64,
    /// Weight of the words: of `bm25_score / (bm25_score + bm25_half)`.
    pub bm25: f64,
    /// The `bm25_score` that gives half of the weight `bm25`.
    pub bm25_half: f64,
    /// Factor of the name, path and word factors in tests, 0 to 1.
    pub test_factor: f64,
    /// Factor of `path_affinity` in vendored code, 0 to 1.
    pub vendored_factor: f64,
    /// Factor of the name, path and word factors in generated and minified files, 0 to 1.
    pub generated_factor: f64,
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
            generated_factor: 0.4,
        }
    }
}

/// The error for a weight outside its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`ranking.{name}` must be a number between {least} and {most}; correct it in the configuration file")]
pub struct BadWeight {
    pub name: &'static str,
    /// The smallest allowed value.
    pub least: &'static str,
    /// The largest allowed value.
    pub most: &'static str,
}

impl Weights {
    /// Checks that every weight is a number in its bounds.
    ///
    /// # Errors
    /// The first weight that is not.
    pub fn check(&self) -> Result<(), BadWeight> {
        let weights = [
            ("exact_match", self.exact_match),
            ("qualified_name", self.qualified_name),
            ("path_affinity", self.path_affinity),
            ("definition", self.definition),
            ("kind_match", self.kind_match),
            ("bm25", self.bm25),
        ];
        // `contains` is false for NaN, so that NaN fails too.
        if let Some((name, _)) = weights.iter().find(|(_, weight)| !(0.0..=100.0).contains(weight)) {
            return Err(BadWeight { name, least: "0", most: "100" });
        }
        if self.sum() <= 0.0 {
            return Err(BadWeight { name: "exact_match", least: "0.001", most: "100" });
        }
        if !(0.001..=1000.0).contains(&self.bm25_half) {
            return Err(BadWeight { name: "bm25_half", least: "0.001", most: "1000" });
        }
        let shares = [
            ("test_factor", self.test_factor),
            ("vendored_factor", self.vendored_factor),
            ("generated_factor", self.generated_factor),
        ];
        match shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            Some((name, _)) => Err(BadWeight { name, least: "0", most: "1" }),
            None => Ok(()),
        }
    }

    /// The sum of the weights, without `bm25_half` and the factors.
    pub fn sum(&self) -> f64 {
        self.exact_match + self.qualified_name + self.path_affinity + self.definition + self.kind_match + self.bm25
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_weights_are_checked_and_others_keep_their_defaults() {
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
