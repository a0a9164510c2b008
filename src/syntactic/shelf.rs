//! The library of one question: the published index, and over it the documents that are open.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::library::{Library, Trouble};
use crate::limits::{MAX_NAMED_DEFINITIONS, MAX_NAMED_SYMBOLS};
use codeyard_index::Language;
use codeyard_index::extract::extract;
use codeyard_index::project::Ends;
use codeyard_index::project::navigate::{Found, Known, Navigator};
use codeyard_lsp::limits::MAX_DOCUMENT_BYTES;
use codeyard_lsp::text::Document;
use codeyard_model::code::Refusal;

/// A document that is open.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    /// What is known of it as it is.
    pub known: Known,
    /// Its text.
    pub document: Arc<Document>,
}

impl Open {
    /// The document at `path`, relative to the root, with this text.
    pub(crate) fn new(path: &str, text: String) -> Self {
        let language = Language::of_file(path, text.lines().next().unwrap_or_default().as_bytes());
        let facts = match language.filter(|_| text.len() <= MAX_DOCUMENT_BYTES) {
            Some(language) => extract(language, &text),
            None => Default::default(),
        };
        let known = Known { path: path.into(), language, facts: Arc::new(facts) };
        Self { known, document: Arc::new(Document::new(text)) }
    }
}

/// See the module.
pub(crate) struct Shelf<'s> {
    /// See there.
    pub index: Navigator<'s>,
    /// By path, relative to the root.
    pub open: &'s BTreeMap<String, Open>,
    /// Whether nobody waits any more.
    pub ends: Ends<'s>,
    /// Texts that were read for this question.
    pub texts: RefCell<BTreeMap<String, Option<Arc<Document>>>>,
}

impl<'s> Shelf<'s> {
    /// For one question.
    pub(crate) fn new(index: Navigator<'s>, open: &'s BTreeMap<String, Open>, ends: Ends<'s>) -> Self {
        Self { index, open, ends, texts: RefCell::default() }
    }

    fn check(&self) -> Result<(), Trouble> {
        if (self.ends)() { Err(Trouble::Cancelled) } else { Ok(()) }
    }

    /// What the index says, with open documents in the place of what it knows of their files.
    fn overlaid(&self, found: Vec<Found>, is_meant: impl Fn(&codeyard_index::Symbol) -> bool) -> Vec<Found> {
        let mut all: Vec<Found> =
            found.into_iter().filter(|(known, _)| !self.open.contains_key(&*known.path)).collect();
        for open in self.open.values() {
            let symbols = &open.known.facts.symbols;
            all.extend((0..symbols.len()).filter(|at| is_meant(&symbols[*at])).map(|at| (open.known.clone(), at)));
        }
        all
    }
}

#[expect(clippy::boxed_local, reason = "handed to map_err as it comes")]
fn failed(refusal: Box<Refusal>) -> Trouble {
    Trouble::Failed(refusal.message)
}

impl Library for Shelf<'_> {
    fn file(&self, path: &str) -> Result<Option<Known>, Trouble> {
        match self.open.get(path) {
            Some(open) => Ok(Some(open.known.clone())),
            None => self.index.file(path).map_err(failed),
        }
    }

    fn defined(&self, name: &str) -> Result<Vec<Found>, Trouble> {
        self.check()?;
        let found = self.index.defined(name, MAX_NAMED_DEFINITIONS).map_err(failed)?;
        Ok(self.overlaid(found, |symbol| symbol.name == name))
    }

    fn matching(&self, words: &str) -> Result<Vec<Found>, Trouble> {
        self.check()?;
        let found = self.index.matching(words, MAX_NAMED_SYMBOLS).map_err(failed)?;
        let lower = words.to_lowercase();
        let mut all = self.overlaid(found, |symbol| symbol.name.to_lowercase().contains(&lower));
        all.truncate(MAX_NAMED_SYMBOLS);
        Ok(all)
    }

    fn naming(&self, word: &str) -> Result<Vec<Known>, Trouble> {
        let mut files = self.index.naming(word, self.ends).map_err(failed)?;
        self.check()?;
        files.retain(|known| !self.open.contains_key(&*known.path));
        files.extend(self.open.values().map(|open| &open.known).filter(|known| known.names(word)).cloned());
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }

    fn text(&self, path: &str) -> Option<Arc<Document>> {
        if let Some(open) = self.open.get(path) {
            return Some(open.document.clone());
        }
        let mut texts = self.texts.borrow_mut();
        let read = || self.index.text(path).map(|text| Arc::new(Document::new(text)));
        texts.entry(path.to_owned()).or_insert_with(read).clone()
    }
}
