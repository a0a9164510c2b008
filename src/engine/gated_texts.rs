//! The texts of files that a language server's answer names, read through the gate, each once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::limits;
use crate::gate::{Admitted, Gate};
use crate::lsp::encoding::Texts;
use crate::lsp::text::Document;

/// Texts of files inside the roots, for converting columns.
pub struct GatedTexts {
    gate: Gate,
    pub(super) read: HashMap<String, Option<Arc<Document>>>,
}

impl GatedTexts {
    /// None read yet.
    pub fn new(gate: Gate) -> Self {
        Self { gate, read: HashMap::new() }
    }
}

impl Texts for GatedTexts {
    fn outside(&mut self, uri: &str) -> bool {
        matches!(self.gate.admit(uri), Admitted::Outside)
    }

    fn document(&mut self, uri: &str) -> Option<Arc<Document>> {
        if let Some(known) = self.read.get(uri) {
            return known.clone();
        }
        let document = match self.gate.admit(uri) {
            Admitted::Inside(inside) => self
                .gate
                .read(&inside, limits::MAX_DOCUMENT_BYTES)
                .ok()
                .and_then(|(bytes, _)| String::from_utf8(bytes).ok())
                .map(|text| Arc::new(Document::new(text))),
            _ => None,
        };
        self.read.insert(uri.to_owned(), document.clone());
        document
    }
}
