//! Folds tests under one row, so that they don't hide the code that they test. Pure.
//!
//! A test whose name is the query's is what was asked for and isn't folded; neither is any test if all hits are tests or
//! the query asks for tests.

use std::collections::BTreeMap;

use super::manifest_view::ManifestView;
use crate::ranked::{RankedHit, RankedHits};
use codeyard_model::code::FoldedTests;

/// Files of folded tests that an answer names.
const MAX_FOLDED_PATHS: usize = 5;
/// From this `exact_match_boost` on, the name is the query's.
const WHOLE_NAME: f64 = 0.85;

/// Removes all tests but the best one from the hits, and notes in `found.folded` what was removed.
pub(super) fn fold_tests(found: &mut RankedHits, view: &ManifestView) {
    let is_folded = |hit: &RankedHit| hit.is_test && hit.reasons.exact_match_boost < WHOLE_NAME;
    if found.wants_tests || found.hits.iter().all(|hit| hit.is_test) {
        return;
    }
    let Some(first) = found.hits.iter().position(is_folded) else { return };
    let mut by_path: BTreeMap<&str, usize> = BTreeMap::new();
    let others = found.hits.iter().skip(first + 1).filter(|hit| is_folded(hit));
    for hit in others {
        if let Some(entry) = view.manifest.entries().get(hit.entry) {
            *by_path.entry(&entry.path).or_default() += 1;
        }
    }
    let count: usize = by_path.values().sum();
    if count == 0 {
        return;
    }
    // The paths with the most tests, so that the list says where most of them are.
    let mut by_count: Vec<(&str, usize)> = by_path.into_iter().collect();
    by_count.sort_by(|one, other| (other.1, one.0).cmp(&(one.1, other.0)));
    let paths = by_count.iter().take(MAX_FOLDED_PATHS).map(|(path, _)| (*path).to_owned()).collect();
    let mut at = 0;
    found.hits.retain(|hit| {
        at += 1;
        at - 1 <= first || !is_folded(hit)
    });
    let shown = &found.hits[first];
    found.folded = Some(((shown.entry, shown.ordinal), FoldedTests { count, paths }));
}
