//! Which symbols and files are meant by a name or by words: a tantivy index finds candidates, a formula of our own orders them.
//!
//! - [`SymbolIndex`] keeps one document for each symbol of each content. It knows nothing of paths, so that a content that many
//!   branches and worktrees show is indexed once.
//! - [`View`] is one published state of it beside one [`Manifest`](super::Manifest): only symbols of contents that the manifest shows exist in it.
//! - [`View::search`] and [`View::locate`] answer; [`classify`] says what a query looks like; [`Weights`] are what a configuration may change.
//!
//! It isn't a text search: messages and string literals aren't symbols. `docs/ranking.md` has the formula.
//!
//! Invariants: an answer depends on the manifest, the facts of its contents and the weights, not on the order in which contents were
//! added, on threads, or on how tantivy cut its segments; each `final_score` follows from the factors beside it; order is the score
//! downwards, then the path, then the place in the file; the work for one question is bounded by `limits`, however large the index is.

mod factors;
mod files;
mod intent;
mod lanes;
mod schema;
mod store;
mod top;
mod view;
mod words;

pub use codeyard_model::code::{BadWeight, Weights};
pub use intent::classify;
pub use store::{Documents, RankError, SymbolIndex, SymbolWriter};
pub use view::View;

use crate::{ContentNo, Entry, Language};
use codeyard_model::code::{Intent, Reasons, SymbolKind};

/// A ranked question.
#[derive(Clone, Copy)]
pub struct RankedAsk<'a> {
    /// Words or a name, as it was asked.
    pub text: &'a str,
    /// Only this kind.
    pub kind: Option<SymbolKind>,
    /// Only this language.
    pub language: Option<Language>,
    /// Only files that pass.
    pub filter: Option<&'a dyn Fn(&Entry) -> bool>,
    /// Files may be meant, too.
    pub files: bool,
    /// At most so many hits.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// In their final order; at most as many as asked for.
    pub hits: Vec<Hit>,
    /// How many fitted among all that were looked at.
    pub total: usize,
    /// What the question looked like.
    pub intent: Intent,
    /// Not all that may fit were looked at: the words are too common (`MAX_RANKED_POSTINGS`).
    pub cut: bool,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Where in [`Manifest::entries`](super::Manifest::entries) its file is.
    pub entry: usize,
    /// What the file holds.
    pub content: ContentNo,
    /// Its index in the symbols of the content's [`Facts`](super::Facts); `None`: the file itself is meant.
    pub ordinal: Option<u32>,
    /// Why it stands where it stands.
    pub reasons: Reasons,
}

#[cfg(test)]
mod tests;
