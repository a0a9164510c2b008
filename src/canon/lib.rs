//! From a language server's raw answer to the one canonical answer: gated, normalised, sorted, deduplicated, capped
//! (contract §4). Not here: asking servers, the path gate itself (a caller brings it as a [`UriGate`]), paging.
//!
//! Invariants: any permutation or duplication of a raw answer gives an equal [`Canonical`]; canonicalising twice equals
//! once; each distinct URI text is put to the gate exactly once. Hash maps are only looked up, never walked.

mod calls;
mod declared;
mod diagnostics;
mod document_symbols;
mod gated;
mod hover;
pub mod limits;
mod locations;
mod markup;
mod order;
mod outline;
mod ranked;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod workspace_symbols;

pub use codeyard_model::uri::UriAdmission;

pub use calls::{RawCallItem, call_items, calls};
pub use declared::declares;
pub use diagnostics::{diagnostics, workspace_diagnostics};
pub use document_symbols::document_symbols;
pub use hover::hover;
pub use locations::locations;
pub use markup::markup;
pub use outline::outline;
pub use ranked::ranked;
pub use workspace_symbols::workspace_symbols;

/// The path gate, as far as canonicalisation needs it. Equal texts must get equal admissions during one call.
pub trait UriGate {
    /// Decides about one URI text.
    fn admit(&mut self, uri: &str) -> UriAdmission;
}

/// A canonical list. Only this module can make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical<T> {
    items: Vec<T>,
    outside: usize,
}

impl<T> Canonical<T> {
    /// The entries: gated, sorted, without duplicates.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The entries, owned.
    pub fn into_items(self) -> Vec<T> {
        self.items
    }

    /// How many distinct raw entries were left out because they lie outside the allowed roots.
    pub fn outside(&self) -> usize {
        self.outside
    }
}

/// Reasons in `details.reason` of a CAP_EXCEEDED from here.
pub mod reasons {
    /// More distinct raw entries than may be looked at.
    pub const RAW_ITEMS: &str = "too_many_raw_items";
    /// More canonical entries than the tool's total cap.
    pub const TOTAL_ITEMS: &str = "too_many_results";
    /// The entries' texts together are too long.
    pub const TEXT_BYTES: &str = "too_much_text";
}
