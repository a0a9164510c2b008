//! Queries of the embedded language server: the facts of a file, the definitions of a name, the files that contain it.
//!
//! It doesn't resolve names; `codeyard-syntactic` does. Invariants: all answers of one [`Navigator`] are from one
//! published manifest; every file that has a word is returned, unless the query was cancelled.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::manifest_view::ManifestView;
use super::source_reader::SourceReader;
use super::symbol_search::refuse_store_error;
use super::{CancelCheck, Project, QueryContext};
use crate::facts::Facts;
use crate::language::Language;
use crate::manifest::ManifestEntry;
use crate::ranked::{RankedHits, RankedQuery};
use crate::store::StoreError;
use crate::text::{self, Pattern, TextQuery};
use codeyard_model::code::{CaseRule, CodeError, CodeRefusal, FreshnessPolicy, SymbolKind, Weights};

/// A file and its facts.
#[derive(Debug, Clone)]
pub struct FileFacts {
    /// The path, relative to the root, with `/` as the separator.
    pub path: Arc<str>,
    /// `None`: a language that isn't parsed.
    pub language: Option<Language>,
    /// The file's symbols and references.
    pub facts: Arc<Facts>,
}

/// A symbol: its file, and its index in the file's symbols.
pub type SymbolRef = (FileFacts, usize);

/// One published manifest, for several queries.
pub struct Navigator<'p> {
    project: &'p Project,
    context: QueryContext,
    sources: RefCell<SourceReader<'p>>,
}

impl Project {
    /// A navigator of the published working tree.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn navigate(&self) -> Result<Navigator<'_>, Box<CodeRefusal>> {
        let context = self.query_context(None, Some(FreshnessPolicy::BestEffort))?;
        Ok(Navigator { project: self, context, sources: RefCell::new(SourceReader::new(self)) })
    }
}

impl Navigator<'_> {
    /// The file at this path, relative to the root.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn file(&self, path: &str) -> Result<Option<FileFacts>, Box<CodeRefusal>> {
        let Some(view) = &self.context.view else { return Ok(None) };
        view.manifest.find(path).map(|entry| self.file_facts(view, entry)).transpose()
    }

    /// The files that have changed since the published job, as far as they were reported; `None`: any file may have changed, or the
    /// working tree wasn't published as a whole.
    pub fn changed(&self) -> Option<BTreeSet<String>> {
        let is_whole = self.context.view.as_ref().is_some_and(|view| view.head.is_whole);
        self.context.changed.clone().filter(|_| is_whole)
    }

    /// Whether there are indexed files below this path.
    pub fn is_folder(&self, path: &str) -> bool {
        let Some(view) = &self.context.view else { return false };
        let entries = view.manifest.entries();
        let below = format!("{path}/");
        let at = entries.partition_point(|entry| *entry.path < *below);
        entries.get(at).is_some_and(|entry| entry.path.starts_with(&below))
    }

    /// At most `limit` symbols with exactly this name, likeliest first.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn definitions(&self, name: &str, limit: usize) -> Result<Vec<SymbolRef>, Box<CodeRefusal>> {
        let found = self.symbols_by(|view| {
            let query = RankedQuery { text: name, kind: None, language: None, filter: None, files: false, limit };
            view.ranked.locate(&query, &Weights::default())
        })?;
        Ok(found.into_iter().filter(|(file, at)| file.facts.symbols[*at].name == name).collect())
    }

    /// At most `limit` symbols that match these words, best first; of one kind only, if there is one.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn search(
        &self,
        words: &str,
        kind: Option<SymbolKind>,
        limit: usize,
    ) -> Result<Vec<SymbolRef>, Box<CodeRefusal>> {
        self.symbols_by(|view| {
            let query = RankedQuery { text: words, kind, language: None, filter: None, files: false, limit };
            view.ranked.search(&query, &Weights::default())
        })
    }

    /// Every parsed file whose facts mention `word`, ordered by path.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn files_mentioning(
        &self,
        word: &str,
        is_cancelled: CancelCheck<'_>,
    ) -> Result<Vec<FileFacts>, Box<CodeRefusal>> {
        let mut found = self.files_with(word, is_cancelled)?;
        found.retain(|file| file.mentions(word));
        Ok(found)
    }

    /// Every parsed file whose text may contain `word`, ordered by path.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn files_with(&self, word: &str, is_cancelled: CancelCheck<'_>) -> Result<Vec<FileFacts>, Box<CodeRefusal>> {
        let mut found = Vec::new();
        self.each_candidate(word, is_cancelled, |view, entry| {
            if entry.language.is_some() {
                found.push(self.file_facts(view, entry)?);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The paths of the files that may contain `word` and whose path is wanted, in order.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn paths_with(
        &self,
        word: &str,
        is_wanted: &dyn Fn(&str) -> bool,
        is_cancelled: CancelCheck<'_>,
    ) -> Result<Vec<String>, Box<CodeRefusal>> {
        let mut found = Vec::new();
        self.each_candidate(word, is_cancelled, |_, entry| {
            if is_wanted(&entry.path) {
                found.push(entry.path.to_string());
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Calls `each` with every file whose text may contain `word`, ordered by path.
    fn each_candidate(
        &self,
        word: &str,
        is_cancelled: CancelCheck<'_>,
        mut each: impl FnMut(&ManifestView, &ManifestEntry) -> Result<(), Box<CodeRefusal>>,
    ) -> Result<(), Box<CodeRefusal>> {
        let Some(view) = &self.context.view else { return Ok(()) };
        let text_query =
            TextQuery { pattern: word.to_owned(), is_regex: false, case: CaseRule::Sensitive, word: false };
        let pattern = Pattern::new(&text_query).map_err(|why| {
            let refusal = CodeRefusal::new(CodeError::InvalidInput, format!("Could not search for this name: {why}."));
            Box::new(refusal.with_metadata(self.context.metadata.clone()))
        })?;
        let candidates = view.candidates(&pattern).map_err(|error| refuse_store_error(&error, &self.context))?;
        for entry in view.manifest.entries().iter().filter(|entry| candidates.may_match(entry.content)) {
            if is_cancelled() {
                break;
            }
            each(view, entry)?;
        }
        Ok(())
    }

    /// The text of the file at this path, as it is on disk now.
    pub fn text(&self, path: &str) -> Option<String> {
        let view = self.context.view.as_ref()?;
        let mut bytes = Vec::new();
        let is_read = self.sources.borrow_mut().read(view.origin(path), path, &mut bytes);
        is_read.then(|| String::from_utf8_lossy(&text::decode(&bytes)).into_owned())
    }

    fn symbols_by<E: std::fmt::Display>(
        &self,
        search: impl FnOnce(&ManifestView) -> Result<RankedHits, E>,
    ) -> Result<Vec<SymbolRef>, Box<CodeRefusal>> {
        let Some(view) = &self.context.view else { return Ok(Vec::new()) };
        let found = search(view).map_err(|_| refuse_store_error(&StoreError::Damaged, &self.context))?;
        let mut symbols = Vec::with_capacity(found.hits.len());
        for hit in found.hits {
            let Some(ordinal) = hit.ordinal else { continue };
            let file = self.file_facts(view, &view.manifest.entries()[hit.entry])?;
            if (ordinal as usize) < file.facts.symbols.len() {
                symbols.push((file, ordinal as usize));
            }
        }
        Ok(symbols)
    }

    fn file_facts(&self, view: &ManifestView, entry: &ManifestEntry) -> Result<FileFacts, Box<CodeRefusal>> {
        let facts = self.context.facts(&self.project.facts, view, entry.content);
        let facts = facts.map_err(|error| refuse_store_error(&error, &self.context))?;
        Ok(FileFacts { path: (&*entry.path).into(), language: entry.language, facts })
    }
}

impl FileFacts {
    /// Whether a symbol or a reference has this name.
    pub fn mentions(&self, word: &str) -> bool {
        self.facts.references.iter().any(|reference| reference.name == word)
            || self.facts.symbols.iter().any(|symbol| symbol.name == word)
    }

    /// Whether a name in one of the files may refer to a definition in the other, as far as their languages tell.
    pub fn shares_names_with(&self, other: &Self) -> bool {
        matches!((self.language, other.language), (Some(own), Some(theirs)) if own.shares_names_with(theirs))
    }
}
