//! A document's symbols as a tree, for the tool `lsp`. `document_symbols` makes the flat list.
//!
//! Invariants: siblings are ordered by range, name, kind, then the name's range; siblings equal in all of these are merged with
//! all their children. An entry follows its parent. No nesting depth overflows the stack.

use crate::limits::MAX_CANONICAL_TEXT_BYTES;
use codeyard_model::error::ToolError;
use codeyard_model::lsp_items::OutlineEntry;
use codeyard_model::position::Range;
use codeyard_model::symbol::RawDocumentSymbol;

use super::reasons;

/// The canonical tree of `raw`, parents before children. CAP_EXCEEDED for more than `max_raw` symbols, or if all names together
/// are too long.
pub fn outline(raw: Vec<RawDocumentSymbol>, max_raw: usize) -> Result<Vec<OutlineEntry>, ToolError> {
    let mut entries: Vec<OutlineEntry> = Vec::new();
    let mut text_bytes = 0;
    // Symbols that are not processed yet, the next one last.
    let mut remaining: Vec<(u32, RawDocumentSymbol)> = level(0, raw);
    while let Some((depth, mut symbol)) = remaining.pop() {
        text_bytes += symbol.name.len();
        if entries.len() >= max_raw {
            return Err(ToolError::too_many(reasons::RAW_ITEMS, max_raw));
        }
        if text_bytes > MAX_CANONICAL_TEXT_BYTES {
            return Err(ToolError::too_many(reasons::TEXT_BYTES, MAX_CANONICAL_TEXT_BYTES));
        }
        remaining.extend(level(depth.saturating_add(1), std::mem::take(&mut symbol.children)));
        entries.push(OutlineEntry {
            depth,
            name: symbol.name,
            kind: symbol.kind,
            range: symbol.range,
            selection_range: symbol.selection_range,
        });
    }
    Ok(entries)
}

/// Siblings in reverse order, equal ones merged.
fn level(depth: u32, mut siblings: Vec<RawDocumentSymbol>) -> Vec<(u32, RawDocumentSymbol)> {
    siblings.sort_unstable_by(|one, other| key(other).cmp(&key(one)));
    let mut kept: Vec<(u32, RawDocumentSymbol)> = Vec::with_capacity(siblings.len());
    for mut symbol in siblings {
        match kept.last_mut() {
            Some((_, last)) if key(last) == key(&symbol) => last.children.append(&mut symbol.children),
            _ => kept.push((depth, symbol)),
        }
    }
    kept
}

fn key(symbol: &RawDocumentSymbol) -> (Range, &str, u32, Range) {
    (symbol.range, &symbol.name, symbol.kind, symbol.selection_range)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{shuffled_deep, some_range, some_text, symbol_at};

    fn names(raw: Vec<RawDocumentSymbol>) -> Vec<(u32, String)> {
        outline(raw, 1_000).unwrap().into_iter().map(|entry| (entry.depth, entry.name)).collect()
    }

    #[test]
    fn every_level_is_sorted_and_children_follow_their_parents() {
        let tree = vec![
            symbol_at("c", 9, vec![]),
            symbol_at("a", 1, vec![symbol_at("y", 3, vec![]), symbol_at("x", 2, vec![symbol_at("z", 2, vec![])])]),
        ];
        let expected = [(0, "a"), (1, "x"), (2, "z"), (1, "y"), (0, "c")];
        assert_eq!(names(tree), expected.map(|(depth, name)| (depth, name.to_owned())));
    }

    #[test]
    fn equal_siblings_are_merged_with_all_children() {
        let tree = vec![
            symbol_at("a", 1, vec![symbol_at("x", 2, vec![])]),
            symbol_at("a", 1, vec![symbol_at("y", 3, vec![]), symbol_at("x", 2, vec![])]),
        ];
        let expected = [(0, "a"), (1, "x"), (1, "y")];
        assert_eq!(names(tree), expected.map(|(depth, name)| (depth, name.to_owned())));
    }

    #[test]
    fn caps_hold_and_deep_nesting_does_not_overflow() {
        let deep = |depth: u32| {
            (0..depth).fold(symbol_at("x", 0, vec![]), |inner, line| symbol_at("x", line + 1, vec![inner]))
        };
        assert_eq!(outline(vec![deep(50_000)], 100_000).unwrap().len(), 50_001);
        let error = outline(vec![symbol_at("a", 1, vec![symbol_at("b", 2, vec![])])], 1).unwrap_err();
        assert_eq!(error.details["reason"], reasons::RAW_ITEMS);
    }

    #[test]
    fn the_limit_of_all_names_is_exact() {
        let of = |bytes: usize| {
            let long = |line: u32, length: usize| symbol_at(&"n".repeat(length), line, vec![]);
            vec![long(1, 1), long(2, bytes - 1)]
        };
        assert_eq!(outline(of(MAX_CANONICAL_TEXT_BYTES), 9).unwrap().len(), 2);
        let error = outline(of(MAX_CANONICAL_TEXT_BYTES + 1), 9).unwrap_err();
        assert_eq!(error.details["reason"], reasons::TEXT_BYTES);
        assert!(outline(of(MAX_CANONICAL_TEXT_BYTES + 2), 9).is_err());
    }

    fn some_tree() -> impl Strategy<Value = RawDocumentSymbol> {
        let leaf =
            (some_text(), 1..3u32, some_range(), some_range()).prop_map(|(name, kind, range, selection_range)| {
                RawDocumentSymbol { name, kind, range, selection_range, container_name: None, children: vec![] }
            });
        leaf.prop_recursive(3, 20, 4, |inner| {
            (inner.clone(), prop::collection::vec(inner, 0..4))
                .prop_map(|(symbol, children)| RawDocumentSymbol { children, ..symbol })
        })
    }

    proptest! {
        #[test]
        fn permutation_and_duplication_change_nothing(raw in prop::collection::vec(some_tree(), 0..6), seed in any::<u64>()) {
            let once = outline(raw.clone(), 10_000).unwrap();
            prop_assert_eq!(&outline(shuffled_deep(raw.clone(), seed), 10_000).unwrap(), &once);
            let twice = [raw.clone(), shuffled_deep(raw, seed)].concat();
            prop_assert_eq!(&outline(twice, 10_000).unwrap(), &once);
        }
    }
}
