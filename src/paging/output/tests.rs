//! Pages keep their limit in every style, and together they are the whole list.

use proptest::prelude::*;

use super::*;
use codeyard_canon::testing::file;
use codeyard_model::answer::AnswerNotes;
use codeyard_model::hover::MarkupKind;
use codeyard_model::limits::{DEFAULT_PAGE_CHARS, MAX_PAGE_CHARS, MIN_PAGE_CHARS};
use codeyard_model::lsp_items::{Markup, MarkupHover, Place};
use codeyard_model::operation::Operation;
use codeyard_model::position::Range;

use crate::page::page;
use crate::result::CanonicalResult;
use crate::snapshot::Snapshot;
use codeyard_model::answer::Answer;

const STYLE: PageStyle = PageStyle { format: LspFormat::Json, preview: true, chars: DEFAULT_PAGE_CHARS };
const COMPACT: PageStyle = PageStyle { format: LspFormat::Compact, ..STYLE };

fn text(found: &LspItems) -> usize {
    serde_json::to_string_pretty(found).unwrap().chars().count()
}

fn result(found: LspItems) -> LspResult {
    let paths = ResultPaths { root: "/w".into(), document: Some(file("/w/a")), calls_in: None };
    let notes = AnswerNotes { outside: 3, ..AnswerNotes::default() };
    LspResult { operation: Operation::FindReferences, title: "t".into(), found, notes, paths }
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

fn places(count: u32) -> LspItems {
    let place = |line: u32| Place {
        uri: file("/w/é"),
        range: Range::new(line, 0, line, 1),
        preview: (!line.is_multiple_of(3)).then(|| "é = \"𝒳\"".repeat(line as usize % 9).into()),
    };
    LspItems::Locations((0..count).map(place).collect())
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
    let writer = Writer { found, paths: &ResultPaths::default(), style: STYLE };
    FRAME - SEPARATOR + (0..found.len()).map(|at| writer.chars(at, 0)).sum::<usize>()
}

/// The text of a page as the catalog writes it.
fn written(answer: &codeyard_model::lsp_items::LspAnswer) -> usize {
    let list = match answer.style.format {
        LspFormat::Json => text(&answer.found),
        LspFormat::Compact => compact::text(&answer.found, &answer.paths).chars().count(),
    };
    list + answer.sentences().map_or(0, |below| below.chars().count() + GAP)
}

/// The pages from the first to the last.
fn pages(result: LspResult, size: usize, style: PageStyle) -> Vec<codeyard_model::lsp_items::LspAnswer> {
    let snapshot = Snapshot::new(CanonicalResult::Lsp(result));
    let mut all = Vec::new();
    let mut offset = 0;
    loop {
        let k = "k".repeat(64);
        let s = format!("{}-partial", "s".repeat(64));
        let Answer::Lsp(answer) = page(&snapshot, Some((offset, size)), style, &k, &s) else { unreachable!() };
        let next = answer.next_cursor.clone();
        all.push(answer);
        let Some(cursor) = next else { return all };
        offset = crate::cursor::decode(&cursor, &k).unwrap().offset;
        assert!(all.len() < 1_000);
    }
}

#[test]
fn a_list_is_counted_exactly_and_cut_where_it_is_full() {
    let few = places(3);
    assert_eq!(sum(&few), text(&few));
    for chars in [MIN_PAGE_CHARS, DEFAULT_PAGE_CHARS, MAX_PAGE_CHARS] {
        for style in [STYLE, COMPACT, PageStyle { preview: false, ..STYLE }] {
            let style = PageStyle { chars, ..style };
            let all = pages(result(places(2_000)), 10_000, style);
            let expected = if style.preview { places(2_000) } else { places(2_000).without_previews() };
            let mut joined = Vec::new();
            for (at, page) in all.iter().enumerate() {
                let written = written(page);
                let is_last = at + 1 == all.len();
                // An entry has less than 400 code points; the sentences may be a little shorter than the room that they had.
                assert!(written <= chars && (written > chars - 450 || is_last), "{written} of {chars}");
                let LspItems::Locations(list) = &page.found else { unreachable!() };
                joined.extend(list.iter().cloned());
            }
            assert_eq!(LspItems::Locations(joined), expected);
        }
    }
    let many = result(places(2_000));
    assert_eq!(page_cut(&many, 0, 7, STYLE).length, 7);
    let past = page_cut(&many, 9_999, 7, STYLE);
    assert_eq!((page_cut(&many, 2_000, 7, STYLE).length, part(&many.found, &past, STYLE).len()), (0, 0));
}

#[test]
fn a_page_may_be_written_in_another_style_than_the_one_before() {
    let snapshot = Snapshot::new(CanonicalResult::Lsp(result(places(500))));
    let styles = [STYLE, COMPACT, PageStyle { chars: MIN_PAGE_CHARS, preview: false, ..STYLE }];
    let mut offset = 0;
    let mut lines = Vec::new();
    for style in styles.iter().cycle() {
        let Answer::Lsp(answer) = page(&snapshot, Some((offset, 40)), *style, "k", "s") else { unreachable!() };
        let LspItems::Locations(list) = &answer.found else { unreachable!() };
        lines.extend(list.iter().map(|place| place.range.start.line));
        let Some(cursor) = answer.next_cursor else { break };
        offset = crate::cursor::decode(&cursor, "k").unwrap().offset;
    }
    assert_eq!(lines, (0..500).collect::<Vec<u32>>());
}

#[test]
fn a_hover_is_on_the_first_page_only_and_cut_to_the_limit() {
    let hover = |value: String| {
        LspItems::Hover(Some(MarkupHover { contents: Markup { kind: MarkupKind::Plaintext, value }, range: None }))
    };
    let short = hover("text".into());
    let of = |from| part(&short, &page_cut(&result(short.clone()), from, 9, STYLE), STYLE);
    assert_eq!((of(0), of(1)), (short.clone(), LspItems::Hover(None)));
    for value in ["x".repeat(30_000), "\u{1}\"é".repeat(9_000)] {
        for style in [STYLE, COMPACT, PageStyle { chars: MIN_PAGE_CHARS, ..STYLE }] {
            let operation = Operation::Hover;
            let all = pages(LspResult { operation, ..result(hover(value.clone())) }, 200, style);
            let [only] = all.as_slice() else { panic!("{}", all.len()) };
            assert!(only.notes.truncated && only.sentences().unwrap().contains("pageChars"));
            assert!((style.chars - 8..=style.chars).contains(&written(only)), "{}", written(only));
        }
    }
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
    let found = result(LspItems::Outline(vec![entry("n".repeat(DEFAULT_PAGE_CHARS)), entry("m".into())]));
    assert_eq!([0, 1].map(|from| page_cut(&found, from, 9, STYLE).length), [1, 1]);
}

#[test]
fn a_page_inside_a_tree_repeats_its_enclosing_symbols() {
    let found = outline(&[0, 1, 2, 2, 1, 0]);
    let cut = page_cut(&result(found.clone()), 3, 2, STYLE);
    let LspItems::Outline(page) = part(&found, &cut, STYLE) else { unreachable!() };
    let lines: Vec<(u32, u32)> = page.iter().map(|entry| (entry.depth, entry.range.start.line)).collect();
    assert_eq!(lines, [(0, 0), (1, 1), (2, 3), (1, 4)]);
}

#[test]
fn enclosing_symbols_are_left_out_by_their_size_in_the_format_of_the_page() {
    let found = result(outline(&[0, 1, 2, 3, 4, 4]));
    let above = |format| {
        let style = PageStyle { format, preview: true, chars: MIN_PAGE_CHARS };
        page_cut(&found, 5, 9, style).above
    };
    assert_eq!(above(LspFormat::Compact), [0, 1, 2, 3]);
    let in_json = above(LspFormat::Json);
    assert!(in_json.len() < 4 && in_json.iter().all(|at| *at < 4), "as JSON they fill half of the page: {in_json:?}");
}

#[test]
fn pages_of_the_deepest_trees_keep_within_the_budget() {
    let down: Vec<u32> = (0..63).chain(0..63).chain([62, 62, 5, 6, 0]).collect();
    for style in [STYLE, COMPACT, PageStyle { chars: MAX_PAGE_CHARS, ..STYLE }] {
        let found = result(outline(&down));
        let mut offset = 0;
        let mut pages = 0;
        let mut listed = 0;
        while offset < found.found.len() {
            let cut = page_cut(&found, offset, 200, style);
            let length = cut.length;
            let page = part(&found.found, &cut, style);
            let chars = match style.format {
                LspFormat::Json => text(&page),
                LspFormat::Compact => compact::text(&page, &found.paths).chars().count(),
            };
            assert!(chars <= style.chars, "{chars} at {offset}");
            assert!(length > 0 && pages < 130);
            listed += length;
            offset += length;
            pages += 1;
        }
        assert_eq!(listed, found.found.len());
    }
}

proptest! {
    #[test]
    fn trees_are_counted_exactly(steps in prop::collection::vec(0..5u32, 1..40)) {
        let found = outline(&walk(&steps));
        prop_assert_eq!(sum(&found), text(&found));
    }

    #[test]
    fn pages_of_trees_keep_within_the_budget(steps in prop::collection::vec(0..6u32, 300..500), is_compact in any::<bool>()) {
        let style = if is_compact { COMPACT } else { STYLE };
        let all = pages(result(outline(&walk(&steps))), 10_000, style);
        for page in &all {
            prop_assert!(written(page) <= style.chars);
        }
        prop_assert!(all.len() > 1 && all[0].total == steps.len());
    }
}
