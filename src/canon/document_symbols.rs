//! Canonical document symbols: nested symbols are flattened. The cap of 200 entries is applied elsewhere.
//!
//! Invariants: ordered by range, name, kind, container (missing last), then the name's range, so the order is total; no
//! nesting depth overflows the stack, neither while walking nor while dropping. The walk's order doesn't matter, because the
//! flat list is sorted as a whole. A container's name is shared while flattening, and its repetitions are checked against the
//! limit before they are made.

use std::rc::Rc;

use crate::limits::MAX_CANONICAL_TEXT_BYTES;
use codeyard_base::digest::stable_id;
use codeyard_model::error::ToolError;
use codeyard_model::position::Range;
use codeyard_model::symbol::{DocumentSymbol, RawDocumentSymbol};
use codeyard_model::uri::CanonicalUri;

use super::order::{MissingLast, sort_dedup};
use super::{Canonical, reasons};

/// The canonical flat list of `raw`. CAP_EXCEEDED for more than `max_raw` distinct symbols, or when the containers' names
/// would take too much memory.
pub fn document_symbols(
    uri: &CanonicalUri,
    raw: Vec<RawDocumentSymbol>,
    max_raw: usize,
) -> Result<Canonical<DocumentSymbol>, ToolError> {
    let mut entries = flatten(raw);
    sort_dedup(&mut entries);
    if entries.len() > max_raw {
        return Err(ToolError::too_many(reasons::RAW_ITEMS, max_raw));
    }
    if entries.iter().map(FlatSymbol::text_bytes).sum::<usize>() > MAX_CANONICAL_TEXT_BYTES {
        return Err(ToolError::too_many(reasons::TEXT_BYTES, MAX_CANONICAL_TEXT_BYTES));
    }
    let items = entries.into_iter().map(|entry| symbol(uri, entry)).collect();
    Ok(Canonical { items, outside: 0 })
}

/// A symbol without its children, fields in sort order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FlatSymbol {
    range: Range,
    name: Rc<str>,
    kind: u32,
    container: MissingLast<Rc<str>>,
    selection_range: Range,
}

impl FlatSymbol {
    fn text_bytes(&self) -> usize {
        self.name.len() + self.container.0.as_ref().map_or(0, |container| container.len())
    }
}

/// All symbols of all depths. Removes each symbol's children before the symbol is dropped, so that drops don't recurse.
fn flatten(raw: Vec<RawDocumentSymbol>) -> Vec<FlatSymbol> {
    let mut entries = Vec::with_capacity(raw.len());
    let mut waiting: Vec<(Option<Rc<str>>, RawDocumentSymbol)> = raw.into_iter().map(|symbol| (None, symbol)).collect();
    while let Some((parent, mut symbol)) = waiting.pop() {
        let name: Rc<str> = symbol.name.into();
        let children = std::mem::take(&mut symbol.children);
        waiting.extend(children.into_iter().map(|child| (Some(name.clone()), child)));
        let container = parent.or_else(|| symbol.container_name.map(Rc::from)).filter(|name| !name.is_empty());
        entries.push(FlatSymbol {
            range: symbol.range,
            name,
            kind: symbol.kind,
            container: MissingLast(container),
            selection_range: symbol.selection_range,
        });
    }
    entries
}

fn symbol(uri: &CanonicalUri, entry: FlatSymbol) -> DocumentSymbol {
    let container = entry.container.0.as_deref();
    let text = [
        uri.as_str(),
        &entry.name,
        &entry.kind.to_string(),
        &entry.range.start.to_id_text(),
        &entry.range.end.to_id_text(),
        &entry.selection_range.start.to_id_text(),
        &entry.selection_range.end.to_id_text(),
        container.unwrap_or(""),
    ]
    .join("|");
    DocumentSymbol {
        id: stable_id(&text),
        name: entry.name.as_ref().into(),
        kind: entry.kind,
        range: entry.range,
        selection_range: entry.selection_range,
        container_name: container.map(String::from),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{file, shuffled_deep, some_range, some_text, symbol_at};
    use codeyard_model::error::ErrorCode;

    fn canonical(raw: Vec<RawDocumentSymbol>) -> Vec<DocumentSymbol> {
        document_symbols(&file("/w/a"), raw, 100_000).unwrap().into_items()
    }

    #[test]
    fn children_are_flattened_and_name_their_parent() {
        let tree = vec![
            symbol_at("C", 3, vec![symbol_at("m", 5, vec![symbol_at("x", 4, vec![])])]),
            symbol_at("f", 1, vec![]),
        ];
        let flat = canonical(tree);
        let names: Vec<_> = flat.iter().map(|s| (s.name.as_str(), s.container_name.as_deref())).collect();
        assert_eq!(names, [("f", None), ("C", None), ("x", Some("m")), ("m", Some("C"))]);
    }

    #[test]
    fn the_identifier_hashes_the_text_of_the_contract() {
        let flat = canonical(vec![symbol_at("C", 3, vec![symbol_at("m", 5, vec![])])]);
        assert_eq!(flat[0].id, stable_id("file:///w/a|C|5|3:0|3:9|3:1|3:2|"));
        assert_eq!(flat[1].id, stable_id("file:///w/a|m|5|5:0|5:9|5:1|5:2|C"));
    }

    #[test]
    fn a_flat_symbol_keeps_the_container_it_names() {
        let named = RawDocumentSymbol { container_name: Some("K".into()), ..symbol_at("m", 1, vec![]) };
        assert_eq!(canonical(vec![named])[0].container_name.as_deref(), Some("K"));
    }

    #[test]
    fn deep_nesting_neither_overflows_the_stack_nor_loses_symbols() {
        let deep = |depth: u32| {
            (0..depth).fold(symbol_at("x", 0, vec![]), |inner, line| symbol_at("x", line + 1, vec![inner]))
        };
        assert_eq!(canonical(vec![deep(50_000)]).len(), 50_001);
        let error = document_symbols(&file("/w/a"), vec![deep(200_000)], 100).unwrap_err();
        assert_eq!(error.code, ErrorCode::CapExceeded);
    }

    #[test]
    fn repetitions_of_a_long_container_are_limited() {
        let children = (0..1_000).map(|line| symbol_at("x", line, vec![])).collect();
        let error =
            document_symbols(&file("/w/a"), vec![symbol_at(&"n".repeat(100_000), 0, children)], 20_000).unwrap_err();
        assert_eq!((error.code, &error.details["reason"]), (ErrorCode::CapExceeded, &"too_much_text".into()));
    }

    #[test]
    fn the_limit_of_all_names_is_exact() {
        let of = |bytes: usize| {
            let children = vec![symbol_at("ab", 1, vec![])];
            // The child repeats the name.
            vec![symbol_at(&"n".repeat((bytes - 2) / 2), 0, children)]
        };
        assert_eq!(document_symbols(&file("/w/a"), of(MAX_CANONICAL_TEXT_BYTES), 9).unwrap().items().len(), 2);
        assert!(document_symbols(&file("/w/a"), of(MAX_CANONICAL_TEXT_BYTES + 2), 9).is_err());
    }

    #[test]
    fn the_cap_counts_distinct_symbols() {
        let five: Vec<_> = (0..5).map(|line| symbol_at("x", line, vec![])).collect();
        let twice = [five.clone(), five.clone()].concat();
        assert_eq!(document_symbols(&file("/w/a"), twice, 5).unwrap().items().len(), 5);
        assert!(document_symbols(&file("/w/a"), five, 4).is_err());
    }

    fn some_leaf() -> impl Strategy<Value = RawDocumentSymbol> {
        (some_text(), 1..3u32, some_range(), some_range(), prop::option::of(some_text())).prop_map(
            |(name, kind, range, selection_range, container_name)| RawDocumentSymbol {
                name,
                kind,
                range,
                selection_range,
                container_name,
                children: vec![],
            },
        )
    }

    fn some_tree() -> impl Strategy<Value = RawDocumentSymbol> {
        some_leaf().prop_recursive(3, 20, 4, |inner| {
            (some_leaf(), prop::collection::vec(inner, 0..4))
                .prop_map(|(symbol, children)| RawDocumentSymbol { children, ..symbol })
        })
    }

    proptest! {
        #[test]
        fn permutation_and_duplication_change_nothing(
            tree in prop::collection::vec(some_tree(), 0..5),
            seed in any::<u64>(),
        ) {
            let once = canonical(tree.clone());
            prop_assert_eq!(&canonical(shuffled_deep(tree, seed)), &once);
            let again = once.iter().map(|s| RawDocumentSymbol {
                name: s.name.clone(), kind: s.kind, range: s.range, selection_range: s.selection_range,
                container_name: s.container_name.clone(), children: vec![],
            });
            prop_assert_eq!(canonical(again.collect()), once);
        }
    }
}
