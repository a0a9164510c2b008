//! A document's text with an index of its lines, counted as LSP counts them: `\n`, `\r\n` and a lone `\r` end a line.
//!
//! A [`Document`] is a value: nothing is read from disk here, and a text never changes. Invariants: there is always
//! at least one line; a text that ends with a line end has an empty last line; finding a column costs the logarithm
//! of the text's size plus a constant, even if the text is one huge line.

pub mod encoding;

use std::sync::Arc;

use codeyard_model::position::Position;

/// A non-ASCII text has a checkpoint with the unit counts so far at every multiple of this many bytes.
const CHECKPOINT_BYTES: usize = 256;

/// A text in which positions can be looked up. The caller ensures that it has at most `limits::MAX_DOCUMENT_BYTES`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    text: Arc<str>,
    /// Byte offset of the first byte of each line.
    starts: Vec<usize>,
    /// Unit counts at each multiple of [`CHECKPOINT_BYTES`]. Empty when the text is ASCII: then all counts are byte
    /// offsets.
    checkpoints: Vec<UnitCounts>,
}

/// Units counted from the start of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct UnitCounts {
    utf16: u32,
    chars: u32,
}

/// The unit in which columns are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnUnit {
    /// Bytes of UTF-8.
    Byte,
    Utf16,
    /// Code points.
    Char,
}

/// The character boundary found for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoundaryMatch {
    /// Byte offset of the boundary in the text.
    pub offset: usize,
    /// False when the column lies inside a character or after the end of the line; then the boundary before it was
    /// taken.
    pub exact: bool,
}

impl Document {
    /// Takes a text and indexes its lines.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let starts = line_starts(text.as_bytes());
        let checkpoints = if text.is_ascii() { Vec::new() } else { checkpoints(text.as_bytes()) };
        Self { text, starts, checkpoints }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The whole text, shared.
    pub fn shared_text(&self) -> Arc<str> {
        self.text.clone()
    }

    /// The number of lines, at least one.
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// A line without its end.
    pub fn line(&self, line: u32) -> Option<&str> {
        let (start, end) = self.line_bounds(line)?;
        Some(&self.text[start..end])
    }

    /// A line's length in UTF-16 code units, without its end. Zero for a line that doesn't exist.
    pub fn utf16_len(&self, line: u32) -> u32 {
        let Some((start, end)) = self.line_bounds(line) else { return 0 };
        self.units_between(start, end, ColumnUnit::Utf16)
    }

    /// Whether `position` (UTF-16) lies inside the document: the line exists, and the column is at most the line's
    /// length and not inside a surrogate pair. A position outside is `NOT_FOUND` in the contract.
    pub fn check(&self, position: Position) -> Option<()> {
        self.find(position, ColumnUnit::Utf16)?.exact.then_some(())
    }

    /// The byte offset of `position` (UTF-16). A column after the end of a line becomes that end, a line after the
    /// last one the end of the text.
    pub fn offset(&self, position: Position) -> usize {
        self.find(position, ColumnUnit::Utf16).map_or(self.text.len(), |found| found.offset)
    }

    /// The character boundary at `position`, whose column is counted in `unit`; `None` if the line doesn't exist.
    pub(super) fn find(&self, position: Position, unit: ColumnUnit) -> Option<BoundaryMatch> {
        let (start, end) = self.line_bounds(position.line)?;
        let units = position.character as usize;
        if unit == ColumnUnit::Byte || self.checkpoints.is_empty() {
            let offset = floor_boundary(&self.text, start.saturating_add(units).min(end));
            return Some(BoundaryMatch { offset, exact: offset - start == units });
        }
        Some(self.find_counted(start, end, units, unit))
    }

    /// The position of a character boundary, with the column counted in `unit`. An offset inside a line's end gives
    /// that end.
    pub(super) fn position_of(&self, offset: usize, unit: ColumnUnit) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset) - 1;
        let end = line_end(self.text.as_bytes(), self.starts[line], self.next_line_start(line));
        let character = self.units_between(self.starts[line], offset.min(end), unit);
        Position { line: to_u32(line), character }
    }

    /// The byte offsets of a line without its end.
    pub(super) fn line_bounds(&self, line: u32) -> Option<(usize, usize)> {
        let line = usize::try_from(line).ok()?;
        let start = *self.starts.get(line)?;
        Some((start, line_end(self.text.as_bytes(), start, self.next_line_start(line))))
    }

    fn next_line_start(&self, line: usize) -> usize {
        self.starts.get(line + 1).copied().unwrap_or(self.text.len())
    }

    fn find_counted(&self, start: usize, end: usize, units: usize, unit: ColumnUnit) -> BoundaryMatch {
        if end - start <= CHECKPOINT_BYTES {
            return self.advance(start, end, units, unit);
        }
        let base = self.count_to(start, unit);
        let target = base.saturating_add(units);
        let first = start / CHECKPOINT_BYTES + 1;
        let last = end / CHECKPOINT_BYTES + 1;
        let inside = &self.checkpoints[first.min(last)..last];
        // A checkpoint inside a character counts the whole character, so the boundary after the checkpoint has the
        // same count.
        let (offset, count) = match inside.partition_point(|checkpoint| checkpoint.of(unit) <= target) {
            0 => (start, base),
            n => (ceil_boundary(&self.text, (first + n - 1) * CHECKPOINT_BYTES), inside[n - 1].of(unit)),
        };
        self.advance(offset, end, target - count, unit)
    }

    /// Advances by `units` from a character boundary, but not past `end`.
    fn advance(&self, mut offset: usize, end: usize, units: usize, unit: ColumnUnit) -> BoundaryMatch {
        let mut left = units;
        for char in self.text[offset..end].chars() {
            let units = if unit == ColumnUnit::Utf16 { char.len_utf16() } else { 1 };
            if units > left {
                break;
            }
            left -= units;
            offset += char.len_utf8();
        }
        BoundaryMatch { offset, exact: left == 0 }
    }

    fn units_between(&self, start: usize, end: usize, unit: ColumnUnit) -> u32 {
        if unit == ColumnUnit::Byte || self.checkpoints.is_empty() {
            return to_u32(end - start);
        }
        if end - start <= CHECKPOINT_BYTES {
            return to_u32(UnitCounts::default().plus(&self.text.as_bytes()[start..end]).of(unit));
        }
        to_u32(self.count_to(end, unit) - self.count_to(start, unit))
    }

    /// Units before a character boundary, counted from the start of the text.
    fn count_to(&self, offset: usize, unit: ColumnUnit) -> usize {
        let block = offset / CHECKPOINT_BYTES;
        self.checkpoints[block].plus(&self.text.as_bytes()[block * CHECKPOINT_BYTES..offset]).of(unit)
    }
}

impl UnitCounts {
    fn of(self, unit: ColumnUnit) -> usize {
        (if unit == ColumnUnit::Utf16 { self.utf16 } else { self.chars }) as usize
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

fn checkpoints(bytes: &[u8]) -> Vec<UnitCounts> {
    let mut counts = UnitCounts::default();
    let mut checkpoints = vec![counts];
    for block in bytes.chunks_exact(CHECKPOINT_BYTES) {
        counts = counts.plus(block);
        checkpoints.push(counts);
    }
    checkpoints
}

/// The end of the line between `start` and the start of the next line, without `\n`, `\r\n` or `\r`.
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
    fn check_refuses_positions_outside_or_inside_a_surrogate_pair() {
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
            for unit in [ColumnUnit::Byte, ColumnUnit::Utf16, ColumnUnit::Char] {
                let mut units = 0;
                for (offset, char) in line.char_indices().chain([(line.len(), ' ')]) {
                    let position = at(1, units);
                    let found = document.find(position, unit).unwrap();
                    assert_eq!(found, BoundaryMatch { offset: start + offset, exact: true }, "{unit:?} {position:?}");
                    assert_eq!(document.position_of(start + offset, unit), position, "{unit:?}");
                    let width = match unit {
                        ColumnUnit::Byte => char.len_utf8(),
                        ColumnUnit::Utf16 => char.len_utf16(),
                        ColumnUnit::Char => 1,
                    } as u32;
                    for inner in units + 1..units + width {
                        let inside = document.find(at(1, inner), unit).unwrap();
                        assert_eq!(inside, BoundaryMatch { offset: start + offset, exact: false }, "{unit:?} {inner}");
                    }
                    units += width;
                }
                let beyond = document.find(at(1, units), unit).unwrap();
                assert_eq!(beyond, BoundaryMatch { offset: start + line.len(), exact: false }, "{unit:?}");
            }
        }
    }

    #[test]
    fn texts_whose_length_is_a_multiple_of_the_checkpoint_size() {
        for length in [CHECKPOINT_BYTES - 1, CHECKPOINT_BYTES, CHECKPOINT_BYTES + 1, 2 * CHECKPOINT_BYTES] {
            let text = format!("é{}", "a".repeat(length - 2));
            let document = Document::new(text.as_str());
            let end = at(0, length as u32 - 1);
            assert_eq!(document.check(end), Some(()), "{length}");
            assert_eq!(document.check(at(0, length as u32)), None, "{length}");
            assert_eq!(document.position_of(length, ColumnUnit::Utf16), end, "{length}");
        }
    }
}
