//! Pages of the tool `lsp`: as many entries as fit into the limit of the text, with the sentences above and below them.
//!
//! In an outline every symbol is an entry. A page that begins inside other symbols repeats its enclosing symbols, so that each
//! page is a tree; if they would fill more than half of the page, only the innermost of them. Invariants: a page's text, its sentences
//! included, has at most as many code points as its style allows, unless one entry alone has more; a list that fits is one page; a page
//! before the end is never empty; a hover that doesn't fit is cut.

use std::io;

use serde::Serialize;

use codeyard_model::compact;
use codeyard_model::lsp_items::{LspAnswer, LspItems, OutlineEntry, ResultPaths};
use codeyard_model::lsp_sentences::PageFacts;
use codeyard_model::operation::{LspFormat, PageStyle};

use super::cursor::mint;
use super::result::LspResult;

/// Code points around a list: brackets and line ends.
const FRAME: usize = 4;
/// Code points between two entries: comma and line end.
const SEPARATOR: usize = 2;
/// Lines of a symbol without children.
const SYMBOL_LINES: usize = 24;
/// Code points around a symbol's children, without two indents: the member's name, brackets and line ends, less the separator
/// that the first child doesn't need.
const CHILDREN_FRAME: usize = 16;
/// Spaces per level of indentation.
const INDENT: usize = 2;
/// Code points between a result and its sentences: an empty line.
const GAP: usize = 2;
/// Characters of a request key, and at most of a snapshot key, which may have a mark of a partial result.
const KEY_CHARS: (usize, usize) = (64, 80);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageCut {
    /// Enclosing symbols of the first entry that are repeated, the outermost first.
    above: Vec<usize>,
    /// Index of the first entry.
    from: usize,
    /// Number of entries, without those that are repeated.
    pub(super) length: usize,
}

/// The page from `offset`, of at most `max` entries.
pub(super) fn page_cut(result: &LspResult, offset: usize, max: usize, style: PageStyle) -> PageCut {
    let left = result.found.len().saturating_sub(offset);
    if matches!(result.found, LspItems::Hover(_)) {
        return PageCut { above: Vec::new(), from: offset, length: left };
    }
    if left <= max {
        let whole = fitting(result, offset, max, style, sentence_chars(result, None, style));
        if whole.length >= left {
            return whole;
        }
    }
    let cursor = mint(result.found.len() as u64, &"k".repeat(KEY_CHARS.0), &"s".repeat(KEY_CHARS.1));
    fitting(result, offset, max, style, sentence_chars(result, Some(&cursor), style))
}

/// Most code points of the sentences above and below a page, with the gaps between them and the page.
fn sentence_chars(result: &LspResult, next_cursor: Option<&str>, style: PageStyle) -> usize {
    let total = result.found.len();
    let LspResult { operation, notes, .. } = result;
    let facts = PageFacts { operation: *operation, shown: total, total, next_cursor, notes, style };
    [facts.above(), facts.below()].iter().flatten().map(|text| text.chars().count() + GAP).sum()
}

/// The entries from `offset` that fit above `below` code points; at least one, if there is one. Symbols are repeated only if an entry fits
/// below them.
fn fitting(result: &LspResult, offset: usize, max: usize, style: PageStyle, below: usize) -> PageCut {
    let writer = Writer { found: &result.found, paths: &result.paths, style };
    let found = writer.found;
    let left = found.len().saturating_sub(offset);
    let all = (style.chars + SEPARATOR).saturating_sub(FRAME + below);
    let mut above = writer.repeated(offset);
    let mut base;
    let mut room;
    loop {
        base = above.first().or(Some(&offset)).map_or(0, |first| depth(found, *first));
        room = all.saturating_sub(above.iter().map(|at| writer.chars(*at, base)).sum());
        if above.is_empty() || left > 0 && writer.chars(offset, base) <= room {
            break;
        }
        above.remove(0);
    }
    let fits = (offset..found.len()).take(max).take_while(|at| {
        // An entry outside all repeated symbols begins a new tree.
        base = base.min(depth(found, *at));
        let needed = writer.chars(*at, base);
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    });
    let length = fits.count().max(1).min(left);
    PageCut { above, from: offset, length }
}

/// The entries of a page, with the symbols that it repeats.
pub(super) fn part(found: &LspItems, cut: &PageCut, style: PageStyle) -> LspItems {
    let to = cut.from.saturating_add(cut.length).min(found.len());
    let from = cut.from.min(to);
    let part = match found {
        LspItems::Locations(list) => LspItems::Locations(list[from..to].to_vec()),
        LspItems::Hover(hover) => LspItems::Hover(hover.clone().filter(|_| from < to)),
        LspItems::Symbols(list) => LspItems::Symbols(list[from..to].to_vec()),
        LspItems::CallItems(list) => LspItems::CallItems(list[from..to].to_vec()),
        LspItems::Incoming(list) => LspItems::Incoming(list[from..to].to_vec()),
        LspItems::Outgoing(list) => LspItems::Outgoing(list[from..to].to_vec()),
        LspItems::Outline(list) => {
            let above = cut.above.iter().map(|at| list[*at].clone());
            LspItems::Outline(above.chain(list[from..to].iter().cloned()).collect())
        }
    };
    if style.preview { part } else { part.without_previews() }
}

/// Cuts the text of a hover that doesn't fit, and says so in the notes.
pub(super) fn cut_hover(answer: &mut LspAnswer) {
    let text_chars = |answer: &LspAnswer| {
        let below = answer.sentences().map_or(0, |text| text.chars().count() + GAP);
        below
            + match answer.style.format {
                LspFormat::Json => pretty_chars(&answer.found),
                LspFormat::Compact => compact::text(&answer.found, &answer.paths).chars().count(),
            }
    };
    let most = answer.style.chars;
    if !matches!(answer.found, LspItems::Hover(Some(_))) || text_chars(answer) <= most {
        return;
    }
    answer.notes.truncated = true;
    // Every step removes at least the excess: no code point takes less than one in the text.
    loop {
        let excess = text_chars(answer).saturating_sub(most);
        let LspItems::Hover(Some(hover)) = &mut answer.found else { return };
        let value = &mut hover.contents.value;
        if excess == 0 || value.is_empty() {
            return;
        }
        // Escapes take up to six code points for one, so a large excess is approached from above.
        let removed = (excess / 6).max(1);
        let cut = value.char_indices().rev().nth(removed - 1).map_or(0, |(at, _)| at);
        value.truncate(cut);
    }
}

/// Measures entries as they are written.
struct Writer<'a> {
    found: &'a LspItems,
    paths: &'a ResultPaths,
    style: PageStyle,
}

impl Writer<'_> {
    /// The enclosing symbols of the one at `offset`, the outermost first: all, or as many of the innermost as fit into half a page.
    fn repeated(&self, offset: usize) -> Vec<usize> {
        let mut above = Vec::new();
        if let LspItems::Outline(list) = self.found
            && let Some(first) = list.get(offset)
        {
            let mut depth = first.depth;
            for (at, entry) in list[..offset].iter().enumerate().rev() {
                if entry.depth < depth {
                    above.push(at);
                    depth = entry.depth;
                }
            }
        }
        above.reverse();
        let too_long = |above: &[usize]| {
            let base = above.first().map_or(0, |first| depth(self.found, *first));
            above.iter().map(|at| self.chars(*at, base)).sum::<usize>() > self.style.chars / 2
        };
        while too_long(&above) {
            above.remove(0);
        }
        above
    }

    /// Code points of one entry and the separator after it, on a page whose outermost symbols have the depth `base`.
    fn chars(&self, at: usize, base: usize) -> usize {
        match self.style.format {
            LspFormat::Json => self.json_chars(at, base),
            // Lines are separated by one code point.
            LspFormat::Compact => 1 + compact::text(&self.one(at), self.paths).chars().count(),
        }
    }

    fn json_chars(&self, at: usize, base: usize) -> usize {
        SEPARATOR
            + match self.found {
                LspItems::Outline(list) => outline_chars(&list[at], list.get(at + 1), base),
                _ => pretty_chars(&self.one(at)) - FRAME,
            }
    }

    fn one(&self, at: usize) -> LspItems {
        part(self.found, &PageCut { above: Vec::new(), from: at, length: 1 }, self.style)
    }
}

fn depth(found: &LspItems, at: usize) -> usize {
    match found {
        LspItems::Outline(list) => list.get(at).map_or(0, |entry| entry.depth as usize),
        _ => 0,
    }
}

fn outline_chars(entry: &OutlineEntry, next: Option<&OutlineEntry>, base: usize) -> usize {
    let depth = (entry.depth as usize).saturating_sub(base);
    let alone = LspItems::Outline(vec![entry.clone()]);
    // Each level is nested in a list and an object.
    let own = pretty_chars(&alone) - FRAME + SYMBOL_LINES * 2 * INDENT * depth;
    let has_children = next.is_some_and(|next| next.depth > entry.depth);
    own + if has_children { CHILDREN_FRAME + 2 * INDENT * (2 + 2 * depth) } else { 0 }
}

fn pretty_chars<T: Serialize>(value: &T) -> usize {
    let mut counter = CharCounter(0);
    // Counting never fails, and every value here can be serialised.
    let _ = serde_json::to_writer_pretty(&mut counter, value);
    counter.0.max(FRAME)
}

/// Counts code points.
struct CharCounter(usize);

impl io::Write for CharCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
