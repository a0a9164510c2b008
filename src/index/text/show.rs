//! A matching line as it is shown: its text, what matched in it, and the lines around it.
//!
//! Invariants: texts are UTF-8 and at most [`MAX_SHOWN_LINE_BYTES`] long, cut at a letter; ranges lie inside the text, at letters.

use super::search::{FoundLine, Place};
use crate::limits::{MAX_SHOWN_LINE_BYTES, MAX_SHOWN_MATCHES};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

/// The line at `place` of `text`, with so many lines around it.
pub(super) fn line(matcher: &RegexMatcher, text: &[u8], entry: usize, place: Place, context: usize) -> FoundLine {
    let whole = without_break(text.get(place.start..place.end).unwrap_or_default());
    let mut ranges = Vec::new();
    // An error of the matcher is impossible here; without ranges the line is as true.
    let _ = matcher.find_iter(whole, |found| {
        ranges.push((found.start(), found.end()));
        ranges.len() < MAX_SHOWN_MATCHES
    });
    let skipped = skipped(whole, ranges.first().copied());
    let seen = &whole[skipped..];
    let cut = Cut::of(seen);
    let ranges = ranges.into_iter().filter(|(start, _)| *start >= skipped);
    let shown = ranges.map(|(start, end)| (cut.place(start - skipped, false), cut.place(end - skipped, true)));
    // What lies behind the cut isn't seen.
    let matches = shown.filter(|(start, _)| *start < cut.text.len() || !cut.is_cut).collect();
    let (before, is_before_cut) = around(lines_before(text, place.start, context));
    let (after, is_after_cut) = around(lines_after(text, place.end, context));
    let is_cut = cut.is_cut || skipped > 0 || is_before_cut || is_after_cut;
    FoundLine { entry, line: place.number, text: cut.text, skipped, is_cut, matches, before, after }
}

fn without_break(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n")).unwrap_or(line)
}

/// How much of the line's beginning is left out so that its first match is seen: nothing, if it can be.
fn skipped(line: &[u8], first: Option<(usize, usize)>) -> usize {
    let Some((start, end)) = first.filter(|_| line.len() > MAX_SHOWN_LINE_BYTES) else { return 0 };
    if end <= MAX_SHOWN_LINE_BYTES {
        return 0;
    }
    // A quarter of what is shown stands before the match. A byte that goes on with a letter isn't where one begins.
    let from = start.saturating_sub(MAX_SHOWN_LINE_BYTES / 4);
    let goes_on = |byte: &&u8| **byte & 0xc0 == 0x80;
    from + line[from..start].iter().take_while(goes_on).count()
}

/// A text made of bytes, and where its letters come from.
struct Cut {
    text: String,
    is_cut: bool,
    /// Of each run of valid or invalid bytes: where it begins among the bytes and in the text, and whether it is valid.
    runs: Vec<(usize, usize, bool)>,
}

impl Cut {
    fn of(bytes: &[u8]) -> Self {
        let mut cut = Self { text: String::new(), is_cut: false, runs: Vec::new() };
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            let room = MAX_SHOWN_LINE_BYTES - cut.text.len();
            let valid = chunk.valid();
            let fits = letter_before(valid, room);
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

    /// Where the byte at `at` is in the text; inside a letter it is the letter's beginning, or its end where `is_end`.
    fn place(&self, at: usize, is_end: bool) -> usize {
        let run = self.runs.partition_point(|(from, _, _)| *from <= at).saturating_sub(1);
        let Some((from, place, is_valid)) = self.runs.get(run).copied() else { return 0 };
        let inside = at - from.min(at);
        let place = match (is_valid, is_end && inside > 0) {
            (true, _) => (place + inside).min(self.text.len()),
            (false, false) => place,
            (false, true) => place + char::REPLACEMENT_CHARACTER.len_utf8(),
        };
        if is_end { letter_after(&self.text, place) } else { letter_before(&self.text, place) }
    }
}

fn around(lines: Vec<&[u8]>) -> (Vec<String>, bool) {
    let cuts: Vec<Cut> = lines.into_iter().map(Cut::of).collect();
    let is_cut = cuts.iter().any(|cut| cut.is_cut);
    (cuts.into_iter().map(|cut| cut.text).collect(), is_cut)
}

fn lines_before(text: &[u8], start: usize, count: usize) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    // The break that ends the line before.
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

/// The last place up to `at` where a letter begins or the text ends.
fn letter_before(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The first place from `at` on where a letter begins or the text ends.
fn letter_after(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
