//! Formats a matching line for display: its text, its matches, and its lines of context.
//!
//! Invariants: texts are UTF-8, at most [`MAX_SHOWN_LINE_BYTES`] long, and cut at character boundaries. Ranges lie inside the text, at
//! character boundaries.

use super::file_search::LineRange;
use super::search::LineMatch;
use crate::limits::MAX_SHOWN_LINE_BYTES;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

/// Matches of one line whose positions are returned.
const MAX_SHOWN_MATCHES: usize = 64;

/// The line `range` of `text`, with `context` lines before and after it.
pub(super) fn display_line(
    matcher: &RegexMatcher,
    text: &[u8],
    entry: usize,
    range: LineRange,
    context: usize,
) -> LineMatch {
    let whole = without_break(text.get(range.start..range.end).unwrap_or_default());
    let mut ranges = Vec::new();
    // The matcher never fails here. Without ranges the line is still right.
    let _ = matcher.find_iter(whole, |found| {
        ranges.push((found.start(), found.end()));
        ranges.len() < MAX_SHOWN_MATCHES
    });
    let skipped = skipped(whole, ranges.first().copied());
    let visible = &whole[skipped..];
    let cut = TruncatedText::of(visible);
    let ranges = ranges.into_iter().filter(|(start, _)| *start >= skipped);
    let shown = ranges.map(|(start, end)| (cut.offset_of(start - skipped, false), cut.offset_of(end - skipped, true)));
    // Matches after the cut aren't shown.
    let matches = shown.filter(|(start, _)| *start < cut.text.len() || !cut.is_cut).collect();
    let (before, is_before_cut) = around(lines_before(text, range.start, context));
    let (after, is_after_cut) = around(lines_after(text, range.end, context));
    let is_cut = cut.is_cut || skipped > 0 || is_before_cut || is_after_cut;
    LineMatch {
        entry,
        line: range.number,
        text: cut.text,
        skipped,
        is_cut,
        matches,
        before,
        after,
        is_numbered_otherwise: false,
    }
}

fn without_break(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n")).unwrap_or(line)
}

/// Bytes to leave out at the line's beginning so that its first match is shown; 0 if that isn't necessary.
fn skipped(line: &[u8], first: Option<(usize, usize)>) -> usize {
    let Some((start, end)) = first.filter(|_| line.len() > MAX_SHOWN_LINE_BYTES) else { return 0 };
    if end <= MAX_SHOWN_LINE_BYTES {
        return 0;
    }
    // A quarter of the shown bytes precedes the match. The text must not begin inside a character.
    let from = start.saturating_sub(MAX_SHOWN_LINE_BYTES / 4);
    let is_continuation = |byte: &&u8| **byte & 0xc0 == 0x80;
    from + line[from..start].iter().take_while(is_continuation).count()
}

/// A text made from bytes, and the mapping of byte offsets to text offsets.
struct TruncatedText {
    text: String,
    is_cut: bool,
    /// For each run of valid or invalid bytes: its offset in the bytes and in the text, and whether it is valid.
    runs: Vec<(usize, usize, bool)>,
}

impl TruncatedText {
    fn of(bytes: &[u8]) -> Self {
        let mut cut = Self { text: String::new(), is_cut: false, runs: Vec::new() };
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            let room = MAX_SHOWN_LINE_BYTES - cut.text.len();
            let valid = chunk.valid();
            let fits = boundary_before(valid, room);
            cut.runs.push((at, cut.text.len(), true));
            cut.text.push_str(&valid[..fits]);
            let mark = char::REPLACEMENT_CHARACTER;
            let has_room = cut.text.len() + mark.len_utf8() <= MAX_SHOWN_LINE_BYTES;
            if fits < valid.len() || (!chunk.invalid().is_empty() && !has_room) {
                cut.is_cut = true;
                break;
            }
            at += valid.len();
            if !chunk.invalid().is_empty() {
                cut.runs.push((at, cut.text.len(), false));
                cut.text.push(mark);
                at += chunk.invalid().len();
            }
        }
        cut
    }

    /// The offset in the text of the byte at `at`. Inside a character, the character's beginning, or its end if `is_end`.
    fn offset_of(&self, at: usize, is_end: bool) -> usize {
        let run = self.runs.partition_point(|(from, _, _)| *from <= at).saturating_sub(1);
        let Some((from, place, is_valid)) = self.runs.get(run).copied() else { return 0 };
        let inside = at - from.min(at);
        let place = match (is_valid, is_end && inside > 0) {
            (true, _) => (place + inside).min(self.text.len()),
            (false, false) => place,
            (false, true) => place + char::REPLACEMENT_CHARACTER.len_utf8(),
        };
        if is_end { boundary_after(&self.text, place) } else { boundary_before(&self.text, place) }
    }
}

fn around(lines: Vec<&[u8]>) -> (Vec<String>, bool) {
    let cuts: Vec<TruncatedText> = lines.into_iter().map(TruncatedText::of).collect();
    let is_cut = cuts.iter().any(|cut| cut.is_cut);
    (cuts.into_iter().map(|cut| cut.text).collect(), is_cut)
}

fn lines_before(text: &[u8], start: usize, count: usize) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    // Ends with the line break of the line before.
    let mut rest = text.get(..start).unwrap_or_default();
    while lines.len() < count && !rest.is_empty() {
        let inner = &rest[..rest.len() - 1];
        let from = inner.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        lines.push(without_break(&rest[from..]));
        rest = &rest[..from];
    }
    lines.reverse();
    lines
}

fn lines_after(text: &[u8], end: usize, count: usize) -> Vec<&[u8]> {
    let rest = text.get(end..).unwrap_or_default();
    rest.split_inclusive(|byte| *byte == b'\n').take(count).map(without_break).collect()
}

/// The last character boundary up to `at`.
fn boundary_before(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first character boundary from `at` on.
fn boundary_after(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
