//! The artifacts of a launch run: their forms, as they are written, read, and checked by the gate `Schema`.
//!
//! They hold no clock, no duration and no identifier of a run, so equal inputs give equal bytes; `pr.json` is the exception. Lists are
//! sorted, maps are ordered. The schemas in `schemas/launch` are made from these types
//! (`docs/internals/reference/contract-launch.md#artifacts`).

pub mod facts;
pub mod issue;
pub mod page_claims;
pub mod page_draft;
pub mod page_plan;
pub mod patch;
pub mod pull_request;
pub mod repository;
pub(crate) mod schemas;
pub mod site;
pub mod snippets;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of all forms.
pub const SCHEMA_VERSION: &str = "1.0";

/// The names of the artifacts.
pub mod names {
    /// [`super::repository::RepoInventory`].
    pub const REPO_INVENTORY: &str = "repo_inventory.json";
    /// [`super::site::SiteContext`].
    pub const SITE_CONTEXT: &str = "site_context.json";
    /// [`super::facts::ProductFacts`].
    pub const PRODUCT_FACTS: &str = "product_facts.json";
    /// [`super::facts::EvidenceMap`].
    pub const EVIDENCE_MAP: &str = "evidence_map.json";
    /// [`super::snippets::SnippetCatalog`].
    pub const SNIPPET_CATALOG: &str = "snippet_catalog.json";
    /// [`super::page_plan::PagePlan`].
    pub const PAGE_PLAN: &str = "page_plan.json";
    /// [`super::page_claims::PageClaims`].
    pub const PAGE_CLAIMS: &str = "page_claims.json";
    /// [`super::patch::PatchBundle`].
    pub const PATCH_BUNDLE: &str = "patch_bundle.json";
    /// [`super::patch::DiffReport`].
    pub const DIFF_REPORT: &str = "diff_report.json";
    /// [`super::issue::ValidationReport`].
    pub const VALIDATION_REPORT: &str = "validation_report.json";
    /// [`super::pull_request::PullRequest`].
    pub const PULL_REQUEST: &str = "pr.json";
}

/// The bytes of an artifact: indented JSON with a newline at the end.
pub fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    // The types of this module have no map keys that aren't text, so this can't fail.
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The artifact that `bytes` hold.
///
/// # Errors
/// What is wrong, in words.
pub fn from_bytes<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("the artifact {name} has another form: {error}"))
}
