//! The steps that every list with URIs shares: count distinct entries, ask the gate once per URI text, sort, deduplicate, cap.
//!
//! URI texts are replaced by numbers first, so that sorting 20,000 entries compares integers, not paths. The caps count
//! distinct entries: a server that repeats entries can't cause an error. The frame size bounds the work on repeated entries.

use std::collections::HashMap;
use std::sync::Arc;

use codeyard_base::seeded_faults;
use codeyard_model::error::ToolError;
use codeyard_model::uri::CanonicalUri;

use super::order::sort_dedup;
use super::{UriAdmission, UriGate, reasons};

/// Entries with their canonical URI, ordered by URI, then entry; and the number of entries outside the roots.
pub(super) type AdmittedEntries<K> = (Vec<(CanonicalUri, K)>, usize);

/// Gates, sorts and deduplicates `raw`. CAP_EXCEEDED for more than `max_raw` distinct raw entries, or more than
/// `max_total` entries that are left.
pub(super) fn admit_entries<K: Ord>(
    raw: impl Iterator<Item = (Arc<str>, K)>,
    gate: &mut dyn UriGate,
    max_raw: usize,
    max_total: usize,
) -> Result<AdmittedEntries<K>, ToolError> {
    let mut texts = UriTexts::default();
    let mut entries: Vec<(usize, K)> = raw.map(|(uri, key)| (texts.number(uri), key)).collect();
    sort_dedup(&mut entries);
    if entries.len() > max_raw {
        return Err(ToolError::too_many(reasons::RAW_ITEMS, max_raw));
    }
    let admitted = texts.admit(gate);
    let mut outside = 0;
    let mut inside: Vec<(usize, K)> = Vec::with_capacity(entries.len());
    for (text, key) in entries {
        match admitted.verdicts[text] {
            UriVerdict::Inside(rank) => inside.push((rank, key)),
            UriVerdict::Outside => outside += 1,
            UriVerdict::Missing => {}
        }
    }
    sort_dedup(&mut inside);
    if inside.len() > max_total {
        return Err(ToolError::too_many(reasons::TOTAL_ITEMS, max_total));
    }
    Ok((inside.into_iter().map(|(rank, key)| (admitted.uris[rank].clone(), key)).collect(), outside))
}

/// The distinct URI texts of one answer, numbered in order of appearance.
#[derive(Default)]
pub(super) struct UriTexts {
    numbers: HashMap<Arc<str>, usize>,
    texts: Vec<Arc<str>>,
}

/// The verdict on each text, and the distinct canonical URIs in order.
pub(super) struct AdmittedUris {
    /// Indexed by the text's number.
    pub(super) verdicts: Vec<UriVerdict>,
    /// Indexed by rank, sorted.
    pub(super) uris: Vec<CanonicalUri>,
}

/// An admission with the canonical URI's rank in place of the URI.
#[derive(Clone, Copy)]
pub(super) enum UriVerdict {
    /// Inside, with its index in the sorted list of URIs.
    Inside(usize),
    Outside,
    /// Inside, but missing.
    Missing,
}

impl UriTexts {
    /// The number of `text`. A new text gets the next number.
    pub(super) fn number(&mut self, text: Arc<str>) -> usize {
        if let Some(&number) = self.numbers.get(&text) {
            return number;
        }
        let number = self.texts.len();
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    /// Passes each text to the gate once.
    pub(super) fn admit(self, gate: &mut dyn UriGate) -> AdmittedUris {
        // In text order, so that a gate that keeps directories open opens each one once.
        let mut sorted: Vec<(usize, Arc<str>)> = self.texts.into_iter().enumerate().collect();
        sorted.sort_unstable_by(|(_, one), (_, other)| one.cmp(other));
        let mut admissions: Vec<(usize, UriAdmission)> =
            sorted.into_iter().map(|(number, text)| (number, gate.admit(&text))).collect();
        admissions.sort_unstable_by_key(|(number, _)| *number);
        let inside = admissions.iter().filter_map(|(_, admission)| match admission {
            UriAdmission::Inside(uri) => Some(uri.clone()),
            _ => None,
        });
        let mut uris: Vec<CanonicalUri> = inside.collect();
        sort_dedup(&mut uris);
        let verdicts = admissions.into_iter().map(|(_, admission)| verdict(&admission, &uris)).collect();
        AdmittedUris { verdicts, uris }
    }
}

fn verdict(admission: &UriAdmission, uris: &[CanonicalUri]) -> UriVerdict {
    match admission {
        // Each URI inside is in `uris`, so the search finds it.
        UriAdmission::Inside(uri) => uris.binary_search(uri).map_or(UriVerdict::Missing, UriVerdict::Inside),
        UriAdmission::Outside if seeded_faults::is_on("outside_uncounted") => UriVerdict::Missing,
        UriAdmission::Outside => UriVerdict::Outside,
        UriAdmission::Missing => UriVerdict::Missing,
    }
}
