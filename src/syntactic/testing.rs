//! A library in memory, made by hand, for the tests of this module.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::library::{Library, Trouble};
use codeyard_index::project::navigate::{Found, Known};
use codeyard_index::{Facts, Language, Reference, Role, Symbol};
use codeyard_lsp::text::Document;
use codeyard_model::code::{SymbolKind, Visibility};

/// A symbol with these lines and this place of its name, lines from 1.
pub(crate) fn symbol(kind: SymbolKind, name: &str, parent: Option<u32>, lines: (u32, u32), at: (u32, u32)) -> Symbol {
    Symbol {
        kind,
        name: name.into(),
        parent,
        scope: None,
        marker: String::new(),
        visibility: Visibility::Public,
        signature: String::new(),
        doc: String::new(),
        line_start: lines.0,
        line_end: lines.1,
        name_line: at.0,
        name_column: at.1,
        is_definition: kind != SymbolKind::Use,
    }
}

/// A reference, its line from 1.
pub(crate) fn reference(name: &str, role: Role, at: (u32, u32), within: Option<u32>) -> Reference {
    Reference { name: name.into(), role, line: at.0, column: at.1, within }
}

/// A file.
pub(crate) fn file(path: &str, symbols: Vec<Symbol>, references: Vec<Reference>) -> Known {
    let language = Language::of_file(path, b"");
    Known { path: path.into(), language, facts: Arc::new(Facts { symbols, references, has_errors: false }) }
}

/// See the module.
pub(crate) struct Shelf(BTreeMap<String, (Known, Arc<Document>)>);

impl Shelf {
    /// With these files and their texts.
    pub(crate) fn new(files: Vec<(Known, &str)>) -> Self {
        let filed = |(known, text): (Known, &str)| (known.path.to_string(), (known, Arc::new(Document::new(text))));
        Self(files.into_iter().map(filed).collect())
    }

    fn symbols(&self, is_meant: impl Fn(&Symbol) -> bool) -> Vec<Found> {
        let all =
            self.0.values().flat_map(|(known, _)| (0..known.facts.symbols.len()).map(move |at| (known.clone(), at)));
        all.filter(|(known, at)| is_meant(&known.facts.symbols[*at])).collect()
    }
}

impl Library for Shelf {
    fn file(&self, path: &str) -> Result<Option<Known>, Trouble> {
        Ok(self.0.get(path).map(|(known, _)| known.clone()))
    }

    fn defined(&self, name: &str) -> Result<Vec<Found>, Trouble> {
        Ok(self.symbols(|symbol| symbol.name == name))
    }

    fn matching(&self, words: &str) -> Result<Vec<Found>, Trouble> {
        Ok(self.symbols(|symbol| symbol.name.contains(words)))
    }

    fn naming(&self, word: &str) -> Result<Vec<Known>, Trouble> {
        Ok(self.0.values().map(|(known, _)| known.clone()).filter(|known| known.names(word)).collect())
    }

    fn text(&self, path: &str) -> Option<Arc<Document>> {
        self.0.get(path).map(|(_, document)| document.clone())
    }
}
