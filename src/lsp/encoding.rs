//! Positions between clients and servers: clients always speak UTF-16, servers may have negotiated another encoding
//! (decisions §3: converted once, at the door).
//!
//! It converts with the texts it is given, which must be those the server has; it reads nothing itself.
//! Invariants: with UTF-16 an answer isn't touched; a position that goes to a server and comes back is the same; no
//! position a server gives leaves its document.

use std::sync::Arc;

use super::convert::{RawAnswer, RawCallItem};
use super::text::{Document, Unit};
use codeyard_model::diagnostic::RawFileDiagnostics;
use codeyard_model::position::{Position, Range};
use codeyard_model::symbol::RawDocumentSymbol;

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
        RawAnswer::CallItems(list) => retain(list, |item| files.convert_item(item)),
        RawAnswer::Calls(list) => retain(list, |call| {
            files.convert_item(&mut call.item) && files.convert(&call.calls_in, &mut call.from_ranges)
        }),
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

    fn convert_item(&mut self, item: &mut RawCallItem) -> bool {
        let mut ranges = [item.range, item.selection_range];
        let kept = self.convert(&item.uri, &mut ranges);
        [item.range, item.selection_range] = ranges;
        kept
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use codeyard_model::diagnostic::RawDiagnostic;
    use codeyard_model::hover::Hover;
    use codeyard_model::position::RawLocation;
    use codeyard_model::symbol::RawWorkspaceSymbol;

    const ENCODINGS: [PositionEncoding; 3] = [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32];

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[derive(Default)]
    struct Known {
        documents: BTreeMap<&'static str, Arc<Document>>,
        asked: Vec<String>,
    }

    impl Texts for Known {
        fn document(&mut self, uri: &str) -> Option<Arc<Document>> {
            self.asked.push(uri.to_owned());
            self.documents.get(uri).cloned()
        }

        fn outside(&mut self, uri: &str) -> bool {
            uri.starts_with("file:///outside/")
        }
    }

    fn known() -> Known {
        Known {
            documents: BTreeMap::from([("file:///a", Arc::new(Document::new("é😀x\nplain")))]), ..Known::default()
        }
    }

    #[test]
    fn names_go_both_ways() {
        for encoding in ENCODINGS {
            assert_eq!(PositionEncoding::from_name(encoding.name()), Some(encoding));
        }
        assert_eq!(PositionEncoding::from_name("UTF-8"), None);
    }

    #[test]
    fn columns_of_every_width() {
        // a: 1/1/1, é: 2/1/1, 漢: 3/1/1, 😀: 4/2/1 units of UTF-8, UTF-16 and UTF-32.
        let document = Document::new("aé漢😀e\u{301}\tz\r\n\tq\r😀");
        for (utf16, utf8, utf32) in [
            (at(0, 0), at(0, 0), at(0, 0)),
            (at(0, 1), at(0, 1), at(0, 1)),
            (at(0, 2), at(0, 3), at(0, 2)),
            (at(0, 3), at(0, 6), at(0, 3)),
            (at(0, 5), at(0, 10), at(0, 4)),
            (at(0, 6), at(0, 11), at(0, 5)),
            (at(0, 7), at(0, 13), at(0, 6)),
            (at(0, 8), at(0, 14), at(0, 7)),
            (at(0, 9), at(0, 15), at(0, 8)),
            (at(1, 2), at(1, 2), at(1, 2)),
            (at(2, 2), at(2, 4), at(2, 1)),
        ] {
            for (encoding, there) in ENCODINGS.into_iter().zip([utf8, utf16, utf32]) {
                assert_eq!(to_server(&document, utf16, encoding), Some(there), "{utf16:?} {encoding:?}");
                assert_eq!(from_server(&document, there, encoding), utf16, "{there:?} {encoding:?}");
            }
        }
    }

    #[test]
    fn clients_positions_outside_are_refused_and_servers_are_clamped() {
        let document = Document::new("é😀\r\nab\n");
        for encoding in ENCODINGS {
            for outside in [at(0, 2), at(0, 4), at(1, 3), at(2, 1), at(3, 0)] {
                assert_eq!(to_server(&document, outside, encoding), None, "{outside:?} {encoding:?}");
            }
            assert_eq!(from_server(&document, at(1, 99), encoding), at(1, 2));
            assert_eq!(from_server(&document, at(0, u32::MAX), encoding), at(0, 3));
            assert_eq!(from_server(&document, at(7, 0), encoding), at(2, 0));
            assert_eq!(from_server(&document, at(u32::MAX, u32::MAX), encoding), at(2, 0));
        }
        assert_eq!(from_server(&document, at(0, 1), PositionEncoding::Utf8), at(0, 0));
        assert_eq!(from_server(&document, at(0, 5), PositionEncoding::Utf8), at(0, 1));
        assert_eq!(from_server(&document, at(0, 2), PositionEncoding::Utf16), at(0, 1));
    }

    #[test]
    fn utf16_answers_are_not_touched_and_no_text_is_asked_for() {
        let mut texts = known();
        let far = RawLocation { uri: "file:///gone".into(), range: Range::new(9, 9, 9, 9) };
        let mut answer = RawAnswer::Locations(vec![far]);
        let before = answer.clone();
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf16, None, &mut texts), 0);
        assert_eq!(answer, before);
        assert!(texts.asked.is_empty());
    }

    #[test]
    fn locations_are_converted_dropped_or_left_as_they_are() {
        let mut texts = known();
        let location = |uri: &str| RawLocation { uri: uri.into(), range: Range::new(0, 2, 0, 6) };
        let list = ["file:///a", "file:///a", "file:///gone", "file:///outside/b", "file:///a"].map(location);
        let mut answer = RawAnswer::Locations(list.to_vec());
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut texts), 1);
        let converted = RawLocation { range: Range::new(0, 1, 0, 3), ..location("file:///a") };
        let left = location("file:///outside/b");
        assert_eq!(answer, RawAnswer::Locations(vec![converted.clone(), converted.clone(), left, converted]));
        assert_eq!(texts.asked, ["file:///a", "file:///gone", "file:///a"]);
    }

    #[test]
    fn symbols_hovers_and_diagnostics() {
        let document = Document::new("é😀x");
        let (given, wanted) = (Range::new(0, 2, 0, 7), Range::new(0, 1, 0, 4));
        let symbol = |range: Range, children: Vec<RawDocumentSymbol>| RawDocumentSymbol {
            name: "n".into(),
            kind: 1,
            range,
            selection_range: range,
            container_name: None,
            children,
        };
        let tree = |range| symbol(range, vec![symbol(range, vec![symbol(range, vec![])])]);
        let mut answer = RawAnswer::DocumentSymbols(vec![tree(given)]);
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf8, Some(&document), &mut known()), 0);
        assert_eq!(answer, RawAnswer::DocumentSymbols(vec![tree(wanted)]));
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut known()), 1);
        assert_eq!(answer, RawAnswer::DocumentSymbols(vec![]));

        let hover = |range| RawAnswer::Hover(Some(Hover { contents: vec![], range }));
        let mut answer = hover(Some(given));
        answer_to_utf16(&mut answer, PositionEncoding::Utf8, Some(&document), &mut known());
        assert_eq!(answer, hover(Some(wanted)));
        answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut known());
        assert_eq!(answer, hover(None));

        let found = |range| RawWorkspaceSymbol {
            name: "n".into(),
            kind: 1,
            uri: "file:///a".into(),
            range,
            container_name: None,
        };
        let mut answer = RawAnswer::WorkspaceSymbols(vec![found(given)]);
        answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut known());
        assert_eq!(answer, RawAnswer::WorkspaceSymbols(vec![found(wanted)]));

        let file = |uri: &str, range| RawFileDiagnostics {
            uri: uri.into(),
            diagnostics: vec![RawDiagnostic { range, severity: None, code: None, source: None, message: "m".into() }],
        };
        let mut answer = RawAnswer::Diagnostics(vec![file("file:///a", given), file("file:///gone", given)]);
        assert_eq!(answer_to_utf16(&mut answer, PositionEncoding::Utf8, None, &mut known()), 1);
        assert_eq!(answer, RawAnswer::Diagnostics(vec![file("file:///a", wanted)]));
    }

    fn text() -> impl Strategy<Value = String> {
        let chars = prop_oneof![
            4 => any::<char>(),
            2 => prop::sample::select(vec!['\n', '\r', '\t', 'a', '\u{301}', '😀', '\u{2028}']),
        ];
        prop::collection::vec(chars, 0..60).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn there_and_back_is_the_same(text in text(), pad in 0usize..3, line in 0u32..8, character in 0u32..80) {
            let document = Document::new(format!("{}{text}", "é".repeat(pad * 600)));
            let position = at(line, character);
            for encoding in ENCODINGS {
                let there = to_server(&document, position, encoding);
                prop_assert_eq!(there.is_some(), document.check(position).is_some());
                if let Some(there) = there {
                    prop_assert_eq!(from_server(&document, there, encoding), position);
                }
            }
        }

        #[test]
        fn every_boundary_goes_there_and_back(text in text()) {
            let document = Document::new(text.as_str());
            for line in 0..document.line_count() as u32 {
                let mut position = at(line, 0);
                for char in document.line(line).unwrap().chars().map(Some).chain([None]) {
                    for encoding in ENCODINGS {
                        let there = to_server(&document, position, encoding);
                        prop_assert!(there.is_some(), "{position:?}");
                        prop_assert_eq!(from_server(&document, there.unwrap(), encoding), position);
                    }
                    position.character += char.map_or(0, char::len_utf16) as u32;
                }
            }
        }

        #[test]
        fn what_a_server_says_ends_up_inside(text in text(), line in any::<u32>(), character in any::<u32>(), small in 0u32..70) {
            let document = Document::new(text.as_str());
            for encoding in ENCODINGS {
                for position in [at(line, character), at(line % 5, small), at(line % 5, character)] {
                    let here = from_server(&document, position, encoding);
                    prop_assert_eq!(document.check(here), Some(()));
                    prop_assert_eq!(from_server(&document, here, PositionEncoding::Utf16), here);
                }
            }
        }

        #[test]
        fn order_is_kept(text in text(), one in (0u32..6, 0u32..60), two in (0u32..6, 0u32..60)) {
            let document = Document::new(text.as_str());
            let (first, second) = (one.min(two), one.max(two));
            for encoding in ENCODINGS {
                let convert = |(line, character)| from_server(&document, at(line, character), encoding);
                prop_assert!(convert(first) <= convert(second));
            }
        }
    }
}
