//! The JSON Schemas of the artifacts, made from their types; `schemas/launch` holds them as files.
//!
//! Invariant: a file is what its type says; a test compares them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use super::facts::{EvidenceMap, ProductFacts};
use super::names;
use super::page_claims::PageClaims;
use super::page_plan::PagePlan;
use super::patch::{DiffReport, PatchBundle};
use super::pull_request::PullRequest;
use super::repository::RepoInventory;
use super::site::SiteContext;
use super::snippets::SnippetCatalog;
use crate::artifacts::issue::ValidationReport;

/// Faults of one artifact that are reported.
const SHOWN_FAULTS: usize = 3;

/// What makes a schema.
type Maker = fn() -> Value;

/// The artifacts and what makes their schemas.
const SCHEMAS: [(&str, Maker); 11] = [
    (names::REPO_INVENTORY, schema::<RepoInventory>),
    (names::SITE_CONTEXT, schema::<SiteContext>),
    (names::PRODUCT_FACTS, schema::<ProductFacts>),
    (names::EVIDENCE_MAP, schema::<EvidenceMap>),
    (names::SNIPPET_CATALOG, schema::<SnippetCatalog>),
    (names::PAGE_PLAN, schema::<PagePlan>),
    (names::PAGE_CLAIMS, schema::<PageClaims>),
    (names::PATCH_BUNDLE, schema::<PatchBundle>),
    (names::DIFF_REPORT, schema::<DiffReport>),
    (names::VALIDATION_REPORT, schema::<ValidationReport>),
    (names::PULL_REQUEST, schema::<PullRequest>),
];

fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}

/// What is wrong with an artifact of this name, the first faults with their places; empty if nothing is.
///
/// # Errors
/// If the bytes aren't JSON.
pub(crate) fn faults(name: &str, bytes: &[u8]) -> Result<Vec<String>, String> {
    static VALIDATORS: OnceLock<BTreeMap<&str, Validator>> = OnceLock::new();
    let validators = VALIDATORS.get_or_init(|| {
        let made = SCHEMAS.iter().filter_map(|(name, make)| Some((*name, jsonschema::validator_for(&make()).ok()?)));
        made.collect()
    });
    let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("{name} isn't JSON: {error}"))?;
    let Some(validator) = validators.get(name) else { return Ok(vec![format!("{name} has no schema")]) };
    let faults = validator.iter_errors(&value).take(SHOWN_FAULTS);
    Ok(faults.map(|fault| format!("{}: {fault}", fault.instance_path())).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_files_are_what_the_types_say() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/launch");
        for (name, make) in SCHEMAS {
            let file = folder.join(name.replace(".json", ".schema.json"));
            let text = format!("{}\n", serde_json::to_string_pretty(&make()).unwrap());
            if std::env::var_os("UPDATE_DOCS").is_some() {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&file, &text).unwrap();
            }
            let found = std::fs::read_to_string(&file).unwrap_or_default();
            assert_eq!(found, text, "{}: run UPDATE_DOCS=1 cargo test -p codeyard-launch schemas", file.display());
        }
    }

    #[test]
    fn every_schema_refuses_what_its_type_does_not_know() {
        for (name, make) in SCHEMAS {
            let faults = |value: Value| faults(name, value.to_string().as_bytes()).unwrap();
            assert!(!faults(json!({})).is_empty() && !faults(json!([])).is_empty(), "{name}");
            let more = json!({"schema_version": "1.0", "colour": "red"});
            let validator = jsonschema::validator_for(&make()).unwrap();
            let all: Vec<String> = validator.iter_errors(&more).map(|error| error.to_string()).collect();
            assert!(all.iter().any(|fault| fault.contains("colour")), "{name}: {all:?}");
        }
        assert!(faults(names::PAGE_PLAN, b"{").is_err());
        assert_eq!(faults("other.json", b"{}").unwrap(), ["other.json has no schema"]);
    }
}
