//! Converts the positions of a whole answer from the server's rules to those of clients: UTF-16, the lines of LSP, and no byte order mark.
//! Where only the mark can differ, no text is needed.

use std::sync::Arc;

use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::position::{Position, Range};
use codeyard_model::symbol::RawDocumentSymbol;

use super::calls::RawCallItem;
use super::reply::DecodedReply;
use crate::text::Document;
use crate::text::encoding::{PositionEncoding, PositionRules, from_server};

/// The texts that a server has.
pub trait DocumentTexts {
    /// The text of a document by the server's URI; `None` if it isn't available.
    fn document(&mut self, uri: &str) -> Option<Arc<Document>>;

    /// Whether a document begins with a byte order mark.
    fn has_mark(&mut self, uri: &str) -> bool;

    /// Whether entries in this document keep their positions without conversion, because a later step counts and
    /// drops them (a file outside the roots).
    fn outside(&mut self, _uri: &str) -> bool {
        false
    }
}

/// Converts all positions of an answer to UTF-16. Returns how many entries were dropped because the text of their
/// document isn't available. `request_document` is the document of the request: hovers and document symbols lie in
/// it. Without it a hover loses its range, and document symbols are dropped.
pub fn answer_to_utf16<R: DecodedReply>(
    answer: &mut R,
    rules: impl Into<PositionRules>,
    request_document: Option<&Document>,
    texts: &mut dyn DocumentTexts,
) -> usize {
    let rules = rules.into();
    if !rules.need_texts() && !rules.counts_mark {
        return 0;
    }
    answer.convert_positions(&mut AnswerDocuments { rules, texts, last: None }, request_document)
}

/// The documents of one answer. Neighbouring entries mostly lie in one file, so the last one is cached.
pub struct AnswerDocuments<'t> {
    rules: PositionRules,
    texts: &'t mut dyn DocumentTexts,
    last: Option<(Arc<str>, TextLookup)>,
}

#[derive(Clone)]
enum TextLookup {
    Available(Arc<Document>),
    Outside,
    Missing,
}

impl AnswerDocuments<'_> {
    /// The rules that positions are converted from.
    pub(super) fn rules(&self) -> PositionRules {
        self.rules
    }

    fn text(&mut self, uri: &Arc<str>) -> TextLookup {
        if let Some((last, text)) = &self.last
            && (Arc::ptr_eq(last, uri) || last == uri)
        {
            return text.clone();
        }
        let text = if self.texts.outside(uri) {
            TextLookup::Outside
        } else {
            self.texts.document(uri).map_or(TextLookup::Missing, TextLookup::Available)
        };
        self.last = Some((uri.clone(), text.clone()));
        text
    }

    /// Converts ranges in a document. `false`: its text is needed and isn't available.
    pub(super) fn convert<'r>(&mut self, uri: &Arc<str>, ranges: impl IntoIterator<Item = &'r mut Range>) -> bool {
        if !self.rules.need_texts() {
            let mut first_line = ranges.into_iter().filter(|range| range.start.line == 0).peekable();
            if first_line.peek().is_some() && self.texts.has_mark(uri) {
                first_line.for_each(|range| *range = without_mark(*range));
            }
            return true;
        }
        match self.text(uri) {
            TextLookup::Outside => true,
            TextLookup::Missing => self.rules.encoding == PositionEncoding::Utf16,
            TextLookup::Available(document) => {
                ranges.into_iter().for_each(|range| *range = range_from(&document, *range, self.rules));
                true
            }
        }
    }

    pub(super) fn convert_item(&mut self, item: &mut RawCallItem) -> bool {
        self.convert(&item.uri, [&mut item.range, &mut item.selection_range])
    }

    pub(super) fn convert_diagnostics(&mut self, file: &mut RawFileDiagnostics) -> bool {
        self.convert(&file.uri, file.diagnostics.iter_mut().map(|diagnostic| &mut diagnostic.range))
    }
}

pub(super) fn retain<T>(list: &mut Vec<T>, keep: impl FnMut(&mut T) -> bool) -> usize {
    let before = list.len();
    list.retain_mut(keep);
    before - list.len()
}

/// The recursion is as deep as the decoded tree, whose depth is bounded.
pub(super) fn convert_symbol(document: &Document, symbol: &mut RawDocumentSymbol, rules: PositionRules) {
    symbol.range = range_from(document, symbol.range, rules);
    symbol.selection_range = range_from(document, symbol.selection_range, rules);
    symbol.children.iter_mut().for_each(|child| convert_symbol(document, child, rules));
}

pub(super) fn range_from(document: &Document, range: Range, rules: PositionRules) -> Range {
    Range { start: from_server(document, range.start, rules), end: from_server(document, range.end, rules) }
}

/// A range in UTF-16 that begins in the first line, without the column of the byte order mark.
fn without_mark(range: Range) -> Range {
    let without = |position: Position| {
        let width = u32::from(position.line == 0);
        Position { character: position.character.saturating_sub(width), ..position }
    };
    Range { start: without(range.start), end: without(range.end) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use codeyard_model::diagnostic::RawDiagnostic;
    use codeyard_model::hover::Hover;
    use codeyard_model::position::RawLocation;
    use codeyard_model::symbol::RawWorkspaceSymbol;

    #[derive(Default)]
    struct FakeTexts {
        documents: BTreeMap<&'static str, Arc<Document>>,
        requested: Vec<String>,
    }

    impl DocumentTexts for FakeTexts {
        fn document(&mut self, uri: &str) -> Option<Arc<Document>> {
            self.requested.push(uri.to_owned());
            self.documents.get(uri).cloned()
        }

        fn has_mark(&mut self, uri: &str) -> bool {
            uri == "file:///marked"
        }

        fn outside(&mut self, uri: &str) -> bool {
            uri.starts_with("file:///outside/")
        }
    }

    fn texts() -> FakeTexts {
        FakeTexts {
            documents: BTreeMap::from([("file:///a", Arc::new(Document::new("é😀x\nplain")))]),
            ..FakeTexts::default()
        }
    }

    #[test]
    fn utf16_answers_stay_unchanged_and_no_text_is_requested() {
        let mut texts = texts();
        let far = RawLocation { uri: "file:///gone".into(), range: Range::new(9, 9, 9, 9) };
        let mut answer = vec![far];
        let before = answer.clone();
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf16, None, &mut texts), 0);
        assert_eq!(answer, before);
        assert!(texts.requested.is_empty());
    }

    #[test]
    fn a_byte_order_mark_moves_the_columns_of_the_first_line_without_a_text() {
        let mut texts = texts();
        let location = |uri: &str, range| RawLocation { uri: uri.into(), range };
        let first = Range::new(0, 2, 1, 6);
        let later = Range::new(1, 2, 1, 6);
        let mut answer =
            vec![location("file:///marked", first), location("file:///marked", later), location("file:///a", first)];
        let rules = PositionRules { counts_mark: true, ..PositionRules::default() };
        assert_eq!(answer_to_utf16(&mut answer, rules, None, &mut texts), 0);
        assert_eq!(answer.iter().map(|at| at.range).collect::<Vec<_>>(), [Range::new(0, 1, 1, 6), later, first]);
        assert!(texts.requested.is_empty());
    }

    #[test]
    fn locations_are_converted_dropped_or_left_unchanged() {
        let mut texts = texts();
        let location = |uri: &str| RawLocation { uri: uri.into(), range: Range::new(0, 2, 0, 6) };
        let list = ["file:///a", "file:///a", "file:///gone", "file:///outside/b", "file:///a"].map(location);
        let mut answer = list.to_vec();
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut texts), 1);
        let converted = RawLocation { range: Range::new(0, 1, 0, 3), ..location("file:///a") };
        let left = location("file:///outside/b");
        assert_eq!(answer, (vec![converted.clone(), converted.clone(), left, converted]));
        assert_eq!(texts.requested, ["file:///a", "file:///gone", "file:///a"]);
    }

    #[test]
    fn symbols_hovers_and_diagnostics() {
        let document = Document::new("é😀x");
        let given = Range::new(0, 2, 0, 7);
        let wanted = Range::new(0, 1, 0, 4);
        let symbol = |range: Range, children: Vec<RawDocumentSymbol>| RawDocumentSymbol {
            name: "n".into(),
            kind: 1,
            range,
            selection_range: range,
            container_name: None,
            children,
        };
        let tree = |range| symbol(range, vec![symbol(range, vec![symbol(range, vec![])])]);
        let mut answer = vec![tree(given)];
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf8, Some(&document), &mut texts()), 0);
        assert_eq!(answer, (vec![tree(wanted)]));
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut texts()), 1);
        assert_eq!(answer, (vec![]));

        let hover = |range| Some(Hover { contents: vec![], range });
        let mut answer = hover(Some(given));
        answer_to_utf16(&mut answer, PositionEncoding::Utf8, Some(&document), &mut texts());
        assert_eq!(answer, hover(Some(wanted)));
        answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut texts());
        assert_eq!(answer, hover(None));

        let found = |range| RawWorkspaceSymbol {
            name: "n".into(),
            kind: 1,
            uri: "file:///a".into(),
            range,
            container_name: None,
        };
        let mut answer = vec![found(given)];
        answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut texts());
        assert_eq!(answer, (vec![found(wanted)]));

        let file = |uri: &str, range| RawFileDiagnostics {
            uri: uri.into(),
            diagnostics: vec![RawDiagnostic { range, severity: None, code: None, source: None, message: "m".into() }],
        };
        let mut answer = vec![file("file:///a", given), file("file:///gone", given)];
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut texts()), 1);
        assert_eq!(answer, (vec![file("file:///a", wanted)]));
    }
}
