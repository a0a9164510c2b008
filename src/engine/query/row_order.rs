//! The order of the rows of a result, by which its first page is the useful one (`docs/internals/reference/contract-agent.md#results`).
//!
//! Locations and calls of the tool `lsp`: declarations, then the file of the query, then its folder, then everything else. Everything else
//! keeps the order in which `canon` lists it. Invariants: the order depends only on the entries, the query and the declarations; entries of
//! one group keep their canonical order.

use std::collections::HashSet;

use codeyard_model::lsp_items::LspItems;
use codeyard_model::position::{Location, Position};
use codeyard_model::query::{GatedQuery, Query};
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::CanonicalResult;

/// Puts the rows of the result of `query` into order. `declared` is where its symbol is declared, if that is known.
pub(crate) fn apply(result: &mut CanonicalResult, query: &GatedQuery, declared: &[Location]) {
    if let (CanonicalResult::Lsp(result), Query::Lsp(query)) = (result, query) {
        UsefulOrder::new(query.subject.uri(), declared).sort(&mut result.found);
    }
}

/// What the order depends on besides the entries.
struct UsefulOrder<'a> {
    declared: HashSet<(&'a CanonicalUri, Position)>,
    document: Option<&'a CanonicalUri>,
}

impl<'a> UsefulOrder<'a> {
    /// The order for a query about `document` whose symbol has these declarations.
    fn new(document: Option<&'a CanonicalUri>, declared: &'a [Location]) -> Self {
        let declared = declared.iter().map(|place| (&place.uri, place.range.start)).collect();
        Self { declared, document }
    }

    /// Sorts the entries. Lists of symbols and functions keep their order.
    fn sort(&self, found: &mut LspItems) {
        match found {
            LspItems::Locations(list) => list.sort_by_cached_key(|place| self.group(&place.uri, place.range.start)),
            LspItems::Incoming(list) => {
                list.sort_by_cached_key(|call| self.group(&call.from.uri, call.from.selection_range.start));
            }
            LspItems::Outgoing(list) => {
                list.sort_by_cached_key(|call| self.group(&call.to.uri, call.to.selection_range.start));
            }
            LspItems::Hover(_) | LspItems::Outline(_) | LspItems::Symbols(_) | LspItems::CallItems(_) => {}
        }
    }

    fn group(&self, uri: &CanonicalUri, start: Position) -> u8 {
        if self.declared.contains(&(uri, start)) {
            return 0;
        }
        match self.document {
            Some(document) if document == uri => 1,
            Some(document) if folder(document) == folder(uri) => 2,
            _ => 3,
        }
    }
}

fn folder(uri: &CanonicalUri) -> &str {
    uri.as_str().rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::lsp_items::Place;
    use codeyard_model::position::Range;

    #[test]
    fn declarations_then_the_file_then_its_folder_then_the_rest() {
        let uri = |path: &str| CanonicalUri::of_gated_path(path.as_ref());
        let place = |path: &str, line| Location { uri: uri(path), range: Range::new(line, 4, line, 5) };
        let all =
            [("/w/a/x", 1), ("/w/b/c/x", 2), ("/w/b/m", 3), ("/w/b/q", 4), ("/w/b/q", 9), ("/w/z", 5), ("/w/z", 6)];
        let list = all.map(|(path, line)| Place::from(place(path, line))).to_vec();
        let sorted = |declared: &[Location]| {
            let mut found = LspItems::Locations(list.clone());
            UsefulOrder::new(Some(&uri("/w/b/q")), declared).sort(&mut found);
            let LspItems::Locations(found) = found else { unreachable!() };
            found.iter().map(|place| place.range.start.line).collect::<Vec<_>>()
        };
        assert_eq!(sorted(&[]), [4, 9, 3, 1, 2, 5, 6]);
        assert_eq!(sorted(&[place("/w/z", 6), place("/w/b/q", 9)]), [9, 6, 4, 3, 1, 2, 5]);
    }
}
