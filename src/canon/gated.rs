//! The way every list with URIs goes: count what is distinct, ask the gate once per text, sort, deduplicate, cap.
//!
//! URI texts are replaced by small numbers at once, so that sorting 20,000 entries compares integers, not paths. The
//! caps count distinct entries: a server that repeats itself can't turn an answer into an error. What bounds the work on
//! repeated entries is the size of a frame.

use std::collections::HashMap;
use std::sync::Arc;

use codeyard_model::error::ToolError;
use codeyard_model::uri::CanonicalUri;

use super::order::sort_dedup;
use super::{UriAdmission, UriGate, reasons};

/// Entries with their canonical URI, in order of URI, then the entry; and the number left out as outside.
pub(super) type Gated<K> = (Vec<(CanonicalUri, K)>, usize);

/// Gates, sorts and deduplicates `raw`. CAP_EXCEEDED for more than `max_raw` distinct raw entries, or more than
/// `max_total` entries that are left.
pub(super) fn gated<K: Ord>(
    raw: impl Iterator<Item = (Arc<str>, K)>,
    gate: &mut dyn UriGate,
    max_raw: usize,
    max_total: usize,
) -> Result<Gated<K>, ToolError> {
    let mut texts = Texts::default();
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
            Verdict::Inside(rank) => inside.push((rank, key)),
            Verdict::Outside => outside += 1,
            Verdict::Missing => {}
        }
    }
    sort_dedup(&mut inside);
    if inside.len() > max_total {
        return Err(ToolError::too_many(reasons::TOTAL_ITEMS, max_total));
    }
    Ok((inside.into_iter().map(|(rank, key)| (admitted.uris[rank].clone(), key)).collect(), outside))
}

/// The distinct URI texts of one answer, numbered as they come.
#[derive(Default)]
pub(super) struct Texts {
    numbers: HashMap<Arc<str>, usize>,
    texts: Vec<Arc<str>>,
}

/// What became of each text, and the distinct canonical URIs in order.
pub(super) struct Admitted {
    /// By number of the text.
    pub(super) verdicts: Vec<Verdict>,
    /// By rank, sorted.
    pub(super) uris: Vec<CanonicalUri>,
}

/// An admission with the canonical URI's rank in place of the URI.
#[derive(Clone, Copy)]
pub(super) enum Verdict {
    /// Inside, at this place in the sorted list of URIs.
    Inside(usize),
    /// Outside.
    Outside,
    /// Inside, but not there.
    Missing,
}

impl Texts {
    /// The number of `text`, a new one if it wasn't seen before.
    pub(super) fn number(&mut self, text: Arc<str>) -> usize {
        if let Some(&number) = self.numbers.get(&text) {
            return number;
        }
        let number = self.texts.len();
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    /// Puts each text to the gate, once.
    pub(super) fn admit(self, gate: &mut dyn UriGate) -> Admitted {
        // In the order of their texts: a gate that looks at one folder after the other has less to do.
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
        Admitted { verdicts, uris }
    }
}

fn verdict(admission: &UriAdmission, uris: &[CanonicalUri]) -> Verdict {
    match admission {
        // Each inside URI was put into `uris`, so the search finds it.
        UriAdmission::Inside(uri) => uris.binary_search(uri).map_or(Verdict::Missing, Verdict::Inside),
        UriAdmission::Outside => Verdict::Outside,
        UriAdmission::Missing => Verdict::Missing,
    }
}
