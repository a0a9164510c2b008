//! Call hierarchy by name: the functions at a position, who calls what is called so, and what a function calls.
//!
//! An item carries its path and the place of its name, so that nothing has to be remembered between two requests. Invariant: calls are
//! grouped by caller or callee, ordered by place.

use std::collections::BTreeMap;

use async_lsp::lsp_types as lsp;
use serde::{Deserialize, Serialize};

use super::answers::Desk;
use super::library::Trouble;
use super::present::{Presenter, kind};
use super::resolve::resolve;
use super::spot::{Spot, is_callable, outwards};
use crate::limits::MAX_CALLED_NAMES;
use codeyard_index::project::navigate::{Found, Known};
use codeyard_index::{Facts, Role};
use codeyard_model::code::SymbolKind;
use codeyard_model::limits::MAX_RAW_ITEMS;

/// How a call is written: the word, what stands before it, whether it is a member, and what it stands in.
type Written = (String, Option<String>, bool, Option<usize>);

/// What an item says of itself to us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Token {
    path: String,
    /// The line of its name, from 1, and the column; nothing for a whole file.
    at: Option<(u32, u32)>,
}

impl Desk<'_> {
    /// `textDocument/prepareCallHierarchy`.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn prepare_calls(
        &self,
        at: &lsp::TextDocumentPositionParams,
    ) -> Result<Vec<lsp::CallHierarchyItem>, Trouble> {
        let Some(asked) = self.asked(at)? else { return Ok(Vec::new()) };
        let mut found = resolve(self.library, &asked.known, &asked.spot)?;
        let may_be_called = |kind| matches!(kind, SymbolKind::Class | SymbolKind::Struct);
        if found.iter().any(|(file, at)| is_callable(&file.facts.symbols[*at])) {
            found.retain(|(file, at)| is_callable(&file.facts.symbols[*at]));
        } else {
            found.retain(|(file, at)| may_be_called(file.facts.symbols[*at].kind));
        }
        found.iter().map(|(file, at)| self.item(file, Some(*at))).collect()
    }

    /// `callHierarchy/incomingCalls`: the calls of whatever is called so, by the functions that they stand in.
    ///
    /// # Errors
    /// The library's, and an item that isn't one of ours.
    pub(crate) fn incoming(
        &self,
        item: &lsp::CallHierarchyItem,
    ) -> Result<Vec<lsp::CallHierarchyIncomingCall>, Trouble> {
        let (known, Some(at)) = self.held(item)? else { return Ok(Vec::new()) };
        let name = known.facts.symbols[at].name.clone();
        let mut calls = Vec::new();
        for file in self.related(&known, &name)? {
            let mut callers: BTreeMap<Option<usize>, Vec<lsp::Range>> = BTreeMap::new();
            let presenter = Presenter::of_names(self.library, &file.path, self.encoding);
            for call in file.facts.references.iter().filter(|one| one.role == Role::Call && one.name == name) {
                let within = call.within.map(|within| within as usize);
                callers.entry(function_around(&file.facts, within)).or_default().push(presenter.reference(call));
            }
            for (caller, from_ranges) in callers {
                calls.push(lsp::CallHierarchyIncomingCall { from: self.item(&file, caller)?, from_ranges });
            }
            if calls.len() > MAX_RAW_ITEMS {
                break;
            }
        }
        Ok(calls)
    }

    /// `callHierarchy/outgoingCalls`: what the names that a function calls may mean.
    ///
    /// # Errors
    /// The library's, and an item that isn't one of ours.
    pub(crate) fn outgoing(
        &self,
        item: &lsp::CallHierarchyItem,
    ) -> Result<Vec<lsp::CallHierarchyOutgoingCall>, Trouble> {
        let (known, at) = self.held(item)?;
        let facts = &known.facts;
        let Some(document) = self.library.text(&known.path) else { return Ok(Vec::new()) };
        let presenter = Presenter::of_names(self.library, &known.path, self.encoding);
        // Calls that are written alike mean the same; each is looked up once.
        let mut asked: BTreeMap<Written, (Spot, Vec<lsp::Range>)> = BTreeMap::new();
        for call in facts.references.iter().filter(|one| one.role == Role::Call) {
            let within = call.within.map(|within| within as usize);
            let is_inside = match at {
                Some(at) => outwards(facts, within).any(|around| around == at),
                None => function_around(facts, within).is_none(),
            };
            if !is_inside {
                continue;
            }
            let position =
                codeyard_model::position::Position { line: call.line.saturating_sub(1), character: call.column };
            let Some(spot) = super::spot::spot(&known, &document, position) else { continue };
            let key = (spot.word.clone(), spot.owner.clone(), spot.is_member, spot.within);
            if asked.len() >= MAX_CALLED_NAMES && !asked.contains_key(&key) {
                continue;
            }
            asked.entry(key).or_insert((spot, Vec::new())).1.push(presenter.reference(call));
        }
        let mut callees: BTreeMap<(std::sync::Arc<str>, usize), (Found, Vec<lsp::Range>)> = BTreeMap::new();
        for (spot, ranges) in asked.into_values() {
            for (file, at) in resolve(self.library, &known, &spot)? {
                let entry = callees.entry((file.path.clone(), at)).or_insert(((file, at), Vec::new()));
                entry.1.extend(ranges.iter().copied());
            }
        }
        let called = callees.into_values().map(|((file, at), mut from_ranges)| {
            from_ranges.sort_by_key(|range| (range.start, range.end));
            Ok(lsp::CallHierarchyOutgoingCall { to: self.item(&file, Some(at))?, from_ranges })
        });
        called.collect()
    }

    /// The item of a symbol, or of a whole file.
    fn item(&self, known: &Known, at: Option<usize>) -> Result<lsp::CallHierarchyItem, Trouble> {
        let uri = self.uri(&known.path)?;
        let symbol = at.map(|at| &known.facts.symbols[at]);
        let token =
            Token { path: known.path.to_string(), at: symbol.map(|symbol| (symbol.name_line, symbol.name_column)) };
        let data = serde_json::to_value(token).ok();
        let presenter = Presenter::new(self.library, &known.path, self.encoding);
        let start = lsp::Range::default();
        Ok(lsp::CallHierarchyItem {
            name: match symbol {
                Some(symbol) => symbol.name.clone(),
                None => known.path.rsplit('/').next().unwrap_or(&known.path).to_owned(),
            },
            kind: symbol.map_or(lsp::SymbolKind::FILE, |symbol| kind(symbol.kind)),
            tags: None,
            detail: at.map(|at| known.facts.qualified_name(at)),
            uri,
            range: symbol.map_or(start, |symbol| presenter.whole(symbol)),
            selection_range: symbol.map_or(start, |symbol| presenter.name(symbol)),
            data,
        })
    }

    /// What an item stands for. A function that has moved since is found again by its name.
    fn held(&self, item: &lsp::CallHierarchyItem) -> Result<(Known, Option<usize>), Trouble> {
        let foreign = || Trouble::Unasked("the item isn't one of this server's".into());
        let data = item.data.clone().ok_or_else(foreign)?;
        let token: Token = serde_json::from_value(data).map_err(|_| foreign())?;
        let gone = || Trouble::Failed("the function isn't there any more".into());
        let known = self.library.file(&token.path)?.ok_or_else(gone)?;
        let Some(place) = token.at else { return Ok((known, None)) };
        let symbols = &known.facts.symbols;
        let is_there = |at: &usize| (symbols[*at].name_line, symbols[*at].name_column) == place;
        let named = |at: &usize| symbols[*at].name == item.name;
        let at = (0..symbols.len()).find(|at| is_there(at) && named(at)).or_else(|| (0..symbols.len()).find(named));
        Ok((known.clone(), Some(at.ok_or_else(gone)?)))
    }
}

/// The innermost function around.
fn function_around(facts: &Facts, within: Option<usize>) -> Option<usize> {
    outwards(facts, within).find(|at| is_callable(&facts.symbols[*at]))
}
