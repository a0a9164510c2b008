//! Canonical answers: makes one canonical answer from the raw answers of language servers. It gates, normalises, sorts,
//! deduplicates and caps. It neither calls language servers nor pages; the path gate is passed in as a [`UriGate`].
//!
//! Invariants: any permutation or duplication of a raw answer gives an equal [`Canonical`]; canonicalising twice equals
//! once; each distinct URI text is passed to the gate exactly once. Hash maps are only looked up, never iterated.

mod calls;
mod diagnostics;
mod document_symbols;
mod hover;
mod hover_markup;
pub mod limits;
mod locations;
mod order;
mod outline;
mod row_confirmation;
mod symbol_ranking;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod uri_admission;
mod workspace_symbols;

pub use codeyard_model::uri::UriAdmission;

pub use calls::{RawCallItem, call_items, calls};
pub use diagnostics::{diagnostics, workspace_diagnostics};
pub use document_symbols::document_symbols;
pub use hover::hover;
pub use hover_markup::markup;
pub use locations::locations;
pub use outline::outline;
pub use row_confirmation::declares;
pub use symbol_ranking::{last_part, rank_symbols};
pub use workspace_symbols::workspace_symbols;

/// The part of the path gate that canonicalisation needs. During one call, equal texts must get equal admissions.
pub trait UriGate {
    /// Decides whether a URI is admitted.
    fn admit(&mut self, uri: &str) -> UriAdmission;
}

/// A canonical list. Only this crate makes one.
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

    /// Number of distinct raw entries left out because they are outside the allowed roots.
    pub fn outside(&self) -> usize {
        self.outside
    }
}

/// Values of `details.reason` in a CAP_EXCEEDED error of this crate.
pub mod reasons {
    /// Too many distinct raw entries.
    pub const RAW_ITEMS: &str = "too_many_raw_items";
    /// More canonical entries than the tool's total cap.
    pub const TOTAL_ITEMS: &str = "too_many_results";
    /// The texts of all entries together are too long.
    pub const TEXT_BYTES: &str = "too_much_text";
}
