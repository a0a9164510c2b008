//! The gate `Schema`: the artifacts have their forms, and are about the same commits.

use serde::de::DeserializeOwned;

use super::{Finding, Scene};
use crate::artifacts::facts::{EvidenceMap, ProductFacts};
use crate::artifacts::issue::{GateName, Issue, Severity};
use crate::artifacts::page_claims::PageClaims;
use crate::artifacts::page_plan::PagePlan;
use crate::artifacts::patch::{DiffReport, PatchBundle};
use crate::artifacts::repository::RepoInventory;
use crate::artifacts::site::SiteContext;
use crate::artifacts::snippets::SnippetCatalog;
use crate::artifacts::{from_bytes, names, schemas};

/// What reads an artifact, or says why it can't.
type Reader = fn(&str, &[u8]) -> Result<(), String>;

fn reads<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<(), String> {
    from_bytes::<T>(name, bytes).map(drop)
}

/// The artifacts that a run has when it is validated.
const READERS: [(&str, Reader); 9] = [
    (names::REPO_INVENTORY, reads::<RepoInventory>),
    (names::SITE_CONTEXT, reads::<SiteContext>),
    (names::PRODUCT_FACTS, reads::<ProductFacts>),
    (names::EVIDENCE_MAP, reads::<EvidenceMap>),
    (names::SNIPPET_CATALOG, reads::<SnippetCatalog>),
    (names::PAGE_PLAN, reads::<PagePlan>),
    (names::PAGE_CLAIMS, reads::<PageClaims>),
    (names::PATCH_BUNDLE, reads::<PatchBundle>),
    (names::DIFF_REPORT, reads::<DiffReport>),
];

pub(crate) fn run(scene: &Scene<'_>) -> Vec<Finding> {
    let input = scene.input;
    let mut findings = Vec::new();
    for (name, reader) in READERS {
        let fault = match (input.artifacts)(name) {
            None => Some(format!("the run has no artifact {name}")),
            Some(bytes) => match schemas::faults(name, &bytes) {
                Ok(faults) if faults.is_empty() => reader(name, &bytes).err(),
                Ok(faults) => Some(format!("{name} isn't what its schema says ({})", faults.join("; "))),
                Err(why) => Some(why),
            },
        };
        if let Some(fault) = fault {
            let issue = Issue::new(GateName::Schema, Severity::Blocker, "SCHEMA_MISMATCH", None, name);
            let message = format!("{fault}; start another run");
            findings.push(Finding::of(issue.with_text(&format!("{name} has another form"), message)));
        }
    }
    let commits = [
        (names::PRODUCT_FACTS, &input.facts.commit),
        (names::EVIDENCE_MAP, &input.evidence.commit),
        (names::SNIPPET_CATALOG, &input.snippets.commit),
        (names::PAGE_PLAN, &input.plan.commit),
    ];
    for (name, commit) in commits.iter().filter(|(_, commit)| **commit != input.claims.commit) {
        let issue = Issue::new(GateName::Schema, Severity::Blocker, "OTHER_COMMIT", None, name);
        let message = format!("{name} is about the commit {commit}, but the pages are about {}", input.claims.commit);
        findings.push(Finding::of(issue.with_text(&format!("{name} is about another commit"), message)));
    }
    findings
}
