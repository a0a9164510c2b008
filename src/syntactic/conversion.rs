//! Converts facts to protocol types: symbol kinds, ranges, hover texts.
//!
//! Positions are returned in the negotiated encoding. Converting one needs the line's text, unless the encoding is UTF-16, which facts
//! use. Invariant: a symbol's name range lies inside its range.

use std::sync::Arc;

use async_lsp::lsp_types as lsp;

use super::cursor_context::utf16_length;
use super::fact_source::FactSource;
use codeyard_index::project::navigator::FileFacts;
use codeyard_index::{Language, Reference, Symbol};
use codeyard_lsp::text::Document;
use codeyard_lsp::text::encoding::{PositionEncoding, to_server};
use codeyard_model::code::SymbolKind;
use codeyard_model::position::Position;

/// Converts the positions of one file.
pub(crate) struct PositionConverter {
    document: Option<Arc<Document>>,
    encoding: PositionEncoding,
}

impl PositionConverter {
    /// For the file at `path`, with its text. Needed for [`Self::symbol_range`].
    pub(crate) fn with_text(source: &dyn FactSource, path: &str, encoding: PositionEncoding) -> Self {
        Self { document: source.text(path), encoding }
    }

    /// For the ranges of names in the file at `path`. Reads the text only if the encoding needs it.
    pub(crate) fn for_names(source: &dyn FactSource, path: &str, encoding: PositionEncoding) -> Self {
        let document = (encoding != PositionEncoding::Utf16).then(|| source.text(path)).flatten();
        Self { document, encoding }
    }

    pub(crate) fn name_range(&self, symbol: &Symbol) -> lsp::Range {
        self.word_range(symbol.name_line, symbol.name_column, &symbol.name)
    }

    pub(crate) fn reference_range(&self, reference: &Reference) -> lsp::Range {
        self.word_range(reference.line, reference.column, &reference.name)
    }

    /// A symbol's range: from the first non-blank character of its first line to the end of its last line.
    pub(crate) fn symbol_range(&self, symbol: &Symbol) -> lsp::Range {
        let first = symbol.line_start.saturating_sub(1);
        let last = symbol.line_end.saturating_sub(1);
        let Some(document) = &self.document else {
            return lsp::Range::new(lsp::Position::new(first, 0), lsp::Position::new(last + 1, 0));
        };
        let line = document.line(first).unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        let indent = if indent == line.len() { 0 } else { utf16_length(&line[..indent]) };
        let begin = self.position(first, indent);
        let end = self.position(last, document.utf16_len(last));
        let name = self.name_range(symbol);
        lsp::Range::new(begin.min(name.start), end.max(name.end))
    }

    /// The range of a word. `line` counts from 1.
    pub(crate) fn word_range(&self, line: u32, column: u32, word: &str) -> lsp::Range {
        let line = line.saturating_sub(1);
        lsp::Range::new(self.position(line, column), self.position(line, column + utf16_length(word)))
    }

    /// Converts a position, from 0 and in UTF-16, to the client's encoding. A position that the text no longer has stays as it is.
    fn position(&self, line: u32, character: u32) -> lsp::Position {
        let position = Position { line, character };
        let document = self.document.as_ref().filter(|_| self.encoding != PositionEncoding::Utf16);
        let converted = document.and_then(|document| to_server(document, position, self.encoding)).unwrap_or(position);
        lsp::Position::new(converted.line, converted.character)
    }
}

pub(crate) fn lsp_kind(kind: SymbolKind) -> lsp::SymbolKind {
    match kind {
        SymbolKind::Fn | SymbolKind::Macro => lsp::SymbolKind::FUNCTION,
        SymbolKind::Method => lsp::SymbolKind::METHOD,
        SymbolKind::Struct => lsp::SymbolKind::STRUCT,
        SymbolKind::Class | SymbolKind::Type => lsp::SymbolKind::CLASS,
        SymbolKind::Enum => lsp::SymbolKind::ENUM,
        SymbolKind::Trait | SymbolKind::Interface => lsp::SymbolKind::INTERFACE,
        SymbolKind::Impl => lsp::SymbolKind::OBJECT,
        SymbolKind::Const => lsp::SymbolKind::CONSTANT,
        SymbolKind::Static | SymbolKind::Variable => lsp::SymbolKind::VARIABLE,
        SymbolKind::Field => lsp::SymbolKind::FIELD,
        SymbolKind::Module | SymbolKind::Use => lsp::SymbolKind::MODULE,
    }
}

/// A symbol's signature and doc comment as Markdown.
pub(crate) fn hover_markdown(file: &FileFacts, symbol: &Symbol) -> String {
    let head = if symbol.signature.is_empty() { &symbol.name } else { &symbol.signature };
    let mut text = source_markdown(file.language, head);
    if !symbol.doc.is_empty() {
        text.push_str("\n\n");
        text.push_str(&symbol.doc);
    }
    text
}

/// Source text as Markdown.
pub(crate) fn source_markdown(language: Option<Language>, source: &str) -> String {
    let language = language.map(Language::name).unwrap_or_default();
    // The fence must be longer than any run of backticks inside.
    let longest = source.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{source}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{InMemoryFacts, file, symbol};

    #[test]
    fn ranges_use_the_negotiated_encoding_and_contain_the_name() {
        let text = "class A:\n    def größe(x): pass # ü\n";
        let method = symbol(SymbolKind::Method, "größe", None, [2, 2], [2, 8]);
        let source = InMemoryFacts::new(vec![(file("a.py", vec![method.clone()], vec![]), text)]);
        let shown = |encoding| {
            let converter = PositionConverter::with_text(&source, "a.py", encoding);
            let columns = |range: lsp::Range| (range.start.line, range.start.character, range.end.character);
            (columns(converter.name_range(&method)), columns(converter.symbol_range(&method)))
        };
        assert_eq!(shown(PositionEncoding::Utf16), ((1, 8, 13), (1, 4, 26)));
        assert_eq!(shown(PositionEncoding::Utf8), ((1, 8, 15), (1, 4, 29)));
        assert_eq!(shown(PositionEncoding::Utf32), ((1, 8, 13), (1, 4, 26)));
    }

    #[test]
    fn hover_shows_signature_and_comment_with_a_fence_longer_than_any_inside() {
        let file = file("a.rs", vec![], vec![]);
        let mut function = symbol(SymbolKind::Fn, "f", None, [1, 1], [1, 3]);
        function.signature = "fn f()".into();
        assert_eq!(hover_markdown(&file, &function), "```rust\nfn f()\n```");
        function.doc = "Does it.".into();
        function.signature = "f = ```".into();
        assert_eq!(hover_markdown(&file, &function), "````rust\nf = ```\n````\n\nDoes it.");
    }
}
