//! Symbols of the workspace with the best match first, for the tool `lsp`. The gateway's list keeps the order of files.
//!
//! The order: how well the name matches what was asked for, then the shorter name, then the name, then where it is. A name matches,
//! from best to worst: exactly; exactly but for case; from its start; from its start but for case; somewhere inside, whatever the
//! case; some other way that the server knows. Of a qualified name (`Shop.open`, `shop::open`) the last part counts.
//! Invariant: the order is total, so nothing is left to chance.

use codeyard_model::lsp_items::NamedSymbol;
use codeyard_model::symbol::WorkspaceSymbol;

/// The best `max` of `symbols`, and whether any were left out.
pub fn ranked(symbols: Vec<WorkspaceSymbol>, query: &str, max: usize) -> (Vec<NamedSymbol>, bool) {
    let asked = Asked::of(query);
    let mut all: Vec<(u8, NamedSymbol)> =
        symbols.into_iter().map(|symbol| (asked.rank(&symbol.name), named(symbol))).collect();
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

/// What is asked for: the last part of a qualified name, as given and without its case.
struct Asked {
    name: String,
    folded: String,
}

impl Asked {
    fn of(query: &str) -> Self {
        let last = query.rsplit(['.', ':', '#', '/', '\\']).find(|part| !part.is_empty()).unwrap_or(query).trim();
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
        let (found, is_cut) = ranked(names.iter().map(|name| symbol(name, "/w/a")).collect(), query, max);
        (found.into_iter().map(|symbol| symbol.name).collect(), is_cut)
    }

    #[test]
    fn the_better_match_comes_first() {
        let all = ["oPxEn", "reopen", "Opening", "opener", "OPEN", "open", "openAll"];
        let expected = ["open", "OPEN", "opener", "openAll", "Opening", "reopen", "oPxEn"];
        assert_eq!(names(&all, "open", 99), (expected.map(String::from).to_vec(), false));
        assert_eq!(names(&all, "shop::open", 2), (expected[..2].iter().map(ToString::to_string).collect(), true));
        assert_eq!(names(&["a", "Ünder"], "ün", 9).0, ["Ünder", "a"]);
    }

    proptest! {
        #[test]
        fn nothing_is_left_to_chance(
            parts in prop::collection::vec(("[aAbB]{1,3}", prop::sample::select(vec!["/w/a", "/w/b"])), 0..12),
            turned in 0..12usize,
        ) {
            let all: Vec<WorkspaceSymbol> = parts.iter().map(|(name, at)| symbol(name, at)).collect();
            let mut other: Vec<WorkspaceSymbol> = all.iter().rev().cloned().collect();
            other.rotate_left(turned.min(all.len()));
            prop_assert_eq!(ranked(all, "ab", 99), ranked(other, "ab", 99));
        }
    }
}
