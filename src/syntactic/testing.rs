//! A fact source in memory, for unit tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fact_source::{FactSource, SyntacticError};
use codeyard_index::project::navigator::{FileFacts, SymbolRef};
use codeyard_index::{Facts, Language, Reference, ReferenceRole, Symbol};
use codeyard_lsp::text::Document;
use codeyard_model::code::{SymbolKind, Visibility};

/// A symbol with these first and last lines, and the line and column of its name. Lines count from 1.
pub(crate) fn symbol(kind: SymbolKind, name: &str, parent: Option<u32>, lines: [u32; 2], at: [u32; 2]) -> Symbol {
    Symbol {
        kind,
        name: name.into(),
        parent,
        scope: None,
        marker: String::new(),
        visibility: Visibility::Public,
        signature: String::new(),
        doc: String::new(),
        line_start: lines[0],
        line_end: lines[1],
        name_line: at[0],
        name_column: at[1],
        is_definition: kind != SymbolKind::Use,
    }
}

/// A reference at this line, from 1, and column.
pub(crate) fn reference(name: &str, role: ReferenceRole, at: [u32; 2], within: Option<u32>) -> Reference {
    Reference { name: name.into(), role, line: at[0], column: at[1], within }
}

/// A file with these facts.
pub(crate) fn file(path: &str, symbols: Vec<Symbol>, references: Vec<Reference>) -> FileFacts {
    let language = Language::of_file(path, b"");
    FileFacts { path: path.into(), language, facts: Arc::new(Facts { symbols, references, ..Facts::default() }) }
}

/// Files by path, each with its facts and its text.
pub(crate) struct InMemoryFacts(BTreeMap<String, (FileFacts, Arc<Document>)>);

impl InMemoryFacts {
    /// A source of these files and their texts.
    pub(crate) fn new(files: Vec<(FileFacts, &str)>) -> Self {
        let entry = |(file, text): (FileFacts, &str)| (file.path.to_string(), (file, Arc::new(Document::new(text))));
        Self(files.into_iter().map(entry).collect())
    }

    fn symbols(&self, is_match: impl Fn(&Symbol) -> bool) -> Vec<SymbolRef> {
        let all = self.0.values().flat_map(|(file, _)| (0..file.facts.symbols.len()).map(move |at| (file.clone(), at)));
        all.filter(|(file, at)| is_match(&file.facts.symbols[*at])).collect()
    }
}

impl FactSource for InMemoryFacts {
    fn file(&self, path: &str) -> Result<Option<FileFacts>, SyntacticError> {
        Ok(self.0.get(path).map(|(file, _)| file.clone()))
    }

    fn definitions(&self, name: &str) -> Result<Vec<SymbolRef>, SyntacticError> {
        Ok(self.symbols(|symbol| symbol.name == name))
    }

    fn search(&self, words: &str) -> Result<Vec<SymbolRef>, SyntacticError> {
        Ok(self.symbols(|symbol| symbol.name.contains(words)))
    }

    fn files_mentioning(&self, word: &str) -> Result<Vec<FileFacts>, SyntacticError> {
        Ok(self.0.values().map(|(file, _)| file.clone()).filter(|file| file.mentions(word)).collect())
    }

    fn files_with(&self, word: &str) -> Result<Vec<FileFacts>, SyntacticError> {
        let holding = self.0.values().filter(|(_, document)| document.text().contains(word));
        Ok(holding.map(|(file, _)| file.clone()).collect())
    }

    fn paths_with(&self, word: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<String>, SyntacticError> {
        let holding = self.0.iter().filter(|(path, (_, document))| is_wanted(path) && document.text().contains(word));
        Ok(holding.map(|(path, _)| path.clone()).collect())
    }

    fn text(&self, path: &str) -> Option<Arc<Document>> {
        self.0.get(path).map(|(_, document)| document.clone())
    }
}
