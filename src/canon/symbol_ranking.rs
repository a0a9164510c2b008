//! Ranks symbols of the workspace with the best match first, for the tool `lsp`. The gateway's list is ordered by file.
//!
//! The order: quality of the name's match, then the shorter name, then the name, then the location. Qualities from best to
//! worst: exact; exact ignoring case; prefix; prefix ignoring case; substring ignoring case; any other match of the server. Of a
//! qualified query (`Shop.open`, `shop::open`) the last part counts. Invariant: the order is total, so it is deterministic.

use codeyard_model::lsp_items::NamedSymbol;
use codeyard_model::symbol::WorkspaceSymbol;

/// The best `max` of `symbols`, and whether any were left out.
pub fn rank_symbols(symbols: Vec<WorkspaceSymbol>, query: &str, max: usize) -> (Vec<NamedSymbol>, bool) {
    let query = SymbolNameQuery::of(query);
    let mut all: Vec<(u8, NamedSymbol)> =
        symbols.into_iter().map(|symbol| (query.rank(&symbol.name), named(symbol))).collect();
    let key = |(rank, symbol): &(u8, NamedSymbol)| (*rank, symbol.name.chars().count());
    all.sort_by(|one, other| {
        let by_place = || {
            let place = |symbol: &NamedSymbol| (symbol.location.clone(), symbol.kind, symbol.container_name.clone());
            place(&one.1).cmp(&place(&other.1))
        };
        key(one).cmp(&key(other)).then_with(|| one.1.name.cmp(&other.1.name)).then_with(by_place)
    });
    let is_cut = all.len() > max;
    all.truncate(max);
    (all.into_iter().map(|(_, symbol)| symbol).collect(), is_cut)
}

/// The last part of a qualified name.
pub fn last_part(query: &str) -> &str {
    query.rsplit(['.', ':', '#', '/', '\\']).find(|part| !part.is_empty()).unwrap_or(query).trim()
}

/// The last part of a qualified name, as written and in lower case.
struct SymbolNameQuery {
    name: String,
    folded: String,
}

impl SymbolNameQuery {
    fn of(query: &str) -> Self {
        let last = last_part(query);
        Self { name: last.to_owned(), folded: last.to_lowercase() }
    }

    fn rank(&self, name: &str) -> u8 {
        let folded = name.to_lowercase();
        match () {
            () if name == self.name => 0,
            () if folded == self.folded => 1,
            () if name.starts_with(&self.name) => 2,
            () if folded.starts_with(&self.folded) => 3,
            () if folded.contains(&self.folded) => 4,
            () => 5,
        }
    }
}

fn named(symbol: WorkspaceSymbol) -> NamedSymbol {
    let WorkspaceSymbol { name, kind, location, container_name, .. } = symbol;
    NamedSymbol { name, kind, location, container_name }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::file;
    use codeyard_model::position::{Location, Range};

    fn symbol(name: &str, at: &str) -> WorkspaceSymbol {
        let location = Location { uri: file(at), range: Range::new(1, 0, 1, 1) };
        WorkspaceSymbol { id: String::new(), name: name.into(), kind: 5, location, container_name: None }
    }

    fn names(names: &[&str], query: &str, max: usize) -> (Vec<String>, bool) {
        let (found, is_cut) = rank_symbols(names.iter().map(|name| symbol(name, "/w/a")).collect(), query, max);
        (found.into_iter().map(|symbol| symbol.name).collect(), is_cut)
    }

    #[test]
    fn the_better_match_comes_first() {
        let all = ["oPxEn", "reopen", "Opening", "opener", "OPEN", "open", "openAll"];
        let expected = ["open", "OPEN", "opener", "openAll", "Opening", "reopen", "oPxEn"];
        assert_eq!(names(&all, "open", 99), (expected.map(String::from).to_vec(), false));
        assert_eq!(names(&all, "shop::open", 2), (expected[..2].iter().map(ToString::to_string).collect(), true));
        assert!(!names(&all, "open", all.len()).1, "all of them fit");
        assert_eq!(names(&["a", "Ünder"], "ün", 9).0, ["Ünder", "a"]);
    }

    proptest! {
        #[test]
        fn the_order_is_deterministic(
            parts in prop::collection::vec(("[aAbB]{1,3}", prop::sample::select(vec!["/w/a", "/w/b"])), 0..12),
            turned in 0..12usize,
        ) {
            let all: Vec<WorkspaceSymbol> = parts.iter().map(|(name, at)| symbol(name, at)).collect();
            let mut other: Vec<WorkspaceSymbol> = all.iter().rev().cloned().collect();
            other.rotate_left(turned.min(all.len()));
            prop_assert_eq!(rank_symbols(all, "ab", 99), rank_symbols(other, "ab", 99));
        }
    }
}
