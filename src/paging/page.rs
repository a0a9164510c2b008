//! Cuts one page from a snapshot.
//!
//! Invariant: the next cursor starts at the end of this page, and there is none exactly if no entry is left.

use codeyard_base::seeded_faults;
use codeyard_model::answer::{Answer, Page};
use codeyard_model::limits::DEFAULT_PAGE_SIZE;
use codeyard_model::lsp_items::LspAnswer;
use codeyard_model::operation::PageStyle;

use super::cursor::mint;
use super::output;
use super::result::{CanonicalResult, FullList, LspResult, slice};
use super::snapshot::Snapshot;

/// The answer from `snapshot`: for a paged result the page at `request` (offset and size, at least 1; `None` is the first page
/// of the default size), otherwise the whole result. `k` and `s` are the keys of the next cursor.
pub fn page(snapshot: &Snapshot, request: Option<(u64, usize)>, style: PageStyle, k: &str, s: &str) -> Answer {
    let (offset, size) = request.map_or((0, DEFAULT_PAGE_SIZE), |(offset, size)| (offset, size.max(1)));
    match snapshot.result() {
        CanonicalResult::Definition(list) => Answer::Definition(list.clone()),
        CanonicalResult::Hover(hover, notes) => Answer::Hover(hover.clone(), notes.clone()),
        CanonicalResult::DocumentSymbols(list) => Answer::DocumentSymbols(list.clone()),
        CanonicalResult::DocumentDiagnostics(uri, list) => Answer::DocumentDiagnostics(uri.clone(), list.clone()),
        CanonicalResult::References(full) => Answer::References(cut(full, offset, size, k, s)),
        CanonicalResult::WorkspaceSymbols(full) => Answer::WorkspaceSymbols(cut(full, offset, size, k, s)),
        CanonicalResult::WorkspaceDiagnostics(full) => Answer::WorkspaceDiagnostics(cut(full, offset, size, k, s)),
        CanonicalResult::Declarations(declared, notes) => Answer::Declarations(declared.clone(), notes.clone()),
        CanonicalResult::Lsp(result) => Answer::Lsp(part(result, offset, size, style, k, s)),
    }
}

fn cut<T: Clone>(full: &FullList<T>, offset: u64, size: usize, k: &str, s: &str) -> Page<T> {
    let end = offset.saturating_add(size as u64);
    let next_cursor = (end < full.items.len() as u64).then(|| mint(end, k, s));
    let overlap = u64::from(seeded_faults::is_on("page_overlaps"));
    let items = slice(&full.items, offset.saturating_sub(overlap), size).to_vec();
    Page { items, next_cursor, total: full.items.len(), notes: full.notes.clone() }
}

/// The page of at most `size` entries that fits into the limit of its style.
fn part(result: &LspResult, offset: u64, size: usize, style: PageStyle, k: &str, s: &str) -> LspAnswer {
    let from = usize::try_from(offset).unwrap_or(usize::MAX);
    let cut = output::page_cut(result, from, size, style);
    let end = from.saturating_add(cut.length);
    let total = result.found.len();
    let mut answer = LspAnswer {
        operation: result.operation,
        title: result.title.clone(),
        found: output::part(&result.found, &cut, style),
        total,
        next_cursor: (end < total).then(|| mint(end as u64, k, s)),
        notes: result.notes.clone(),
        style,
        paths: result.paths.clone(),
    };
    output::cut_hover(&mut answer);
    answer
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cursor::decode;
    use codeyard_canon::testing::{FakeGate, file};
    use codeyard_model::answer::AnswerNotes;
    use codeyard_model::lsp_items::{LspItems, Place, ResultPaths};
    use codeyard_model::operation::Operation;
    use codeyard_model::position::{Location, Range, RawLocation};

    fn snapshot(n: u32) -> Snapshot {
        let raw = (0..n).map(|line| {
            let uri = if line < 3 { "file:///w/a" } else { "file:///w/b" };
            RawLocation { uri: uri.into(), range: Range::new(line, 0, line, 1) }
        });
        let found = codeyard_canon::locations(raw.collect(), &mut FakeGate::default(), 1_000, 1_000).unwrap();
        Snapshot::new(CanonicalResult::references(found, AnswerNotes::default()))
    }

    fn references(snapshot: &Snapshot, offset: u64, size: usize) -> Page<Location> {
        match page(snapshot, Some((offset, size)), PageStyle::default(), "k", "s") {
            Answer::References(page) => page,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn past_the_end_is_empty_without_a_cursor() {
        for offset in [5, 6, u64::MAX] {
            let page = references(&snapshot(5), offset, 200);
            assert_eq!((page.items.len(), page.next_cursor, page.total), (0, None, 5));
        }
    }

    #[test]
    fn a_page_that_ends_the_list_has_no_cursor() {
        assert_eq!(references(&snapshot(5), 0, 5).next_cursor, None);
        assert!(references(&snapshot(5), 0, 4).next_cursor.is_some());
        assert_eq!(references(&snapshot(5), 4, usize::MAX).next_cursor, None);
    }

    #[test]
    fn files_on_a_page_are_distinct_and_only_its_own() {
        let snapshot = snapshot(5);
        let result = snapshot.result();
        assert_eq!(result.files_on_page(0, 2, PageStyle::default()), [file("/w/a")]);
        assert_eq!(result.files_on_page(2, 2, PageStyle::default()), [file("/w/a"), file("/w/b")]);
        assert_eq!(result.files_on_page(99, 2, PageStyle::default()), []);
    }

    #[test]
    fn pages_of_the_tool_lsp_end_with_the_list() {
        let CanonicalResult::References(full) = snapshot(5).result().clone() else { unreachable!() };
        let operation = Operation::FindReferences;
        let notes = AnswerNotes { outside: 3, ..AnswerNotes::default() };
        let found = LspItems::Locations(full.items.into_iter().map(Place::from).collect());
        let paths = ResultPaths::default();
        let result = CanonicalResult::Lsp(LspResult { operation, title: "title".into(), found, notes, paths });
        let snapshot = Snapshot::new(result);
        for (offset, count, has_more) in [(0, 2, true), (2, 2, true), (3, 2, false), (4, 1, false), (5, 0, false)] {
            let Answer::Lsp(answer) = page(&snapshot, Some((offset, 2)), PageStyle::default(), "k", "s") else {
                unreachable!()
            };
            assert_eq!((answer.found.len(), answer.total, answer.next_cursor.is_some()), (count, 5, has_more));
            assert_eq!((answer.title.as_str(), answer.notes.outside), ("title", 3));
        }
        assert_eq!(snapshot.result().files_on_page(2, 2, PageStyle::default()), [file("/w/a"), file("/w/b")]);
        assert_eq!((snapshot.result().notes().outside, snapshot.result().tool()), (3, "lsp"));
    }

    proptest! {
        #[test]
        fn any_sequence_of_page_sizes_gives_the_whole(n in 0..60u32, sizes in prop::collection::vec(1..9usize, 1..8)) {
            let snapshot = snapshot(n);
            let CanonicalResult::References(full) = snapshot.result() else { unreachable!() };
            let mut items = Vec::new();
            let mut offset = 0;
            let mut sizes = sizes.into_iter().cycle();
            loop {
                let page = references(&snapshot, offset, sizes.next().unwrap());
                items.extend(page.items);
                match page.next_cursor {
                    Some(cursor) => offset = decode(&cursor, "k").unwrap().offset,
                    None => break,
                }
            }
            prop_assert_eq!(&items, &full.items);
        }
    }
}
