//! Canonical call hierarchies for the tool `lsp`: the functions of all servers, and the merged callers or callees of all
//! functions.
//!
//! Invariant: ordered by URI, range, the name's range, name, kind; no duplicates; each function is listed once with the sorted
//! ranges of all its calls; no entry is outside the allowed roots.

use std::sync::Arc;

use codeyard_model::error::ToolError;
use codeyard_model::lsp_items::CallItem;
use codeyard_model::position::Range;
use codeyard_model::uri::CanonicalUri;

use super::order::sort_dedup;
use super::uri_admission::admit_entries;
use super::{Canonical, UriGate};

/// A language server's call hierarchy item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCallItem {
    /// Its file's URI, untrusted.
    pub uri: Arc<str>,
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    pub range: Range,
    pub selection_range: Range,
}

/// A function without its file, fields in sort order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CallEntry {
    range: Range,
    selection_range: Range,
    name: String,
    kind: u32,
}

/// The canonical list of functions. CAP_EXCEEDED for more than `max` distinct ones.
pub fn call_items(raw: Vec<RawCallItem>, gate: &mut dyn UriGate, max: usize) -> Result<Canonical<CallItem>, ToolError> {
    let (entries, outside) = admit_entries(raw.into_iter().map(entry), gate, max, max)?;
    Ok(Canonical { items: entries.into_iter().map(|(uri, entry)| item(uri, entry)).collect(), outside })
}

/// The canonical list of callers or callees with the ranges of the calls. CAP_EXCEEDED for more than `max` distinct ones.
pub fn calls(
    raw: Vec<(RawCallItem, Vec<Range>)>,
    gate: &mut dyn UriGate,
    max: usize,
) -> Result<Canonical<(CallItem, Vec<Range>)>, ToolError> {
    let raw = raw.into_iter().map(|(function, mut ranges)| {
        sort_dedup(&mut ranges);
        let (uri, function) = entry(function);
        (uri, (function, ranges))
    });
    let (entries, outside) = admit_entries(raw, gate, max, max)?;
    let mut items: Vec<(CallItem, Vec<Range>)> = Vec::with_capacity(entries.len());
    for (uri, (function, mut ranges)) in entries {
        let called = item(uri, function);
        match items.last_mut() {
            Some((last, all)) if *last == called => {
                all.append(&mut ranges);
                sort_dedup(all);
            }
            _ => items.push((called, ranges)),
        }
    }
    Ok(Canonical { items, outside })
}

fn entry(raw: RawCallItem) -> (Arc<str>, CallEntry) {
    let RawCallItem { uri, name, kind, range, selection_range } = raw;
    (uri, CallEntry { range, selection_range, name, kind })
}

fn item(uri: CanonicalUri, entry: CallEntry) -> CallItem {
    let CallEntry { range, selection_range, name, kind } = entry;
    CallItem { name, kind, uri, range, selection_range }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{FakeGate, shuffled, some_range, some_uri};

    fn raw(uri: &str, line: u32) -> RawCallItem {
        let range = Range::new(line, 0, line, 9);
        RawCallItem { uri: uri.into(), name: "f".into(), kind: 12, range, selection_range: range }
    }

    fn place(line: u32) -> Range {
        Range::new(line, 4, line, 5)
    }

    #[test]
    fn a_caller_is_listed_once_with_all_its_calls() {
        let all = vec![
            (raw("file:///w/b", 1), vec![place(9), place(3)]),
            (raw("file:///w/a", 7), vec![place(8)]),
            (raw("file:///w/%62", 1), vec![place(3), place(2)]),
            (raw("file:///x/out", 1), vec![place(1)]),
        ];
        let found = calls(all, &mut FakeGate::default(), 100).unwrap();
        let listed: Vec<_> =
            found.items().iter().map(|(item, ranges)| (item.uri.to_string(), ranges.clone())).collect();
        let expected = [
            ("file:///w/a".to_owned(), vec![place(8)]),
            ("file:///w/b".to_owned(), vec![place(2), place(3), place(9)]),
        ];
        assert_eq!((listed.as_slice(), found.outside()), (expected.as_slice(), 1));
    }

    #[test]
    fn functions_are_sorted_and_listed_once() {
        let all = vec![raw("file:///w/b", 1), raw("file:///w/a", 2), raw("file:///w/a", 1), raw("file:///w/b", 1)];
        let found = call_items(all, &mut FakeGate::default(), 100).unwrap();
        let lines: Vec<u32> = found.items().iter().map(|item| item.range.start.line).collect();
        assert_eq!(lines, [1, 2, 1]);
        assert!(call_items(vec![raw("file:///w/a", 1), raw("file:///w/a", 2)], &mut FakeGate::default(), 1).is_err());
    }

    proptest! {
        #[test]
        fn permutation_and_duplication_change_nothing(
            parts in prop::collection::vec((some_uri(), some_range(), prop::collection::vec(some_range(), 0..4)), 0..16),
            seed in any::<u64>(),
        ) {
            let raw: Vec<(RawCallItem, Vec<Range>)> = parts.into_iter().map(|(uri, range, ranges)| {
                (RawCallItem { uri, name: "f".into(), kind: 12, range, selection_range: range }, ranges)
            }).collect();
            let canonical = |raw| calls(raw, &mut FakeGate::default(), 1_000).unwrap();
            let once = canonical(raw.clone());
            let other = shuffled(raw.iter().cloned().map(|(item, ranges)| (item, shuffled(ranges, seed))).collect(), seed);
            prop_assert_eq!(&canonical([raw, other].concat()), &once);
        }
    }
}
