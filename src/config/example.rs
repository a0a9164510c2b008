//! The commented default configuration, and the JSON schema for editors.

use serde_json::Value;

use crate::Config;

/// `config/default.toml`.
const DEFAULT_TOML: &str = include_str!("../../config/default.toml");

impl Config {
    /// Every key with its default and a comment: a template for a configuration.
    pub fn default_toml() -> &'static str {
        DEFAULT_TOML
    }

    /// The JSON schema (2020-12) of a configuration file.
    pub fn json_schema() -> Value {
        schemars::schema_for!(Config).to_value()
    }
}
