//! The configuration of a run: checked against its schema, then read.
//!
//! It contacts nothing: a branch is pinned and a repository is cloned later. Invariants: a configuration that is accepted has every value, the
//! defaults included; equal configurations have equal digests, however they are written; a refusal names every fault with its path and repeats no
//! value, which could be a secret in the wrong place. Source: `docs/internals/reference/contract-launch.md#run-configuration`,
//! `schemas/run_config.schema.json`.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::request::allowed_paths::AllowedPaths;

/// The schema as it is served.
pub const SCHEMA: &str = include_str!("../../../schemas/run_config.schema.json");

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON: a test reads it");
    jsonschema::validator_for(&schema).expect("the schema is valid: a test reads it")
});

/// A configuration that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The version of the form, `1.0`.
    pub schema_version: String,
    /// The product in URLs and file names.
    pub product_slug: String,
    /// The product in texts.
    pub product_name: String,
    pub family: String,
    /// The platform that the product is for.
    pub target_platform: String,
    /// The product's source repository.
    pub github_repo_url: String,
    /// A full commit, or a branch or tag.
    pub github_ref: String,
    /// The sections that the run writes, in the order of the contract.
    pub required_sections: Vec<Section>,
    /// The files of the site that the run may write.
    pub allowed_paths: Vec<String>,
    /// The languages of the pages.
    #[serde(default = "default_locales")]
    pub locales: Vec<String>,
    /// The order of folders on the site.
    #[serde(default)]
    pub layout_mode: LayoutMode,
    /// Whether claims may stand on inferred facts.
    #[serde(default)]
    pub allow_inference: bool,
    /// Failed attempts to fix one issue.
    #[serde(default = "default_fix_attempts")]
    pub max_fix_attempts: u32,
    /// Which gates run.
    #[serde(default)]
    pub validation_profile: ValidationProfile,
    /// Whether the run goes on by itself.
    #[serde(default = "default_advance")]
    pub advance: codeyard_runs::machine::Advance,
    /// The documentation site; `None` if the defaults of the table of sites apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<SiteRepository>,
    /// Who writes the prose.
    #[serde(default)]
    pub writer: Writer,
    /// Who publishes the result.
    #[serde(default)]
    pub commit_service: CommitServiceConfig,
    /// The limits of the run.
    #[serde(default)]
    pub budgets: Budgets,
}

/// A section of a documentation site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    Products,
    /// Guides.
    Docs,
    Reference,
    /// Answers to single questions.
    Kb,
    /// News.
    Blog,
}

/// A section as configurations write it.
pub fn section_name(section: Section) -> &'static str {
    match section {
        Section::Products => "products",
        Section::Docs => "docs",
        Section::Reference => "reference",
        Section::Kb => "kb",
        Section::Blog => "blog",
    }
}

/// The order of folders on a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutMode {
    /// As the site's existing pages have it.
    #[default]
    Auto,
    /// Languages above products.
    V1,
    /// Products above languages.
    V2,
}

/// Which gates run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ValidationProfile {
    /// Those that need no network.
    #[default]
    Local,
    /// All.
    Ci,
    /// All, before a publication.
    Prod,
}

/// A site's repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteRepository {
    pub repo_url: String,
    /// The branch that the pull request is for, or a commit.
    #[serde(rename = "ref", default = "default_site_ref")]
    pub site_ref: String,
    /// What builds it.
    #[serde(default)]
    pub kind: SiteKind,
}

/// What builds a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SiteKind {
    #[default]
    Hugo,
    /// Nothing: the files are the pages.
    Markdown,
}

/// Who writes the prose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Writer {
    #[default]
    Template,
    /// A language model behind an API of OpenAI's form.
    Openai {
        /// Where the API is.
        base_url: String,
        model: String,
        /// The environment variable with the key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        api_key_env: Option<String>,
    },
}

/// Who publishes the result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum CommitServiceConfig {
    /// A branch in the site's repository.
    #[default]
    Local,
    Http {
        base_url: String,
        /// The environment variable with the token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_env: Option<String>,
    },
    /// GitHub, or what has its API.
    Github {
        /// Where the API is.
        #[serde(default = "default_github_api")]
        base_url: String,
        /// The environment variable with the token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_env: Option<String>,
    },
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budgets {
    /// The run's time, in seconds.
    pub max_runtime_s: u64,
    /// Files that the pull request changes.
    pub max_files_changed: usize,
    pub max_lines_per_file: usize,
}

/// A fault of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ConfigFault {
    /// Where it is, a JSON pointer; empty for the whole.
    pub path: String,
    pub message: String,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { max_runtime_s: 3_600, max_files_changed: 100, max_lines_per_file: 500 }
    }
}

fn default_locales() -> Vec<String> {
    vec!["en".into()]
}

fn default_fix_attempts() -> u32 {
    3
}

fn default_advance() -> codeyard_runs::machine::Advance {
    codeyard_runs::machine::Advance::Auto
}

fn default_site_ref() -> String {
    "main".into()
}

fn default_github_api() -> String {
    "https://api.github.com".into()
}

impl RunConfig {
    /// The configuration that `value` is.
    ///
    /// # Errors
    /// All faults, by their path.
    pub fn parse(value: &Value) -> Result<Self, Vec<ConfigFault>> {
        let mut faults: Vec<ConfigFault> = VALIDATOR
            .iter_errors(value)
            .map(|error| ConfigFault { path: error.instance_path().to_string(), message: error.masked().to_string() })
            .collect();
        faults.extend(path_faults(value));
        if faults.is_empty() {
            // What serde says would repeat the value.
            let unreadable = |_| vec![ConfigFault { path: String::new(), message: "value can't be read".into() }];
            let mut config: Self = serde_json::from_value(with_integers(value.clone())).map_err(unreadable)?;
            config.required_sections.sort_unstable();
            return Ok(config);
        }
        faults.sort();
        faults.dedup();
        Err(faults)
    }

    /// The whole configuration, defaults included. Its canonical text is what the run's digest is made of.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_else(|_| json!({}))
    }
}

/// The faults of `allowed_paths` that a schema can't express.
fn path_faults(value: &Value) -> Vec<ConfigFault> {
    let entries = value["allowed_paths"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Entries of other types are faults of the schema.
    let texts: Vec<&str> = entries.iter().map(|entry| entry.as_str().unwrap_or("**")).collect();
    let faults = AllowedPaths::parse(&texts).err().unwrap_or_default();
    faults
        .into_iter()
        .map(|(place, fault)| ConfigFault { path: format!("/allowed_paths/{place}"), message: fault.to_string() })
        .collect()
}

/// The value with integers instead of floats without a fraction, which are the same to a schema.
fn with_integers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            // Every integer up to this one is exact as a float.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0 => {
                #[expect(clippy::cast_possible_truncation, reason = "it is within the bounds")]
                let integer = float as i64;
                integer.into()
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(with_integers).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, with_integers(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Value {
        json!({
            "schema_version": "1.0", "product_slug": "cells", "product_name": "Cells", "family": "cells",
            "target_platform": "python", "github_repo_url": "https://github.com/a/b", "github_ref": "main",
            "required_sections": ["docs", "products"], "allowed_paths": ["content/**"],
        })
    }

    fn with(path: &str, value: Value) -> Value {
        let mut config = small();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let place = if parent.is_empty() { &mut config } else { &mut config[&parent[1..]] };
        place[key] = value;
        config
    }

    fn faults(value: &Value) -> Vec<String> {
        RunConfig::parse(value).err().unwrap_or_default().into_iter().map(|fault| fault.path).collect()
    }

    #[test]
    fn defaults_are_filled_in_as_the_schema_says() {
        let config = RunConfig::parse(&small()).unwrap();
        assert_eq!(config.required_sections, [Section::Products, Section::Docs]);
        let value = config.to_value();
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        for (name, property) in schema["properties"].as_object().unwrap() {
            if let Some(default) = property.get("default") {
                assert_eq!(&value[name], default, "{name}");
            }
            for (inner, property) in property["properties"].as_object().into_iter().flatten() {
                if let (Some(default), "budgets") = (property.get("default"), name.as_str()) {
                    assert_eq!(&value[name][inner], default, "{name}.{inner}");
                }
            }
        }
        assert_eq!(RunConfig::parse(&value).unwrap(), config, "what is written out is accepted again");
    }

    #[test]
    fn complete_configurations_are_read() {
        let mut value = small();
        value["site"] = json!({"repo_url": "file:///srv/site.git", "ref": "live", "kind": "markdown"});
        value["writer"] =
            json!({"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "m", "api_key_env": "KEY"});
        value["commit_service"] = json!({"kind": "github", "token_env": "TOKEN"});
        value["budgets"] = json!({"max_files_changed": 5});
        value["advance"] = json!("step");
        let config = RunConfig::parse(&value).unwrap();
        assert_eq!(
            config.site.as_ref().map(|site| (site.site_ref.as_str(), site.kind)),
            Some(("live", SiteKind::Markdown))
        );
        assert_eq!(config.budgets, Budgets { max_files_changed: 5, ..Budgets::default() });
        let github = CommitServiceConfig::Github { base_url: default_github_api(), token_env: Some("TOKEN".into()) };
        assert_eq!(config.commit_service, github);
        assert_eq!(RunConfig::parse(&config.to_value()).unwrap(), config);
    }

    #[test]
    fn every_fault_is_reported_with_its_path() {
        assert_eq!(faults(&json!({})), [""; 9]);
        assert_eq!(faults(&json!([])), [""]);
        let mut broken = small();
        broken["schema_version"] = json!("2.0");
        broken["target_platform"] = json!("cobol");
        broken["locales"] = json!(["en", "EN"]);
        broken["budgets"] = json!({"max_runtime_s": 0, "more": 1});
        broken["allowed_paths"] = json!(["content/**", "../x", "/etc"]);
        assert_eq!(
            faults(&broken),
            [
                "/allowed_paths/1", "/allowed_paths/2", "/budgets", "/budgets/max_runtime_s", "/locales/1",
                "/schema_version", "/target_platform"
            ]
        );
    }

    #[test]
    fn no_refusal_repeats_a_value() {
        for (path, value) in [
            ("/commit_service", json!({"kind": "github", "token_env": "ghp_secret"})),
            ("/commit_service", json!({"kind": "local", "base_url": "http://u:ghp_secret@x"})),
            ("/writer", json!({"kind": "openai", "base_url": "ftp://u:ghp_secret@x", "model": "m"})),
            ("/writer", json!({"kind": "ghp_secret"})),
            ("/github_repo_url", json!("ftp://u:ghp_secret@x")),
            ("/schema_version", json!("ghp_secret")),
            ("/allowed_paths", json!(["/ghp_secret"])),
            ("/allowed_paths", json!({"a": "ghp_secret"})),
            ("/locales", json!(["GHP_SECRET", "ghp_secret", "ghp_secret"])),
            ("/budgets", json!("ghp_secret")),
        ] {
            let faults = RunConfig::parse(&with(path, value)).unwrap_err();
            assert!(!format!("{faults:?}").to_lowercase().contains("ghp_secret"), "{faults:?}");
            assert!(faults.iter().all(|fault| fault.path.starts_with(path)), "{faults:?}");
        }
    }

    #[test]
    fn integers_may_be_written_as_floats() {
        let mut value = small();
        value["budgets"] = json!({"max_files_changed": 100.0, "max_runtime_s": 6e1});
        value["max_fix_attempts"] = json!(-0.0);
        let config = RunConfig::parse(&value).unwrap();
        assert_eq!((config.budgets.max_files_changed, config.budgets.max_runtime_s), (100, 60));
        assert_eq!(config.max_fix_attempts, 0);
        assert_eq!(faults(&with("/budgets", json!({"max_files_changed": 100.5}))), ["/budgets/max_files_changed"]);
    }

    #[test]
    fn wrong_values_are_refused() {
        let cases = [
            ("/unknown", json!(1)),
            ("/product_slug", json!("../x")),
            ("/product_slug", json!("A")),
            ("/product_slug", json!("")),
            ("/product_name", json!("a\nb")),
            ("/github_repo_url", json!("ext::sh -c x")),
            ("/github_repo_url", json!("--upload-pack=x")),
            ("/github_repo_url", json!("https://a b")),
            ("/github_ref", json!("-x")),
            ("/github_ref", json!("")),
            ("/required_sections", json!([])),
            ("/required_sections", json!(["docs", "docs"])),
            ("/required_sections", json!(["news"])),
            ("/allowed_paths", json!([])),
            ("/allowed_paths", json!([1])),
            ("/allow_inference", json!("yes")),
            ("/max_fix_attempts", json!(-1)),
            ("/max_fix_attempts", json!(1.5)),
            ("/writer", json!({"kind": "openai"})),
            ("/writer", json!({"kind": "template", "model": "m"})),
            ("/commit_service", json!({"kind": "http"})),
            ("/commit_service", json!({"kind": "local", "base_url": "http://x"})),
            ("/commit_service", json!({"kind": "github", "token": "secret"})),
            ("/site", json!({"kind": "hugo"})),
            ("/advance", json!("fast")),
        ];
        for (path, value) in cases {
            let config = with(path, value);
            assert!(RunConfig::parse(&config).is_err(), "{path}: {}", config[&path[1..]]);
        }
    }
}
