//! Positions between clients and servers: clients always speak UTF-16, servers may have negotiated another encoding
//! (decisions §3: converted once, at the door).
//!
//! It converts with the texts it is given, which must be those the server has; it reads nothing itself.
//! Invariants: with UTF-16 an answer isn't touched; a position that goes to a server and comes back is the same; no
//! position a server gives leaves its document.

use std::sync::Arc;

use super::convert::RawAnswer;
use super::text::{Document, Unit};
use crate::model::diagnostic::RawFileDiagnostics;
use crate::model::position::{Position, Range};
use crate::model::symbol::RawDocumentSymbol;

/// How a server counts columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, what a server uses that says nothing.
    #[default]
    Utf16,
    /// Code points.
    Utf32,
}

impl PositionEncoding {
    /// The encoding of a name that `initialize` uses.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        }
    }

    /// Its name in `initialize`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    pub(super) fn unit(self) -> Unit {
        match self {
            Self::Utf8 => Unit::Byte,
            Self::Utf16 => Unit::Utf16,
            Self::Utf32 => Unit::Char,
        }
    }
}

/// The texts a server has.
pub trait Texts {
    /// The text of a document by the URI the server used; `None` if it can't be had.
    fn document(&mut self, uri: &str) -> Option<Arc<Document>>;

    /// Whether entries of this document stay as they are although its text isn't looked at, because they will be left out
    /// and counted later (a file outside the roots).
    fn outside(&mut self, _uri: &str) -> bool {
        false
    }
}

/// A client's position as the server counts; `None` if it isn't inside the document (see [`Document::check`]).
pub fn to_server(document: &Document, position: Position, encoding: PositionEncoding) -> Option<Position> {
    let found = document.find(position, Unit::Utf16).filter(|found| found.exact)?;
    if encoding == PositionEncoding::Utf16 {
        return Some(position);
    }
    Some(document.position_of(found.offset, encoding.unit()))
}

/// A server's position in UTF-16. What lies beyond a line becomes the line's end, what lies beyond the last line the
/// document's end, what lies inside a character its start.
pub fn from_server(document: &Document, position: Position, encoding: PositionEncoding) -> Position {
    match document.find(position, encoding.unit()) {
        Some(found) => document.position_of(found.offset, Unit::Utf16),
        None => document.position_of(document.text().len(), Unit::Utf16),
    }
}

/// Converts all positions of an answer to UTF-16 and returns how many entries were dropped because the text they lie in
/// can't be had. `asked` is the document the question was about: hovers and document symbols lie in it, and without it
/// they lose their range or are dropped.
pub fn answer_to_utf16(
    answer: &mut RawAnswer,
    encoding: PositionEncoding,
    asked: Option<&Document>,
    texts: &mut dyn Texts,
) -> usize {
    if encoding == PositionEncoding::Utf16 {
        return 0;
    }
    let mut files = Files { encoding, texts, last: None };
    match answer {
        RawAnswer::Locations(list) => retain(list, |at| files.convert(&at.uri, std::slice::from_mut(&mut at.range))),
        RawAnswer::WorkspaceSymbols(list) => {
            retain(list, |symbol| files.convert(&symbol.uri, std::slice::from_mut(&mut symbol.range)))
        }
        RawAnswer::Diagnostics(list) => retain(list, |file| files.convert_diagnostics(file)),
        RawAnswer::Hover(Some(hover)) => {
            hover.range = hover.range.zip(asked).map(|(range, document)| range_from(document, range, encoding));
            0
        }
        RawAnswer::Hover(None) => 0,
        RawAnswer::DocumentSymbols(list) => match asked {
            Some(document) => {
                list.iter_mut().for_each(|symbol| convert_symbol(document, symbol, encoding));
                0
            }
            None => std::mem::take(list).len(),
        },
    }
}

/// The documents of one answer; neighbouring entries mostly lie in one file, so the last one is kept at hand.
struct Files<'t> {
    encoding: PositionEncoding,
    texts: &'t mut dyn Texts,
    last: Option<(Arc<str>, Text)>,
}

#[derive(Clone)]
enum Text {
    Had(Arc<Document>),
    Outside,
    Missing,
}

impl Files<'_> {
    fn text(&mut self, uri: &Arc<str>) -> Text {
        if let Some((last, text)) = &self.last
            && (Arc::ptr_eq(last, uri) || last == uri)
        {
            return text.clone();
        }
        let text = if self.texts.outside(uri) {
            Text::Outside
        } else {
            self.texts.document(uri).map_or(Text::Missing, Text::Had)
        };
        self.last = Some((uri.clone(), text.clone()));
        text
    }

    fn convert(&mut self, uri: &Arc<str>, ranges: &mut [Range]) -> bool {
        match self.text(uri) {
            Text::Outside => true,
            Text::Missing => false,
            Text::Had(document) => {
                ranges.iter_mut().for_each(|range| *range = range_from(&document, *range, self.encoding));
                true
            }
        }
    }

    fn convert_diagnostics(&mut self, file: &mut RawFileDiagnostics) -> bool {
        match self.text(&file.uri) {
            Text::Outside => true,
            Text::Missing => false,
            Text::Had(document) => {
                for diagnostic in &mut file.diagnostics {
                    diagnostic.range = range_from(&document, diagnostic.range, self.encoding);
                }
                true
            }
        }
    }
}

fn retain<T>(list: &mut Vec<T>, keep: impl FnMut(&mut T) -> bool) -> usize {
    let before = list.len();
    list.retain_mut(keep);
    before - list.len()
}

/// Recursion is as deep as the decoded tree, which `convert` bounds.
fn convert_symbol(document: &Document, symbol: &mut RawDocumentSymbol, encoding: PositionEncoding) {
    symbol.range = range_from(document, symbol.range, encoding);
    symbol.selection_range = range_from(document, symbol.selection_range, encoding);
    symbol.children.iter_mut().for_each(|child| convert_symbol(document, child, encoding));
}

fn range_from(document: &Document, range: Range, encoding: PositionEncoding) -> Range {
    Range { start: from_server(document, range.start, encoding), end: from_server(document, range.end, encoding) }
}
