//! Canonical workspace symbols.
//!
//! Invariant: ordered by URI, range, name, kind, container (missing last); an empty container counts as missing. The
//! identifier hashes `uri|name|kind|start|end|container`.

use codeyard_base::digest::stable_id;
use codeyard_model::error::ToolError;
use codeyard_model::position::{Location, Range};
use codeyard_model::symbol::{RawWorkspaceSymbol, WorkspaceSymbol};
use codeyard_model::uri::CanonicalUri;

use super::order::{MissingLast, non_empty};
use super::uri_admission::admit_entries;
use super::{Canonical, UriGate};

/// The canonical list of `raw`. CAP_EXCEEDED for more than `max_raw` distinct raw entries or `max_total` canonical ones.
pub fn workspace_symbols(
    raw: Vec<RawWorkspaceSymbol>,
    gate: &mut dyn UriGate,
    max_raw: usize,
    max_total: usize,
) -> Result<Canonical<WorkspaceSymbol>, ToolError> {
    let (entries, outside) = admit_entries(raw.into_iter().map(entry), gate, max_raw, max_total)?;
    Ok(Canonical { items: entries.into_iter().map(|(uri, entry)| symbol(uri, entry)).collect(), outside })
}

/// A symbol without its URI, fields in sort order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SymbolEntry {
    range: Range,
    name: String,
    kind: u32,
    container: MissingLast<String>,
}

fn entry(raw: RawWorkspaceSymbol) -> (std::sync::Arc<str>, SymbolEntry) {
    let container = non_empty(raw.container_name);
    (raw.uri, SymbolEntry { range: raw.range, name: raw.name, kind: raw.kind, container })
}

fn symbol(uri: CanonicalUri, entry: SymbolEntry) -> WorkspaceSymbol {
    let container_name = entry.container.0;
    let text = [
        uri.as_str(),
        &entry.name,
        &entry.kind.to_string(),
        &entry.range.start.to_id_text(),
        &entry.range.end.to_id_text(),
        container_name.as_deref().unwrap_or(""),
    ]
    .join("|");
    let location = Location { uri, range: entry.range };
    WorkspaceSymbol { id: stable_id(&text), name: entry.name, kind: entry.kind, location, container_name }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{FakeGate, shuffled, some_range, some_text, some_uri};

    fn canonical(raw: Vec<RawWorkspaceSymbol>) -> Canonical<WorkspaceSymbol> {
        workspace_symbols(raw, &mut FakeGate::default(), 1_000, 1_000).unwrap()
    }

    fn raw(name: &str, kind: u32, container: Option<&str>) -> RawWorkspaceSymbol {
        RawWorkspaceSymbol {
            name: name.into(),
            kind,
            uri: "file:///w/a".into(),
            range: Range::new(1, 2, 3, 4),
            container_name: container.map(String::from),
        }
    }

    #[test]
    fn the_identifier_hashes_the_text_of_the_contract() {
        let list = canonical(vec![raw("f", 12, Some("C")), raw("g", 12, None)]);
        assert_eq!(list.items()[0].id, stable_id("file:///w/a|f|12|1:2|3:4|C"));
        assert_eq!(list.items()[1].id, stable_id("file:///w/a|g|12|1:2|3:4|"));
    }

    #[test]
    fn name_kind_container_break_ties_and_missing_comes_last() {
        let list = canonical(vec![raw("b", 1, None), raw("a", 2, None), raw("a", 1, None), raw("a", 1, Some("Z"))]);
        let keys: Vec<_> =
            list.items().iter().map(|s| (s.name.as_str(), s.kind, s.container_name.as_deref())).collect();
        assert_eq!(keys, [("a", 1, Some("Z")), ("a", 1, None), ("a", 2, None), ("b", 1, None)]);
    }

    #[test]
    fn an_empty_container_counts_as_missing() {
        assert_eq!(canonical(vec![raw("a", 1, Some("")), raw("a", 1, None)]).items().len(), 1);
    }

    proptest! {
        #[test]
        fn permutation_and_duplication_change_nothing(
            parts in prop::collection::vec(
                (some_text(), 1..3u32, some_uri(), some_range(), prop::option::of(some_text())), 0..24),
            seed in any::<u64>(),
        ) {
            let raw: Vec<RawWorkspaceSymbol> = parts
                .into_iter()
                .map(|(name, kind, uri, range, container_name)| RawWorkspaceSymbol { name, kind, uri, range, container_name })
                .collect();
            let once = canonical(raw.clone());
            prop_assert_eq!(&canonical(shuffled(raw, seed)), &once);
            let again = once.items().iter().map(|s| RawWorkspaceSymbol {
                name: s.name.clone(), kind: s.kind, uri: s.location.uri.text(), range: s.location.range,
                container_name: s.container_name.clone(),
            });
            let twice = canonical(again.collect());
            prop_assert_eq!(twice.items(), once.items());
        }
    }
}
