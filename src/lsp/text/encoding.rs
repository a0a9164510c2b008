//! How servers count positions. Clients always use UTF-16 and the lines of LSP, without a byte order mark; a server may have negotiated
//! another encoding, count other lines, or count the mark as a column.
//!
//! Conversion uses the given text, which must be the one that the server has. Nothing is read here. Invariants: with
//! UTF-16 positions stay unchanged; a position converted for a server and back is the same; a converted position of a
//! server lies inside its document. See `docs/internals/decisions/positions.md`.

use super::{ColumnUnit, Document, LineEnds};
use codeyard_base::seeded_faults;
use codeyard_model::position::Position;

/// The unit in which a server counts columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, the default of the protocol.
    #[default]
    Utf16,
    /// Code points.
    Utf32,
}

impl PositionEncoding {
    /// The encoding with this name in `initialize`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        }
    }

    pub(crate) fn unit(self) -> ColumnUnit {
        match self {
            Self::Utf8 => ColumnUnit::Byte,
            Self::Utf16 => ColumnUnit::Utf16,
            Self::Utf32 => ColumnUnit::Char,
        }
    }
}

/// How a server counts lines and columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PositionRules {
    /// The unit of columns.
    pub encoding: PositionEncoding,
    /// What ends a line in the positions that it is sent.
    pub lines_asked: LineEnds,
    /// What ends a line in the positions of its answers.
    pub lines_answered: LineEnds,
    /// A byte order mark is a column of the first line.
    pub counts_mark: bool,
}

impl From<PositionEncoding> for PositionRules {
    /// The rules of the protocol in this encoding.
    fn from(encoding: PositionEncoding) -> Self {
        Self { encoding, ..Self::default() }
    }
}

impl PositionRules {
    /// Whether positions in a file can be converted only with its text. Otherwise only a byte order mark changes them.
    pub fn need_texts(self) -> bool {
        self.encoding != PositionEncoding::Utf16 || self.lines_answered != LineEnds::Protocol
    }

    /// Columns that the byte order mark of a document takes in this position.
    fn mark_width(self, document: &Document, position: Position) -> u32 {
        match position.line == 0 && self.counts_mark && document.has_mark() {
            true if self.encoding == PositionEncoding::Utf8 => 3,
            true => 1,
            false => 0,
        }
    }
}

/// A client's position as the server counts; `None` if it isn't inside the document (see [`Document::check`]).
pub fn to_server(document: &Document, position: Position, rules: impl Into<PositionRules>) -> Option<Position> {
    let rules = rules.into();
    let found = document.find(position, ColumnUnit::Utf16).filter(|found| found.exact)?;
    let mut there = match rules.encoding == PositionEncoding::Utf16 && !document.differs_by(rules.lines_asked) {
        true => position,
        false => document.position_by(found.offset, rules.encoding.unit(), rules.lines_asked),
    };
    there.character += rules.mark_width(document, there);
    Some(there)
}

/// A server's position in UTF-16. A column after the end of a line becomes that end, a line after the last one the
/// end of the document, a column inside a character the start of that character.
pub fn from_server(document: &Document, position: Position, rules: impl Into<PositionRules>) -> Position {
    let rules = rules.into();
    if seeded_faults::is_on("positions_unconverted") {
        return position;
    }
    let character = position.character.saturating_sub(rules.mark_width(document, position));
    let there = Position { character, ..position };
    match document.find_by(there, rules.encoding.unit(), rules.lines_answered) {
        Some(found) => document.position_of(found.offset, ColumnUnit::Utf16),
        None => document.position_of(document.text().len(), ColumnUnit::Utf16),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENCODINGS: [PositionEncoding; 3] = [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32];

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn each_encoding_has_its_name() {
        for (name, encoding) in ["utf-8", "utf-16", "utf-32"].into_iter().zip(ENCODINGS) {
            assert_eq!(PositionEncoding::from_name(name), Some(encoding));
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
    fn a_byte_order_mark_is_a_column_for_servers_that_count_it() {
        let document = Document::new("\u{feff}é😀\nx");
        for (encoding, first, second) in [
            (PositionEncoding::Utf8, at(0, 5), at(0, 9)),
            (PositionEncoding::Utf16, at(0, 2), at(0, 4)),
            (PositionEncoding::Utf32, at(0, 2), at(0, 3)),
        ] {
            let counting = PositionRules { counts_mark: true, ..encoding.into() };
            for (here, there) in [(at(0, 1), first), (at(0, 3), second), (at(1, 1), at(1, 1))] {
                assert_eq!(to_server(&document, here, counting), Some(there), "{encoding:?}");
                assert_eq!(from_server(&document, there, counting), here, "{encoding:?}");
            }
            assert_eq!(from_server(&document, at(0, 0), counting), at(0, 0), "it may answer before the mark");
            assert_eq!(to_server(&document, at(0, 0), encoding), Some(at(0, 0)));
        }
    }

    #[test]
    fn lines_that_others_count_are_converted() {
        let document = Document::new("a\rb\u{2028}c\nd");
        let rules = |lines| PositionRules { lines_asked: lines, lines_answered: lines, ..PositionRules::default() };
        for (lines, there) in [
            (LineEnds::Protocol, [at(1, 0), at(1, 2), at(2, 1)]),
            (LineEnds::LineFeed, [at(0, 2), at(0, 4), at(1, 1)]),
            (LineEnds::Javascript, [at(1, 0), at(2, 0), at(3, 1)]),
        ] {
            for (here, there) in [at(1, 0), at(1, 2), at(2, 1)].into_iter().zip(there) {
                assert_eq!(to_server(&document, here, rules(lines)), Some(there), "{lines:?}");
                assert_eq!(from_server(&document, there, rules(lines)), here, "{lines:?}");
            }
        }
    }

    #[test]
    fn client_positions_outside_are_refused_and_server_positions_are_clamped() {
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

    fn text() -> impl Strategy<Value = String> {
        let chars = prop_oneof![
            4 => any::<char>(),
            2 => prop::sample::select(vec!['\n', '\r', '\t', 'a', '\u{301}', '😀', '\u{2028}']),
        ];
        prop::collection::vec(chars, 0..60).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn positions_round_trip(text in text(), pad in 0usize..3, line in 0u32..8, character in 0u32..80) {
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
        fn every_position_round_trips_by_all_rules(text in text(), has_mark in any::<bool>(), line in 0u32..8, character in 0u32..40) {
            let document = Document::new(format!("{}{text}", if has_mark { "\u{feff}" } else { "" }));
            let position = at(line, character);
            for encoding in ENCODINGS {
                for lines in [LineEnds::Protocol, LineEnds::LineFeed, LineEnds::Javascript] {
                    for counts_mark in [false, true] {
                        let rules = PositionRules { encoding, lines_asked: lines, lines_answered: lines, counts_mark };
                        let there = to_server(&document, position, rules);
                        prop_assert_eq!(there.is_some(), document.check(position).is_some());
                        if let Some(there) = there {
                            prop_assert_eq!(from_server(&document, there, rules), position, "{:?}", rules);
                        }
                    }
                }
            }
        }

        #[test]
        fn every_boundary_round_trips(text in text()) {
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
        fn converted_server_positions_lie_inside_the_document(text in text(), line in any::<u32>(), character in any::<u32>(), small in 0u32..70) {
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
            let first = one.min(two);
            let second = one.max(two);
            for encoding in ENCODINGS {
                let convert = |(line, character)| from_server(&document, at(line, character), encoding);
                prop_assert!(convert(first) <= convert(second));
            }
        }
    }
}
