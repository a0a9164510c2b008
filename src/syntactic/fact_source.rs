//! The interface that requests are answered from: facts of files, definitions by name, files that mention a word, texts.
//!
//! `index_overlay` implements it for the server, `testing` for tests.

use std::sync::Arc;

use codeyard_index::project::navigator::{FileFacts, SymbolRef};
use codeyard_lsp::text::Document;

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SyntacticError {
    /// The client cancelled the request.
    Cancelled,
    /// The parameters are invalid: a document outside the root, or an item of another server. The text is for people.
    InvalidParams(String),
    /// The index can't answer. The text is for people.
    Failed(String),
}

/// Facts and texts of one root. An open document counts with its open text, not with the file on disk.
pub(crate) trait FactSource {
    /// The file at this path, relative to the root.
    fn file(&self, path: &str) -> Result<Option<FileFacts>, SyntacticError>;
    /// The symbols with exactly this name, likeliest first; bounded.
    fn definitions(&self, name: &str) -> Result<Vec<SymbolRef>, SyntacticError>;
    /// The symbols that match these words, best first; bounded.
    fn search(&self, words: &str) -> Result<Vec<SymbolRef>, SyntacticError>;
    /// Every file whose facts mention this word, ordered by path.
    fn files_mentioning(&self, word: &str) -> Result<Vec<FileFacts>, SyntacticError>;
    /// Every file whose text may contain this word, ordered by path.
    fn files_with(&self, word: &str) -> Result<Vec<FileFacts>, SyntacticError>;
    /// The paths of the files that may contain this word and whose path is wanted, in order.
    fn paths_with(&self, word: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<String>, SyntacticError>;
    /// A file's text; `None`: it can't be read, or the request was cancelled.
    fn text(&self, path: &str) -> Option<Arc<Document>>;
}
