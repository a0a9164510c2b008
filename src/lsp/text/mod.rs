//! A document's text with an index of its lines, counted as LSP counts them: `\n`, `\r\n` and a lone `\r` end a line.
//!
//! A [`Document`] is a value: nothing is read from disk here, and a text never changes. Invariants: there is always
//! at least one line; a text that ends with a line end has an empty last line; finding a column costs the logarithm
//! of the text's size plus a constant, even if the text is one huge line; a byte order mark at the beginning is no column.
//!
//! Some servers count lines otherwise ([`LineEnds`]). Their lines are found in a text that has such ends only.

pub mod encoding;

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use codeyard_model::position::Position;

/// A non-ASCII text has a checkpoint with the unit counts so far at every multiple of this many bytes.
const CHECKPOINT_BYTES: usize = 256;

/// The mark at the beginning of a text that is no part of it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// What ends a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineEnds {
    /// `\n`, `\r\n` and a lone `\r`.
    #[default]
    Protocol,
    /// `\n` alone.
    LineFeed,
    /// As [`Self::Protocol`], U+2028 and U+2029.
    Javascript,
}

/// A text in which positions can be looked up. The caller ensures that it has at most `limits::MAX_DOCUMENT_BYTES`.
#[derive(Debug, Clone)]
pub struct Document {
    text: Arc<str>,
    /// Byte offset of the first byte of each line.
    starts: Vec<usize>,
    /// The same, as [`LineEnds::LineFeed`] and [`LineEnds::Javascript`] count, once they were needed.
    other_starts: [OnceLock<Vec<usize>>; 2],
    /// The lines differ, as others count.
    has_disputed_ends: bool,
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
        let starts = line_starts(&text, LineEnds::Protocol);
        let is_ascii = text.is_ascii();
        let checkpoints = if is_ascii { Vec::new() } else { checkpoints(text.as_bytes()) };
        let has_disputed_ends = has_lone_return(text.as_bytes()) || !is_ascii && text.contains(SEPARATORS);
        Self { text, starts, other_starts: Default::default(), has_disputed_ends, checkpoints }
    }

    /// Whether the text begins with a byte order mark.
    pub fn has_mark(&self) -> bool {
        self.text.starts_with(BYTE_ORDER_MARK)
    }

    /// The text without a byte order mark, shared if there is none.
    pub(super) fn unmarked_text(&self) -> Arc<str> {
        self.text.strip_prefix(BYTE_ORDER_MARK).map_or_else(|| self.text.clone(), Arc::from)
    }

    /// Whether its lines differ for who counts them by `ends`.
    pub fn differs_by(&self, ends: LineEnds) -> bool {
        self.has_disputed_ends && ends != LineEnds::Protocol
    }

    /// The first bytes of the lines, as `ends` counts them.
    fn starts_by(&self, ends: LineEnds) -> &[usize] {
        match ends {
            ends if !self.differs_by(ends) => &self.starts,
            LineEnds::Protocol => &self.starts,
            LineEnds::LineFeed => self.other_starts[0].get_or_init(|| line_starts(&self.text, ends)),
            LineEnds::Javascript => self.other_starts[1].get_or_init(|| line_starts(&self.text, ends)),
        }
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

    /// The position (UTF-16) of a character boundary.
    pub fn position_at(&self, offset: usize) -> Position {
        self.position_of(offset, ColumnUnit::Utf16)
    }

    /// The character boundary at `position`, whose column is counted in `unit`; `None` if the line doesn't exist.
    pub(super) fn find(&self, position: Position, unit: ColumnUnit) -> Option<BoundaryMatch> {
        self.find_by(position, unit, LineEnds::Protocol)
    }

    /// The same for lines that `ends` counts.
    pub(super) fn find_by(&self, position: Position, unit: ColumnUnit, ends: LineEnds) -> Option<BoundaryMatch> {
        let (start, end) = self.line_bounds_by(position.line, ends)?;
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
        self.position_by(offset, unit, LineEnds::Protocol)
    }

    /// The same in the lines that `ends` counts.
    pub(super) fn position_by(&self, offset: usize, unit: ColumnUnit, ends: LineEnds) -> Position {
        let starts = self.starts_by(ends);
        let line = starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let end = line_end(&self.text, starts[line], self.next_line_start(starts, line), ends);
        let character = self.units_between(starts[line], offset.clamp(starts[line], end), unit);
        Position { line: to_u32(line), character }
    }

    /// The byte offsets of a line without its end.
    pub(super) fn line_bounds(&self, line: u32) -> Option<(usize, usize)> {
        self.line_bounds_by(line, LineEnds::Protocol)
    }

    fn line_bounds_by(&self, line: u32, ends: LineEnds) -> Option<(usize, usize)> {
        let starts = self.starts_by(ends);
        let line = usize::try_from(line).ok()?;
        let start = *starts.get(line)?;
        Some((start, line_end(&self.text, start, self.next_line_start(starts, line), ends)))
    }

    fn next_line_start(&self, starts: &[usize], line: usize) -> usize {
        starts.get(line + 1).copied().unwrap_or(self.text.len())
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

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Document {}

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

/// What ends a line of JavaScript, beside the ends of the protocol.
const SEPARATORS: [char; 2] = ['\u{2028}', '\u{2029}'];

fn line_starts(text: &str, ends: LineEnds) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = vec![if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 }];
    for (at, &byte) in bytes.iter().enumerate() {
        let is_end = match byte {
            b'\n' => true,
            b'\r' => ends != LineEnds::LineFeed && bytes.get(at + 1) != Some(&b'\n'),
            // The last byte of a separator, after the two that both begin with.
            0xa8 | 0xa9 => ends == LineEnds::Javascript && bytes[..at].ends_with(&[0xe2, 0x80]),
            _ => false,
        };
        if is_end {
            starts.push(at + 1);
        }
    }
    starts
}

/// Whether a `\r` ends a line alone.
pub(crate) fn has_lone_return(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().any(|(at, &byte)| byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
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

/// The end of the line between `start` and the start of the next line, without what ends it.
fn line_end(text: &str, start: usize, after: usize, ends: LineEnds) -> usize {
    match &text.as_bytes()[start..after] {
        [.., b'\r', b'\n'] => after - 2,
        [.., b'\n'] => after - 1,
        [.., b'\r'] if ends != LineEnds::LineFeed => after - 1,
        [.., 0xe2, 0x80, 0xa8 | 0xa9] if ends == LineEnds::Javascript => after - 3,
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
    fn a_byte_order_mark_is_no_column() {
        let document = Document::new("\u{feff}é\r\nb");
        assert_eq!((document.has_mark(), document.line(0), document.utf16_len(0)), (true, Some("é"), 1));
        assert_eq!((document.check(at(0, 1)), document.check(at(0, 2))), (Some(()), None));
        assert_eq!(document.offset(at(0, 1)), "\u{feff}é".len());
        for offset in 0..3 {
            assert_eq!(document.position_of(offset, ColumnUnit::Utf16), at(0, 0));
        }
        assert_eq!(&*document.unmarked_text(), "é\r\nb");
        assert_eq!(Document::new("\u{feff}").line(0), Some(""));
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
