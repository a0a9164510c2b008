//! What answers are made from: facts of files, definitions by name, files that name a word, texts.
//!
//! The words of a library only, and the families of languages that see each other's names; `shelf` is the real one.

use std::sync::Arc;

use codeyard_index::Language;
use codeyard_index::project::navigate::{Found, Known};
use codeyard_lsp::text::Document;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nobody waits for it any more.
    Cancelled,
    /// The question can't be understood: a document that lies elsewhere, an item that isn't ours.
    Unasked(String),
    /// The index gives none; a sentence for people.
    Failed(String),
}

/// See the module. Documents that are open count as they are open, not as they are on disk.
pub(crate) trait Library {
    /// The file at this path, relative to the root.
    fn file(&self, path: &str) -> Result<Option<Known>, Trouble>;
    /// The symbols with exactly this name, those that are likeliest meant first; bounded.
    fn defined(&self, name: &str) -> Result<Vec<Found>, Trouble>;
    /// The symbols that these words may mean, the best first; bounded.
    fn matching(&self, words: &str) -> Result<Vec<Found>, Trouble>;
    /// Every file whose facts name this word, ordered by path.
    fn naming(&self, word: &str) -> Result<Vec<Known>, Trouble>;
    /// A file's text.
    fn text(&self, path: &str) -> Option<Arc<Document>>;
}

/// Languages whose sources use each other's names.
const FAMILIES: [&[&str]; 3] = [&["typescript", "tsx", "javascript"], &["c", "cpp"], &["java", "kotlin", "scala"]];

/// Whether a name in a file of the one language may mean what a file of the other defines.
pub(crate) fn are_related(one: Option<Language>, other: Option<Language>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let both = [one.name(), other.name()];
    one == other || FAMILIES.iter().any(|family| both.iter().all(|name| family.contains(name)))
}
