//! The fact source of one request: the published index, overlaid with the open documents.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::fact_source::{FactSource, SyntacticError};
use crate::limits::MAX_NAMED_DEFINITIONS;
use codeyard_index::Language;
use codeyard_index::extract::extract;
use codeyard_index::project::CancelCheck;
use codeyard_index::project::navigator::{FileFacts, Navigator, SymbolRef};
use codeyard_lsp::limits::MAX_DOCUMENT_BYTES;
use codeyard_lsp::text::Document;
use codeyard_model::code::CodeRefusal;

/// Symbols that it returns for one `workspace/symbol` query.
const MAX_NAMED_SYMBOLS: usize = 1_000;

/// Texts that it keeps at a time for one request.
const MAX_KEPT_TEXTS: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct OpenDocument {
    /// The facts of its present text.
    pub facts: FileFacts,
    pub document: Arc<Document>,
    /// The size in bytes at which it was found too complex to parse.
    complex_at: Option<usize>,
}

/// A document that is too complex is parsed again when it has lost this part of its text, so that not every edit costs a whole budget.
const LOST_PART: usize = 8;

impl OpenDocument {
    /// The document at `path`, relative to the root, with this text. Parses the text, unless it is larger than `MAX_DOCUMENT_BYTES`.
    pub(crate) fn new(path: &str, text: String) -> Self {
        let language = Language::of_file(path, text.lines().next().unwrap_or_default().as_bytes());
        let facts = match language.filter(|_| text.len() <= MAX_DOCUMENT_BYTES) {
            Some(language) => extract(language, &text),
            None => Default::default(),
        };
        let complex_at = facts.is_too_complex.then_some(text.len());
        let facts = FileFacts { path: path.into(), language, facts: Arc::new(facts) };
        Self { facts, document: Arc::new(Document::new(text)), complex_at }
    }

    /// The document with another text.
    pub(crate) fn edited(&self, text: String) -> Self {
        match self.complex_at {
            Some(bytes) if text.len() > bytes - bytes / LOST_PART => {
                Self { document: Arc::new(Document::new(text)), ..self.clone() }
            }
            _ => Self::new(&self.facts.path, text),
        }
    }
}

/// The published index with the open documents over it. Made for one request.
pub(crate) struct IndexOverlay<'s> {
    pub index: Navigator<'s>,
    /// The open documents by path, relative to the root.
    pub open: &'s BTreeMap<String, OpenDocument>,
    /// Whether the client cancelled the request.
    pub is_cancelled: CancelCheck<'s>,
    /// The last texts that this request has read.
    pub texts: RefCell<BTreeMap<String, Option<Arc<Document>>>>,
}

impl<'s> IndexOverlay<'s> {
    /// The overlay of one request.
    pub(crate) fn new(
        index: Navigator<'s>,
        open: &'s BTreeMap<String, OpenDocument>,
        is_cancelled: CancelCheck<'s>,
    ) -> Self {
        Self { index, open, is_cancelled, texts: RefCell::default() }
    }

    fn check_cancelled(&self) -> Result<(), SyntacticError> {
        if (self.is_cancelled)() { Err(SyntacticError::Cancelled) } else { Ok(()) }
    }

    /// Replaces the index's symbols of open documents by the matching symbols of their present text.
    fn overlay(&self, indexed: Vec<SymbolRef>, is_match: impl Fn(&codeyard_index::Symbol) -> bool) -> Vec<SymbolRef> {
        let mut all: Vec<SymbolRef> =
            indexed.into_iter().filter(|(file, _)| !self.open.contains_key(&*file.path)).collect();
        for open in self.open.values() {
            let symbols = &open.facts.facts.symbols;
            all.extend((0..symbols.len()).filter(|at| is_match(&symbols[*at])).map(|at| (open.facts.clone(), at)));
        }
        all
    }
}

fn failed(refusal: Box<CodeRefusal>) -> SyntacticError {
    SyntacticError::Failed(refusal.message)
}

impl FactSource for IndexOverlay<'_> {
    fn file(&self, path: &str) -> Result<Option<FileFacts>, SyntacticError> {
        match self.open.get(path) {
            Some(open) => Ok(Some(open.facts.clone())),
            None => self.index.file(path).map_err(failed),
        }
    }

    fn definitions(&self, name: &str) -> Result<Vec<SymbolRef>, SyntacticError> {
        self.check_cancelled()?;
        let indexed = self.index.definitions(name, MAX_NAMED_DEFINITIONS).map_err(failed)?;
        Ok(self.overlay(indexed, |symbol| symbol.name == name))
    }

    fn search(&self, words: &str) -> Result<Vec<SymbolRef>, SyntacticError> {
        self.check_cancelled()?;
        let indexed = self.index.search(words, None, MAX_NAMED_SYMBOLS).map_err(failed)?;
        let lower = words.to_lowercase();
        let mut all = self.overlay(indexed, |symbol| symbol.name.to_lowercase().contains(&lower));
        all.truncate(MAX_NAMED_SYMBOLS);
        Ok(all)
    }

    fn files_mentioning(&self, word: &str) -> Result<Vec<FileFacts>, SyntacticError> {
        let mut files = self.index.files_mentioning(word, self.is_cancelled).map_err(failed)?;
        self.check_cancelled()?;
        files.retain(|file| !self.open.contains_key(&*file.path));
        files.extend(self.open.values().map(|open| &open.facts).filter(|file| file.mentions(word)).cloned());
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }

    fn files_with(&self, word: &str) -> Result<Vec<FileFacts>, SyntacticError> {
        let mut files = self.index.files_with(word, self.is_cancelled).map_err(failed)?;
        self.check_cancelled()?;
        files.retain(|file| !self.open.contains_key(&*file.path));
        let open = self.open.values().filter(|open| open.document.text().contains(word));
        files.extend(open.map(|open| open.facts.clone()));
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }

    fn paths_with(&self, word: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<String>, SyntacticError> {
        let mut paths = self.index.paths_with(word, is_wanted, self.is_cancelled).map_err(failed)?;
        self.check_cancelled()?;
        paths.extend(self.open.keys().filter(|path| is_wanted(path)).cloned());
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    fn text(&self, path: &str) -> Option<Arc<Document>> {
        if (self.is_cancelled)() {
            return None;
        }
        if let Some(open) = self.open.get(path) {
            return Some(open.document.clone());
        }
        let mut texts = self.texts.borrow_mut();
        if let Some(text) = texts.get(path) {
            return text.clone();
        }
        if texts.len() >= MAX_KEPT_TEXTS {
            texts.clear();
        }
        let text = self.index.text(path).map(|text| Arc::new(Document::new(text)));
        texts.insert(path.to_owned(), text.clone());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_is_too_complex_is_parsed_again_when_it_is_smaller() {
        let deep = format!("{}a:\n", " ".repeat(2_000));
        let open = OpenDocument::new("a.py", deep.clone());
        assert!(open.facts.facts.is_too_complex);
        let same = open.edited(format!("{deep} "));
        assert!(same.facts.facts.is_too_complex);
        let smaller = same.edited("def f(): pass\n".to_owned());
        assert!(!smaller.facts.facts.is_too_complex);
        assert_eq!(smaller.facts.facts.symbols[0].name, "f");
        assert!(smaller.edited(deep).facts.facts.is_too_complex);
    }
}
