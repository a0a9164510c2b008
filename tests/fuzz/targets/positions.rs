//! The mapping of positions between UTF-8, UTF-16 and UTF-32. A client's position comes back from every encoding; a server's position is
//! mapped into the document; both agree with plain counting.

#![no_main]

use codeyard_fuzz::Values;
use codeyard_lsp::text::Document;
use codeyard_lsp::text::encoding::{PositionEncoding, from_server, to_server};
use codeyard_model::position::Position;
use libfuzzer_sys::fuzz_target;

const ENCODINGS: [PositionEncoding; 3] = [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32];

fn width(character: char, encoding: PositionEncoding) -> u32 {
    (match encoding {
        PositionEncoding::Utf8 => character.len_utf8(),
        PositionEncoding::Utf16 => character.len_utf16(),
        PositionEncoding::Utf32 => 1,
    }) as u32
}

/// The lines as the protocol defines them, found without an index.
fn lines(text: &str) -> Vec<&str> {
    let (mut lines, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(['\n', '\r']) {
        lines.push(&rest[..at]);
        rest = rest[at..].strip_prefix("\r\n").unwrap_or(&rest[at + 1..]);
    }
    lines.push(rest);
    lines
}

/// The column in the encoding `to` of the character that a column in the encoding `from` lies in, and whether it lies at its beginning.
fn counted(line: &str, column: u32, from: PositionEncoding, to: PositionEncoding) -> (u32, bool) {
    let (mut here, mut there) = (0, 0);
    for character in line.chars() {
        if here + width(character, from) > column {
            break;
        }
        here += width(character, from);
        there += width(character, to);
    }
    (there, here == column)
}

fuzz_target!(|data: &[u8]| {
    let mut values = Values(data);
    let pad = usize::from(values.byte() % 4) * 127;
    let mut positions: Vec<Position> =
        (0..2).map(|_| Position { line: u32::from(values.byte() % 16), character: values.short() % 1_024 }).collect();
    positions.push(Position { line: values.long() as u32, character: u32::MAX });
    // Long lines have checkpoints.
    let text = format!("{}{}", "é".repeat(pad), values.text());
    let (document, lines) = (Document::new(text.as_str()), lines(&text));
    assert_eq!(document.line_count(), lines.len());
    let last = Position { line: lines.len() as u32 - 1, character: document.utf16_len(lines.len() as u32 - 1) };
    for position in positions {
        assert_eq!(document.line(position.line), lines.get(position.line as usize).copied());
        for encoding in ENCODINGS {
            let line = lines.get(position.line as usize);
            let there = line.and_then(|line| {
                let (column, is_exact) = counted(line, position.character, PositionEncoding::Utf16, encoding);
                is_exact.then_some(Position { line: position.line, character: column })
            });
            assert_eq!(to_server(&document, position, encoding), there, "{position:?} {encoding:?}");
            assert_eq!(document.check(position).is_some(), there.is_some());
            if let Some(there) = there {
                assert_eq!(from_server(&document, there, encoding), position, "{there:?} {encoding:?}");
            }
            let here = line.map_or(last, |line| Position {
                line: position.line,
                character: counted(line, position.character, encoding, PositionEncoding::Utf16).0,
            });
            assert_eq!(from_server(&document, position, encoding), here, "{position:?} {encoding:?}");
            assert_eq!(document.check(here), Some(()));
            assert!(text.is_char_boundary(document.offset(here)));
        }
    }
});
