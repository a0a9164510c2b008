//! A document's text with its line starts, as LSP counts lines: `\n`, `\r\n` and a lone `\r` end a line.
//!
//! It is a value: nothing is read from disk here, and a text never changes.
//! Invariants: there is always at least one line; a text that ends with a line end has an empty last line; finding a
//! column costs the logarithm of the text's size plus a constant, even in a text of one huge line.

use std::sync::Arc;

use codeyard_model::position::Position;

/// Every this many bytes a non-ASCII text has a mark with the counts up to there.
const MARK_EVERY: usize = 256;

/// A text that positions can be looked up in. At most `limits::MAX_DOCUMENT_BYTES` long; the caller sees to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    text: Arc<str>,
    /// Byte offset of each line's first byte.
    starts: Vec<usize>,
    /// Counts at each multiple of [`MARK_EVERY`]; empty when the text is ASCII, where all counts are byte offsets.
    marks: Vec<Counts>,
}

/// Units counted from the text's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    utf16: u32,
    chars: u32,
}

/// In which units a column is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Bytes of UTF-8.
    Byte,
    /// Code units of UTF-16.
    Utf16,
    /// Code points.
    Char,
}

/// A character boundary found for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// The boundary's byte offset in the text.
    pub offset: usize,
    /// False when the column lay inside a character or beyond the line's end, and the boundary before it was taken.
    pub exact: bool,
}

impl Document {
    /// Takes a text and finds its lines.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let starts = line_starts(text.as_bytes());
        let marks = if text.is_ascii() { Vec::new() } else { marks(text.as_bytes()) };
        Self { text, starts, marks }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The whole text, shared.
    pub fn shared_text(&self) -> Arc<str> {
        self.text.clone()
    }

    /// How many lines there are, at least one.
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// A line without its end.
    pub fn line(&self, line: u32) -> Option<&str> {
        let (start, end) = self.line_bounds(line)?;
        Some(&self.text[start..end])
    }

    /// A line's length in UTF-16 code units, without its end; zero for a line that isn't there.
    pub fn utf16_len(&self, line: u32) -> u32 {
        let Some((start, end)) = self.line_bounds(line) else { return 0 };
        self.units_between(start, end, Unit::Utf16)
    }

    /// Whether `position` (UTF-16) lies inside the document: the line is there, the column is at most the line's length and
    /// not inside a surrogate pair (decisions §3: beyond the document is NOT_FOUND).
    pub fn check(&self, position: Position) -> Option<()> {
        self.find(position, Unit::Utf16)?.exact.then_some(())
    }

    /// The byte offset of `position` (UTF-16); what lies beyond a line is the line's end, what lies beyond the text its end.
    pub fn offset(&self, position: Position) -> usize {
        self.find(position, Unit::Utf16).map_or(self.text.len(), |found| found.offset)
    }

    /// The character boundary at `position`, whose column is counted in `unit`; `None` if there is no such line.
    pub(super) fn find(&self, position: Position, unit: Unit) -> Option<Found> {
        let (start, end) = self.line_bounds(position.line)?;
        let wanted = position.character as usize;
        if unit == Unit::Byte || self.marks.is_empty() {
            let offset = floor_boundary(&self.text, start.saturating_add(wanted).min(end));
            return Some(Found { offset, exact: offset - start == wanted });
        }
        Some(self.find_counted(start, end, wanted, unit))
    }

    /// The position of a character boundary, its column counted in `unit`. An offset inside a line's end gives that end.
    pub(super) fn position_of(&self, offset: usize, unit: Unit) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset) - 1;
        let end = line_end(self.text.as_bytes(), self.starts[line], self.after(line));
        let character = self.units_between(self.starts[line], offset.min(end), unit);
        Position { line: to_u32(line), character }
    }

    /// The byte offsets of a line without its end.
    pub(super) fn line_bounds(&self, line: u32) -> Option<(usize, usize)> {
        let line = usize::try_from(line).ok()?;
        let start = *self.starts.get(line)?;
        Some((start, line_end(self.text.as_bytes(), start, self.after(line))))
    }

    fn after(&self, line: usize) -> usize {
        self.starts.get(line + 1).copied().unwrap_or(self.text.len())
    }

    fn find_counted(&self, start: usize, end: usize, wanted: usize, unit: Unit) -> Found {
        if end - start <= MARK_EVERY {
            return self.walk(start, end, wanted, unit);
        }
        let base = self.count_to(start, unit);
        let target = base.saturating_add(wanted);
        let first = start / MARK_EVERY + 1;
        let last = end / MARK_EVERY + 1;
        let inside = &self.marks[first.min(last)..last];
        // A mark inside a character counts it whole, so the boundary after the mark has the mark's count.
        let (offset, count) = match inside.partition_point(|mark| mark.of(unit) <= target) {
            0 => (start, base),
            n => (ceil_boundary(&self.text, (first + n - 1) * MARK_EVERY), inside[n - 1].of(unit)),
        };
        self.walk(offset, end, target - count, unit)
    }

    /// Goes `wanted` units on from a character boundary, but not beyond `end`.
    fn walk(&self, mut offset: usize, end: usize, wanted: usize, unit: Unit) -> Found {
        let mut left = wanted;
        for char in self.text[offset..end].chars() {
            let units = if unit == Unit::Utf16 { char.len_utf16() } else { 1 };
            if units > left {
                break;
            }
            left -= units;
            offset += char.len_utf8();
        }
        Found { offset, exact: left == 0 }
    }

    fn units_between(&self, start: usize, end: usize, unit: Unit) -> u32 {
        if unit == Unit::Byte || self.marks.is_empty() {
            return to_u32(end - start);
        }
        if end - start <= MARK_EVERY {
            return to_u32(Counts::default().plus(&self.text.as_bytes()[start..end]).of(unit));
        }
        to_u32(self.count_to(end, unit) - self.count_to(start, unit))
    }

    /// Units before a character boundary, counted from the text's start.
    fn count_to(&self, offset: usize, unit: Unit) -> usize {
        let block = offset / MARK_EVERY;
        self.marks[block].plus(&self.text.as_bytes()[block * MARK_EVERY..offset]).of(unit)
    }
}

impl Counts {
    fn of(self, unit: Unit) -> usize {
        (if unit == Unit::Utf16 { self.utf16 } else { self.chars }) as usize
    }

    /// Adds the characters whose first byte is in `bytes`. A text is far below 4 GiB, so nothing overflows.
    fn plus(self, bytes: &[u8]) -> Self {
        let chars: u32 = bytes.iter().map(|&byte| u32::from(byte & 0xC0 != 0x80)).sum();
        let astral: u32 = bytes.iter().map(|&byte| u32::from(byte >= 0xF0)).sum();
        Self { utf16: self.utf16 + chars + astral, chars: self.chars + chars }
    }
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
            starts.push(at + 1);
        }
    }
    starts
}

fn marks(bytes: &[u8]) -> Vec<Counts> {
    let mut counts = Counts::default();
    let mut marks = vec![counts];
    for block in bytes.chunks_exact(MARK_EVERY) {
        counts = counts.plus(block);
        marks.push(counts);
    }
    marks
}

/// The end of the line that runs from `start` to the next line's start, without `\n`, `\r\n` or `\r`.
fn line_end(bytes: &[u8], start: usize, after: usize) -> usize {
    match &bytes[start..after] {
        [.., b'\r', b'\n'] => after - 2,
        [.., b'\n' | b'\r'] => after - 1,
        _ => after,
    }
}

fn floor_boundary(text: &str, mut offset: usize) -> usize {
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn ceil_boundary(text: &str, mut offset: usize) -> usize {
    while !text.is_char_boundary(offset) {
        offset += 1;
    }
    offset
}

/// Texts are far below 4 GiB (`limits::MAX_DOCUMENT_BYTES`), so nothing is lost.
fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn lines_end_with_lf_crlf_and_lone_cr() {
        let document = Document::new("one\ntwo\r\nthree\rfour\r\r\n\nlast");
        let lines: Vec<&str> = (0..).map_while(|line| document.line(line)).collect();
        assert_eq!(lines, ["one", "two", "three", "four", "", "", "last"]);
        assert_eq!(document.line_count(), 7);
        assert_eq!(document.line(u32::MAX), None);
    }

    #[test]
    fn a_final_line_end_makes_an_empty_last_line() {
        for (text, lines) in [("", 1), ("a", 1), ("a\n", 2), ("a\r", 2), ("a\r\n", 2), ("\n\n", 3), ("\r\n\r\n", 3)] {
            let document = Document::new(text);
            assert_eq!(document.line_count(), lines, "{text:?}");
            assert_eq!(document.check(at(lines as u32 - 1, document.utf16_len(lines as u32 - 1))), Some(()));
            assert_eq!(document.check(at(lines as u32, 0)), None, "{text:?}");
        }
    }

    #[test]
    fn other_separators_end_no_line() {
        assert_eq!(Document::new("a\u{2028}b\u{85}c\u{b}d\u{c}e").line_count(), 1);
    }

    #[test]
    fn check_refuses_what_is_outside_or_inside_a_pair() {
        let document = Document::new("a😀é\r\n\te\u{301}x\n");
        assert_eq!(document.utf16_len(0), 4);
        for (position, inside) in [
            (at(0, 0), true),
            (at(0, 1), true),
            (at(0, 2), false),
            (at(0, 3), true),
            (at(0, 4), true),
            (at(0, 5), false),
            (at(0, 6), false),
            (at(1, 4), true),
            (at(1, 5), false),
            (at(2, 0), true),
            (at(2, 1), false),
            (at(3, 0), false),
            (at(0, u32::MAX), false),
            (at(u32::MAX, 0), false),
        ] {
            assert_eq!(document.check(position).is_some(), inside, "{position:?}");
        }
    }

    #[test]
    fn columns_in_one_huge_line_agree_with_counting() {
        for unit_text in ["ab😀é漢\u{301}c", "😀", "é", "漢漢漢x"] {
            let text = format!("first é\n{}\nlast 😀", unit_text.repeat(1_500));
            let document = Document::new(text.as_str());
            let line = document.line(1).unwrap();
            let start = "first é\n".len();
            for unit in [Unit::Byte, Unit::Utf16, Unit::Char] {
                let mut units = 0;
                for (offset, char) in line.char_indices().chain([(line.len(), ' ')]) {
                    let position = at(1, units);
                    let found = document.find(position, unit).unwrap();
                    assert_eq!(found, Found { offset: start + offset, exact: true }, "{unit:?} {position:?}");
                    assert_eq!(document.position_of(start + offset, unit), position, "{unit:?}");
                    let width = match unit {
                        Unit::Byte => char.len_utf8(),
                        Unit::Utf16 => char.len_utf16(),
                        Unit::Char => 1,
                    } as u32;
                    for inner in units + 1..units + width {
                        let inside = document.find(at(1, inner), unit).unwrap();
                        assert_eq!(inside, Found { offset: start + offset, exact: false }, "{unit:?} {inner}");
                    }
                    units += width;
                }
                let beyond = document.find(at(1, units), unit).unwrap();
                assert_eq!(beyond, Found { offset: start + line.len(), exact: false }, "{unit:?}");
            }
        }
    }

    #[test]
    fn texts_whose_length_is_a_multiple_of_the_marks() {
        for length in [MARK_EVERY - 1, MARK_EVERY, MARK_EVERY + 1, 2 * MARK_EVERY] {
            let text = format!("é{}", "a".repeat(length - 2));
            let document = Document::new(text.as_str());
            let end = at(0, length as u32 - 1);
            assert_eq!(document.check(end), Some(()), "{length}");
            assert_eq!(document.check(at(0, length as u32)), None, "{length}");
            assert_eq!(document.position_of(length, Unit::Utf16), end, "{length}");
        }
    }
}
