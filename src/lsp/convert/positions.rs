//! Converts the positions of a whole answer from the server's encoding to UTF-16. UTF-16 answers stay unchanged.

use std::sync::Arc;

use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::position::Range;
use codeyard_model::symbol::RawDocumentSymbol;

use super::calls::RawCallItem;
use super::reply::DecodedReply;
use crate::text::Document;
use crate::text::encoding::{PositionEncoding, from_server};

/// The texts that a server has.
pub trait DocumentTexts {
    /// The text of a document by the server's URI; `None` if it isn't available.
    fn document(&mut self, uri: &str) -> Option<Arc<Document>>;

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
    encoding: PositionEncoding,
    request_document: Option<&Document>,
    texts: &mut dyn DocumentTexts,
) -> usize {
    if encoding == PositionEncoding::Utf16 {
        return 0;
    }
    answer.convert_positions(&mut AnswerDocuments { encoding, texts, last: None }, request_document)
}

/// The documents of one answer. Neighbouring entries mostly lie in one file, so the last one is cached.
pub struct AnswerDocuments<'t> {
    encoding: PositionEncoding,
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
    /// The encoding that positions are converted from.
    pub(super) fn encoding(&self) -> PositionEncoding {
        self.encoding
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

    pub(super) fn convert(&mut self, uri: &Arc<str>, ranges: &mut [Range]) -> bool {
        match self.text(uri) {
            TextLookup::Outside => true,
            TextLookup::Missing => false,
            TextLookup::Available(document) => {
                ranges.iter_mut().for_each(|range| *range = range_from(&document, *range, self.encoding));
                true
            }
        }
    }

    pub(super) fn convert_item(&mut self, item: &mut RawCallItem) -> bool {
        let mut ranges = [item.range, item.selection_range];
        let kept = self.convert(&item.uri, &mut ranges);
        [item.range, item.selection_range] = ranges;
        kept
    }

    pub(super) fn convert_diagnostics(&mut self, file: &mut RawFileDiagnostics) -> bool {
        match self.text(&file.uri) {
            TextLookup::Outside => true,
            TextLookup::Missing => false,
            TextLookup::Available(document) => {
                for diagnostic in &mut file.diagnostics {
                    diagnostic.range = range_from(&document, diagnostic.range, self.encoding);
                }
                true
            }
        }
    }
}

pub(super) fn retain<T>(list: &mut Vec<T>, keep: impl FnMut(&mut T) -> bool) -> usize {
    let before = list.len();
    list.retain_mut(keep);
    before - list.len()
}

/// The recursion is as deep as the decoded tree, whose depth is bounded.
pub(super) fn convert_symbol(document: &Document, symbol: &mut RawDocumentSymbol, encoding: PositionEncoding) {
    symbol.range = range_from(document, symbol.range, encoding);
    symbol.selection_range = range_from(document, symbol.selection_range, encoding);
    symbol.children.iter_mut().for_each(|child| convert_symbol(document, child, encoding));
}

pub(super) fn range_from(document: &Document, range: Range, encoding: PositionEncoding) -> Range {
    Range { start: from_server(document, range.start, encoding), end: from_server(document, range.end, encoding) }
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
