//! The mapping of positions between UTF-8, UTF-16 and UTF-32. A client's position comes back from every encoding; a server's position is
//! mapped into the document; both agree with plain counting.

#![no_main]

use codeyard_fuzz::Values;
use codeyard_lsp::text::Document;
use codeyard_lsp::text::encoding::{PositionEncoding, from_server, to_server};
use codeyard_model::position::Position;
use libfuzzer_sys::fuzz_target;

/// Most bytes of a text, without what is put before it.
const MAX_TEXT_BYTES: usize = 640;

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
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        lines.push(&rest[..at]);
        rest = rest[at..].strip_prefix("\r\n").unwrap_or(&rest[at + 1..]);
    }
    lines.push(rest);
    lines
}

/// The column in the encoding `to` of the character that a column in the encoding `from` lies in, and whether it lies at its beginning.
fn counted(line: &str, column: u32, from: PositionEncoding, to: PositionEncoding) -> (u32, bool) {
    let mut here = 0;
    let mut there = 0;
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
    // Long lines have checkpoints.
    let pad = match values.byte() % 16 {
        times @ 1..4 => usize::from(times) * 127,
        _ => 0,
    };
    let positions = [
        Position { line: u32::from(values.byte() % 16), character: values.short() % 1_024 },
        // A line that may exist, or the last that can be asked for.
        Position {
            line: Some(values.byte()).filter(|line| *line < 255).map_or(u32::MAX, u32::from),
            character: u32::MAX,
        },
    ];
    let text = format!("{}{}", "é".repeat(pad), values.expanded(MAX_TEXT_BYTES).text());
    let document = Document::new(text.as_str());
    let lines = lines(&text);
    assert_eq!(document.line_count(), lines.len());
    let last = Position { line: lines.len() as u32 - 1, character: document.utf16_len(lines.len() as u32 - 1) };
    for position in positions {
        let line = lines.get(position.line as usize);
        assert_eq!(document.line(position.line), line.copied());
        let is_inside = document.check(position).is_some();
        for encoding in ENCODINGS {
            let there = line.and_then(|line| {
                let (column, is_exact) = counted(line, position.character, PositionEncoding::Utf16, encoding);
                is_exact.then_some(Position { line: position.line, character: column })
            });
            assert_eq!(to_server(&document, position, encoding), there, "{position:?} {encoding:?}");
            assert_eq!(is_inside, there.is_some());
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
