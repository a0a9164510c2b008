//! What a language server by name asks: the facts of a file, the definitions of a name, the files that name it.
//!
//! It doesn't say what is meant; that is its asker's. Invariants: everything that one [`Navigator`] says is of one published manifest;
//! every file that names a word is among those that are given, or the search was ended.

use std::cell::RefCell;
use std::sync::Arc;

use super::source_reader::SourceReader;
use super::symbol_search::store_broken;
use super::manifest_view::ManifestView;
use super::{CancelCheck, QueryContext, Project};
use crate::facts::Facts;
use crate::language::Language;
use crate::manifest::ManifestEntry;
use crate::ranked::{RankedHits, RankedQuery};
use crate::store::StoreError;
use crate::text::{self, CandidateSet, Pattern, TextQuery};
use codeyard_model::code::{CaseRule, CodeError, FreshnessPolicy, CodeRefusal, Weights};

/// A file and what is known of it.
#[derive(Debug, Clone)]
pub struct FileFacts {
    /// Relative to the root, with `/` between.
    pub path: Arc<str>,
    /// `None`: no language that is parsed.
    pub language: Option<Language>,
    /// See there.
    pub facts: Arc<Facts>,
}

/// A symbol: its file and its place among the file's symbols.
pub type SymbolRef = (FileFacts, usize);

/// One published manifest, to be asked several times.
pub struct Navigator<'p> {
    project: &'p Project,
    here: QueryContext<'p>,
    sources: RefCell<SourceReader<'p>>,
}

impl Project {
    /// What is published of the working tree now.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn navigate(&self) -> Result<Navigator<'_>, Box<CodeRefusal>> {
        let here = self.here(None, Some(FreshnessPolicy::BestEffort))?;
        Ok(Navigator { project: self, here, sources: RefCell::new(SourceReader::new(self)) })
    }
}

impl Navigator<'_> {
    /// The file at this path, relative to the root.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn file(&self, path: &str) -> Result<Option<FileFacts>, Box<CodeRefusal>> {
        let Some(view) = &self.here.view else { return Ok(None) };
        view.manifest.find(path).map(|entry| self.known(view, entry)).transpose()
    }

    /// Whether files lie below this path.
    pub fn is_folder(&self, path: &str) -> bool {
        let Some(view) = &self.here.view else { return false };
        let entries = view.manifest.entries();
        let below = format!("{path}/");
        let at = entries.partition_point(|entry| *entry.path < *below);
        entries.get(at).is_some_and(|entry| entry.path.starts_with(&below))
    }

    /// The symbols with exactly this name, those that are likeliest meant first; at most so many.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn definitions(&self, name: &str, limit: usize) -> Result<Vec<SymbolRef>, Box<CodeRefusal>> {
        let found = self.symbols_by(|view| {
            let query = RankedQuery { text: name, kind: None, language: None, filter: None, files: false, limit };
            view.ranked.locate(&query, &Weights::default())
        })?;
        Ok(found.into_iter().filter(|(known, at)| known.facts.symbols[*at].name == name).collect())
    }

    /// The symbols that these words may mean, the best first; at most so many.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn search(&self, words: &str, limit: usize) -> Result<Vec<SymbolRef>, Box<CodeRefusal>> {
        self.symbols_by(|view| {
            let query = RankedQuery { text: words, kind: None, language: None, filter: None, files: false, limit };
            view.ranked.search(&query, &Weights::default())
        })
    }

    /// Every parsed file whose facts name `word`, ordered by path.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn files_mentioning(&self, word: &str, ends: CancelCheck<'_>) -> Result<Vec<FileFacts>, Box<CodeRefusal>> {
        let Some(view) = &self.here.view else { return Ok(Vec::new()) };
        let text_query = TextQuery { pattern: word.to_owned(), is_regex: false, case: CaseRule::Sensitive, word: false };
        let damaged = |_| store_broken(&StoreError::Damaged, &self.here);
        let pattern = Pattern::new(&text_query).map_err(|why| {
            let refusal = CodeRefusal::new(CodeError::InvalidInput, format!("The name can't be searched for: {why}."));
            Box::new(refusal.beside(self.here.metadata.clone()))
        })?;
        let segments = view.segments.iter().map(|segment| &**segment);
        let candidates = CandidateSet::from_segments(segments, pattern.plan()).map_err(damaged)?;
        let mut found = Vec::new();
        for entry in view.manifest.entries() {
            if entry.language.is_none() || !candidates.may_match(entry.content) {
                continue;
            }
            if ends() {
                break;
            }
            let known = self.known(view, entry)?;
            if known.mentions(word) {
                found.push(known);
            }
        }
        Ok(found)
    }

    /// The text of the file at this path, as it is on disk now.
    pub fn text(&self, path: &str) -> Option<String> {
        let view = self.here.view.as_ref()?;
        let mut bytes = Vec::new();
        let is_read = self.sources.borrow_mut().read(view.origin(path), path, &mut bytes);
        is_read.then(|| String::from_utf8_lossy(&text::decode(&bytes)).into_owned())
    }

    fn symbols_by<E: std::fmt::Display>(
        &self,
        search: impl FnOnce(&ManifestView) -> Result<RankedHits, E>,
    ) -> Result<Vec<SymbolRef>, Box<CodeRefusal>> {
        let Some(view) = &self.here.view else { return Ok(Vec::new()) };
        let found = search(view).map_err(|_| store_broken(&StoreError::Damaged, &self.here))?;
        let mut symbols = Vec::with_capacity(found.hits.len());
        for hit in found.hits {
            let Some(ordinal) = hit.ordinal else { continue };
            let known = self.known(view, &view.manifest.entries()[hit.entry])?;
            if (ordinal as usize) < known.facts.symbols.len() {
                symbols.push((known, ordinal as usize));
            }
        }
        Ok(symbols)
    }

    fn known(&self, view: &ManifestView, entry: &ManifestEntry) -> Result<FileFacts, Box<CodeRefusal>> {
        let facts = self.here.facts(&self.project.facts, view, entry.content);
        let facts = facts.map_err(|error| store_broken(&error, &self.here))?;
        Ok(FileFacts { path: (&*entry.path).into(), language: entry.language, facts })
    }
}

impl FileFacts {
    /// Whether a symbol or a reference has this name.
    pub fn mentions(&self, word: &str) -> bool {
        self.facts.references.iter().any(|reference| reference.name == word)
            || self.facts.symbols.iter().any(|symbol| symbol.name == word)
    }
}
