//! Ranked search: finds symbols and files by name or by words. A tantivy index finds the candidates; our own formula
//! orders them.
//!
//! - [`SymbolIndex`] has one document for each symbol of each content. It has no paths, so that a content that many
//!   branches and working trees share is indexed once.
//! - [`SymbolIndexView`] is one state of it beside one [`Manifest`](super::Manifest). It has only the symbols of the
//!   manifest's contents. [`SymbolIndexView::search`] and [`SymbolIndexView::locate`] answer queries; [`SymbolIndexView::list`] lists symbols.
//! - [`classify`] returns the intent of a query. [`Weights`] are the configurable part of the formula.
//!
//! It isn't a text search: messages and string literals aren't symbols. `docs/internals/ranking.md` has the formula.
//!
//! Invariants: an answer depends on the manifest, the facts of its contents and the weights only, not on the order in
//! which contents were added, on threads, or on tantivy's segments; each `final_score` can be computed from the other
//! factors of its row; hits are ordered by score, then path, then position in the file; the work for one query is
//! bounded by `limits`, regardless of the size of the index.

mod feature_kinds;
mod index_view;
mod listing;
mod match_features;
mod matched_words;
mod nearest;
mod parsed_query;
mod path_table;
mod ranked_search;
mod schema;
mod scoring;
mod statistics;
mod symbol_index;
mod tokenizer;
mod top_hits;
mod vocabulary;

pub use codeyard_model::code::{BadWeight, Weights};
pub use index_view::SymbolIndexView;
pub use listing::SymbolListing;
pub use parsed_query::classify;
pub use statistics::QueryStatistics;
pub use symbol_index::{SymbolDocuments, SymbolIndex, SymbolIndexError, SymbolWriter};
pub(crate) use tokenizer::normalize;

use crate::{ContentNo, Language, ManifestEntry};
use codeyard_model::code::{FoldedTests, QueryIntent, RankingReasons, SymbolKind};

/// A ranked query.
#[derive(Clone, Copy)]
pub struct RankedQuery<'a> {
    /// Words or a name.
    pub text: &'a str,
    /// Only symbols of this kind.
    pub kind: Option<SymbolKind>,
    /// Only files in this language.
    pub language: Option<Language>,
    /// Only files that pass this filter.
    pub filter: Option<&'a dyn Fn(&ManifestEntry) -> bool>,
    /// Whether files can be hits, too.
    pub files: bool,
    pub limit: usize,
}

/// The hits of a ranked query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankedHits {
    /// At most as many as the query's limit, best first.
    pub hits: Vec<RankedHit>,
    /// The number of matches among all examined candidates.
    pub total: usize,
    pub intent: QueryIntent,
    /// Whether the query is a name that no symbol has, ignoring case and separators. The hits have parts of it, or names
    /// that are nearly the same.
    pub is_unknown_name: bool,
    /// Whether a hit has the query as its name, ignoring case, separators and blanks.
    pub is_whole_name: bool,
    /// Whether the name of a hit begins with the query.
    pub is_begun_name: bool,
    /// Whether the query is about tests.
    pub wants_tests: bool,
    /// The names without case and separators that are nearly the query's name, nearest first, each with the number of different letters.
    pub nearest: Vec<(u8, String)>,
    /// The hit that stands for tests that were removed from the hits, by its entry and ordinal, and those tests.
    pub folded: Option<((usize, Option<u32>), FoldedTests)>,
    /// Whether some candidates weren't examined, because the words are too common (`MAX_RANKED_POSTINGS`).
    pub is_truncated: bool,
}

/// A symbol or a file.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedHit {
    /// The index of the file in [`Manifest::entries`](super::Manifest::entries).
    pub entry: usize,
    /// The content of the file.
    pub content: ContentNo,
    /// The index of the symbol in the content's [`Facts`](super::Facts); `None`: the hit is the file itself.
    pub ordinal: Option<u32>,
    /// Whether it is a test by its path, its name or its enclosing symbols.
    pub is_test: bool,
    /// The factors and the score.
    pub reasons: RankingReasons,
}

#[cfg(test)]
mod tests;
