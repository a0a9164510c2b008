//! Pages of the tool `lsp`: as many entries as fit into the limit of the JSON text, indented by 2.
//!
//! In an outline every symbol is an entry. A page that begins inside other symbols repeats its enclosing symbols, so that each
//! page is a tree; if they would fill more than half of the page, only the innermost of them. Invariants: a page's text has at
//! most [`MAX_OUTPUT_CHARS`] code points, unless one entry alone has more; a list that fits is one page; a page before the end
//! is never empty.

use std::io;

use serde::Serialize;

use codeyard_model::limits::MAX_OUTPUT_CHARS;
use codeyard_model::lsp_items::{LspItems, OutlineEntry};

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

/// The number of entries on the page from `offset`, at most `max`, leaving room for `below` code points below the list.
pub(super) fn page_length(found: &LspItems, offset: usize, max: usize, below: usize) -> usize {
    let left = found.len().saturating_sub(offset);
    let above = repeated(found, offset);
    let mut base = above.first().or(Some(&offset)).map_or(0, |first| depth(found, *first));
    let repeated: usize = above.iter().map(|at| chars(found, *at, base)).sum();
    let mut room = (MAX_OUTPUT_CHARS + SEPARATOR).saturating_sub(FRAME + repeated + below);
    let fits = (offset..found.len()).take(max).take_while(|at| {
        // An entry outside all repeated symbols begins a new tree.
        base = base.min(depth(found, *at));
        let needed = chars(found, *at, base);
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    });
    fits.count().max(1).min(left)
}

/// The page of `length` entries from `offset`.
pub(super) fn part(found: &LspItems, offset: usize, length: usize) -> LspItems {
    let to = offset.saturating_add(length).min(found.len());
    let from = offset.min(to);
    match found {
        LspItems::Locations(list) => LspItems::Locations(list[from..to].to_vec()),
        LspItems::Hover(hover) => LspItems::Hover(hover.clone().filter(|_| from < to)),
        LspItems::Symbols(list) => LspItems::Symbols(list[from..to].to_vec()),
        LspItems::CallItems(list) => LspItems::CallItems(list[from..to].to_vec()),
        LspItems::Incoming(list) => LspItems::Incoming(list[from..to].to_vec()),
        LspItems::Outgoing(list) => LspItems::Outgoing(list[from..to].to_vec()),
        LspItems::Outline(list) => {
            let above = repeated(found, offset).into_iter().map(|at| list[at].clone());
            LspItems::Outline(above.chain(list[from..to].iter().cloned()).collect())
        }
    }
}

/// The enclosing symbols of the one at `offset`, the outermost first: all, or as many of the innermost as fit into half a page.
fn repeated(found: &LspItems, offset: usize) -> Vec<usize> {
    let mut above = Vec::new();
    if let LspItems::Outline(list) = found
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
        let base = above.first().map_or(0, |first| depth(found, *first));
        above.iter().map(|at| chars(found, *at, base)).sum::<usize>() > MAX_OUTPUT_CHARS / 2
    };
    while too_long(&above) {
        above.remove(0);
    }
    above
}

fn depth(found: &LspItems, at: usize) -> usize {
    match found {
        LspItems::Outline(list) => list.get(at).map_or(0, |entry| entry.depth as usize),
        _ => 0,
    }
}

/// Code points of one entry and the separator after it, on a page whose outermost symbols have the depth `base`.
fn chars(found: &LspItems, at: usize, base: usize) -> usize {
    SEPARATOR
        + match found {
            LspItems::Locations(list) => indented(&list[at]),
            LspItems::Hover(hover) => indented(hover),
            LspItems::Symbols(list) => indented(&list[at]),
            LspItems::CallItems(list) => indented(&list[at]),
            LspItems::Incoming(list) => indented(&list[at]),
            LspItems::Outgoing(list) => indented(&list[at]),
            LspItems::Outline(list) => outline_chars(&list[at], list.get(at + 1), base),
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

/// Code points of `entry` as the only entry of a list.
fn indented<T: Serialize>(entry: &T) -> usize {
    pretty_chars(&[entry]) - FRAME
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use codeyard_canon::testing::file;
    use codeyard_model::hover::MarkupKind;
    use codeyard_model::lsp_items::{Markup, MarkupHover};
    use codeyard_model::position::{Location, Range};

    fn text(found: &LspItems) -> usize {
        serde_json::to_string_pretty(found).unwrap().chars().count()
    }

    fn outline(depths: &[u32]) -> LspItems {
        let entries = depths.iter().enumerate().map(|(at, depth)| OutlineEntry {
            depth: *depth,
            name: "é\"𝒳".repeat(at % 7),
            kind: 5,
            range: Range::new(at as u32, 0, 1_000_000, 9),
            selection_range: Range::new(at as u32, 1, 3, 2),
        });
        LspItems::Outline(entries.collect())
    }

    /// Depths of a walk: each is at most one more than the one before.
    fn walk(steps: &[u32]) -> Vec<u32> {
        let next = |depth: &mut Option<u32>, step: &u32| {
            let now = depth.map_or(0, |depth| (*step).min(depth + 1));
            *depth = Some(now);
            Some(now)
        };
        steps.iter().scan(None, next).collect()
    }

    fn sum(found: &LspItems) -> usize {
        FRAME - SEPARATOR + (0..found.len()).map(|at| chars(found, at, 0)).sum::<usize>()
    }

    #[test]
    fn a_list_is_counted_exactly_and_cut_where_it_is_full() {
        let location = |line: u32| Location { uri: file("/w/é"), range: Range::new(line, 0, line, 1) };
        let few = LspItems::Locations((0..3).map(location).collect());
        assert_eq!(sum(&few), text(&few));
        let many = LspItems::Locations((0..2_000).map(location).collect());
        let mut offset = 0;
        while offset < many.len() {
            let length = page_length(&many, offset, 10_000, 0);
            let here = text(&part(&many, offset, length));
            assert!(here <= MAX_OUTPUT_CHARS && length > 0);
            let one_more = text(&part(&many, offset, length + 1));
            assert!(one_more > MAX_OUTPUT_CHARS || offset + length == many.len());
            offset += length;
        }
        assert_eq!(page_length(&many, 0, 7, 0), 7);
        assert_eq!((page_length(&many, 2_000, 7, 0), part(&many, 9_999, 7).len()), (0, 0));
    }

    #[test]
    fn a_hover_is_on_the_first_page_only() {
        let contents = Markup { kind: MarkupKind::Plaintext, value: "text".into() };
        let hover = LspItems::Hover(Some(MarkupHover { contents, range: None }));
        assert_eq!(part(&hover, 0, 1), hover);
        assert_eq!(part(&hover, 1, 1), LspItems::Hover(None));
    }

    #[test]
    fn an_entry_that_is_too_long_is_a_page() {
        let entry = |name: String| OutlineEntry {
            depth: 0,
            name,
            kind: 5,
            range: Range::new(0, 0, 0, 0),
            selection_range: Range::new(0, 0, 0, 0),
        };
        let found = LspItems::Outline(vec![entry("n".repeat(MAX_OUTPUT_CHARS)), entry("m".into())]);
        assert_eq!((page_length(&found, 0, 9, 0), page_length(&found, 1, 9, 0)), (1, 1));
    }

    #[test]
    fn a_page_inside_a_tree_repeats_its_enclosing_symbols() {
        let found = outline(&[0, 1, 2, 2, 1, 0]);
        let LspItems::Outline(page) = part(&found, 3, 2) else { unreachable!() };
        let lines: Vec<(u32, u32)> = page.iter().map(|entry| (entry.depth, entry.range.start.line)).collect();
        assert_eq!(lines, [(0, 0), (1, 1), (2, 3), (1, 4)]);
    }

    #[test]
    fn pages_of_the_deepest_trees_keep_within_the_budget() {
        let down: Vec<u32> = (0..63).chain(0..63).chain([62, 62, 5, 6, 0]).collect();
        let found = outline(&down);
        let (mut offset, mut pages, mut listed) = (0, 0, 0);
        while offset < found.len() {
            let length = page_length(&found, offset, 200, 0);
            let page = part(&found, offset, length);
            assert!(text(&page) <= MAX_OUTPUT_CHARS, "{} at {offset}", text(&page));
            assert!(length > 0 && pages < 30);
            listed += length;
            offset += length;
            pages += 1;
        }
        assert_eq!(listed, found.len());
    }

    proptest! {
        #[test]
        fn trees_are_counted_exactly(steps in prop::collection::vec(0..5u32, 1..40)) {
            let found = outline(&walk(&steps));
            prop_assert_eq!(sum(&found), text(&found));
        }

        #[test]
        fn pages_of_trees_keep_within_the_budget(steps in prop::collection::vec(0..6u32, 300..500)) {
            let found = outline(&walk(&steps));
            let (mut offset, mut pages) = (0, 0);
            while offset < found.len() {
                let length = page_length(&found, offset, 10_000, 0);
                prop_assert!(length > 0 && text(&part(&found, offset, length)) <= MAX_OUTPUT_CHARS);
                offset += length;
                pages += 1;
            }
            prop_assert!(pages > 1);
        }
    }
}
