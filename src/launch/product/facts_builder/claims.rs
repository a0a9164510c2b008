//! Collects the claims of a run with their evidence.
//!
//! Invariant: a claim without evidence isn't recorded.

use std::collections::BTreeMap;

use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::facts::{Claim, Evidence, EvidenceMap, Fact};

pub(super) struct ClaimLedger {
    map: EvidenceMap,
}

impl ClaimLedger {
    pub(super) fn new(commit: &str) -> Self {
        let map = EvidenceMap {
            schema_version: SCHEMA_VERSION.to_owned(),
            commit: commit.to_owned(),
            claims: BTreeMap::new(),
        };
        Self { map }
    }

    /// Records a claim and returns its identifier; `None` without evidence.
    pub(super) fn add(&mut self, text: &str, evidence: Vec<Evidence>) -> Option<String> {
        self.insert(Claim { text: text.to_owned(), is_inferred: false, evidence })
    }

    /// As [`Self::add`], for a claim that was inferred.
    pub(super) fn add_inferred(&mut self, text: &str, evidence: Vec<Evidence>) -> Option<String> {
        self.insert(Claim { text: text.to_owned(), is_inferred: true, evidence })
    }

    fn insert(&mut self, claim: Claim) -> Option<String> {
        if claim.evidence.is_empty() {
            return None;
        }
        let id = claim.id();
        self.map.claims.entry(id.clone()).or_insert(claim);
        Some(id)
    }

    /// Records a claim that says what the fact's text is.
    pub(super) fn fact(&mut self, text: &str, claimed: &str, evidence: Vec<Evidence>) -> Option<Fact> {
        let claim = self.add(claimed, evidence)?;
        Some(Fact { text: text.to_owned(), claim })
    }

    pub(super) fn into_map(self) -> EvidenceMap {
        self.map
    }
}
