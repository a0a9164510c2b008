//! Which symbols and files are meant by a name or by words: a tantivy index finds candidates, a formula of our own orders them.
//!
//! - [`SymbolIndex`] keeps one document for each symbol of each content. It knows nothing of paths, so that a content that many
//!   branches and worktrees show is indexed once.
//! - [`SymbolIndexView`] is one published state of it beside one [`Manifest`](super::Manifest): only symbols of contents that the manifest shows exist in it.
//! - [`SymbolIndexView::search`] and [`SymbolIndexView::locate`] answer; [`classify`] says what a query looks like; [`Weights`] are what a configuration may change.
//!
//! It isn't a text search: messages and string literals aren't symbols. `docs/ranking.md` has the formula.
//!
//! Invariants: an answer depends on the manifest, the facts of its contents and the weights, not on the order in which contents were
//! added, on threads, or on how tantivy cut its segments; each `final_score` follows from the factors beside it; order is the score
//! downwards, then the path, then the place in the file; the work for one question is bounded by `limits`, however large the index is.

mod scoring;
mod path_table;
mod parsed_query;
mod match_features;
mod schema;
mod symbol_index;
mod top_hits;
mod index_view;
mod tokenizer;

pub use codeyard_model::code::{BadWeight, Weights};
pub use parsed_query::classify;
pub use symbol_index::{Documents, SymbolIndexError, SymbolIndex, SymbolWriter};
pub use index_view::SymbolIndexView;

use crate::{ContentNo, ManifestEntry, Language};
use codeyard_model::code::{QueryIntent, RankingReasons, SymbolKind};

/// A ranked question.
#[derive(Clone, Copy)]
pub struct RankedQuery<'a> {
    /// Words or a name, as it was parsed.
    pub text: &'a str,
    /// Only this kind.
    pub kind: Option<SymbolKind>,
    /// Only this language.
    pub language: Option<Language>,
    /// Only files that pass.
    pub filter: Option<&'a dyn Fn(&ManifestEntry) -> bool>,
    /// Files may be meant, too.
    pub files: bool,
    /// At most so many hits.
    pub limit: usize,
}

/// FeatureKind was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedHits {
    /// In their final order; at most as many as parsed for.
    pub hits: Vec<RankedHit>,
    /// How many fitted among all that were looked at.
    pub total: usize,
    /// FeatureKind the question looked like.
    pub intent: QueryIntent,
    /// Not all that may fit were looked at: the words are too common (`MAX_RANKED_POSTINGS`).
    pub is_truncated: bool,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedHit {
    /// Where in [`Manifest::entries`](super::Manifest::entries) its file is.
    pub entry: usize,
    /// FeatureKind the file holds.
    pub content: ContentNo,
    /// Its index in the symbols of the content's [`Facts`](super::Facts); `None`: the file itself is meant.
    pub ordinal: Option<u32>,
    /// Why it stands where it stands.
    pub reasons: RankingReasons,
}

#[cfg(test)]
mod tests;
