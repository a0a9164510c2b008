//! From facts to the protocol's words: kinds, ranges, links, texts of hovers.
//!
//! Positions leave in the encoding that was negotiated; converting them needs the text that they lie in. Invariant: a symbol's name
//! lies inside its range.

use std::sync::Arc;

use async_lsp::lsp_types as lsp;

use super::library::Library;
use super::spot::length;
use codeyard_index::project::navigate::Known;
use codeyard_index::{Reference, Symbol};
use codeyard_lsp::encoding::{PositionEncoding, to_server};
use codeyard_lsp::text::Document;
use codeyard_model::code::SymbolKind;
use codeyard_model::position::Position;

/// How what is known of one file is shown.
pub(crate) struct Presenter {
    document: Option<Arc<Document>>,
    encoding: PositionEncoding,
}

impl Presenter {
    /// For the file at `path`, with its text at hand.
    pub(crate) fn new(library: &dyn Library, path: &str, encoding: PositionEncoding) -> Self {
        Self { document: library.text(path), encoding }
    }

    /// For places of the file at `path` of which only names are shown: the text is read if it is needed for that.
    pub(crate) fn of_names(library: &dyn Library, path: &str, encoding: PositionEncoding) -> Self {
        let document = (encoding != PositionEncoding::Utf16).then(|| library.text(path)).flatten();
        Self { document, encoding }
    }

    /// Where a symbol's name stands.
    pub(crate) fn name(&self, symbol: &Symbol) -> lsp::Range {
        self.word(symbol.name_line, symbol.name_column, &symbol.name)
    }

    /// Where a reference stands.
    pub(crate) fn reference(&self, reference: &Reference) -> lsp::Range {
        self.word(reference.line, reference.column, &reference.name)
    }

    /// A symbol's lines, from the first letter of the first to the end of the last.
    pub(crate) fn whole(&self, symbol: &Symbol) -> lsp::Range {
        let first = symbol.line_start.saturating_sub(1);
        let last = symbol.line_end.saturating_sub(1);
        let Some(document) = &self.document else {
            return lsp::Range::new(lsp::Position::new(first, 0), lsp::Position::new(last + 1, 0));
        };
        let line = document.line(first).unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        let indent = if indent == line.len() { 0 } else { length(&line[..indent]) };
        let begin = self.position(first, indent);
        let end = self.position(last, document.utf16_len(last));
        let name = self.name(symbol);
        lsp::Range::new(begin.min(name.start), end.max(name.end))
    }

    /// The range of a word on a line that counts from 1.
    fn word(&self, line: u32, column: u32, word: &str) -> lsp::Range {
        let line = line.saturating_sub(1);
        lsp::Range::new(self.position(line, column), self.position(line, column + length(word)))
    }

    /// A position that counts from 0, in UTF-16, as the client counts. One that the text doesn't have any more stays as it is.
    fn position(&self, line: u32, character: u32) -> lsp::Position {
        let position = Position { line, character };
        let document = self.document.as_ref().filter(|_| self.encoding != PositionEncoding::Utf16);
        let told = document.and_then(|document| to_server(document, position, self.encoding)).unwrap_or(position);
        lsp::Position::new(told.line, told.character)
    }
}

/// The protocol's kind of a symbol.
pub(crate) fn kind(kind: SymbolKind) -> lsp::SymbolKind {
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

/// A symbol's signature and what documents it, as Markdown.
pub(crate) fn markdown(known: &Known, symbol: &Symbol) -> String {
    let language = known.language.map(codeyard_index::Language::name).unwrap_or_default();
    let head = if symbol.signature.is_empty() { &symbol.name } else { &symbol.signature };
    // A fence that is longer than any inside.
    let longest = head.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let mut text = format!("{fence}{language}\n{head}\n{fence}");
    if !symbol.doc.is_empty() {
        text.push_str("\n\n");
        text.push_str(&symbol.doc);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Shelf, file, symbol};

    #[test]
    fn ranges_are_in_the_encoding_and_hold_the_name() {
        let text = "class A:\n    def größe(x): pass # ü\n";
        let method = symbol(SymbolKind::Method, "größe", None, (2, 2), (2, 8));
        let library = Shelf::new(vec![(file("a.py", vec![method.clone()], vec![]), text)]);
        let shown = |encoding| {
            let presenter = Presenter::new(&library, "a.py", encoding);
            let columns = |range: lsp::Range| (range.start.line, range.start.character, range.end.character);
            (columns(presenter.name(&method)), columns(presenter.whole(&method)))
        };
        assert_eq!(shown(PositionEncoding::Utf16), ((1, 8, 13), (1, 4, 26)));
        assert_eq!(shown(PositionEncoding::Utf8), ((1, 8, 15), (1, 4, 29)));
        assert_eq!(shown(PositionEncoding::Utf32), ((1, 8, 13), (1, 4, 26)));
    }

    #[test]
    fn a_hover_shows_signature_and_comment_and_no_fence_ends_early() {
        let known = file("a.rs", vec![], vec![]);
        let mut function = symbol(SymbolKind::Fn, "f", None, (1, 1), (1, 3));
        function.signature = "fn f()".into();
        assert_eq!(markdown(&known, &function), "```rust\nfn f()\n```");
        function.doc = "Does it.".into();
        function.signature = "f = ```".into();
        assert_eq!(markdown(&known, &function), "````rust\nf = ```\n````\n\nDoes it.");
    }
}
