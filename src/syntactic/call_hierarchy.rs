//! Call hierarchy by name: the functions at a position, the callers of a name, and the callees of a function.
//!
//! An item carries its path and the position of its name, so the server keeps no state between two requests. Invariant: calls are
//! grouped by caller or callee and ordered by position.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_lsp::lsp_types as lsp;
use serde::{Deserialize, Serialize};

use super::conversion::{PositionConverter, lsp_kind};
use super::cursor_context::{CursorContext, cursor_context};
use super::fact_source::SyntacticError;
use super::handlers::HandlerContext;
use super::name_resolution::resolve;
use codeyard_index::ReferenceRole;
use codeyard_index::project::navigator::{FileFacts, SymbolRef};
use codeyard_model::code::SymbolKind;
use codeyard_model::limits::MAX_RAW_ITEMS;

/// Different names that it looks up for the outgoing calls of one function.
const MAX_CALLED_NAMES: usize = 500;

/// What resolution depends on: the word, its qualifier, whether it is a member, and the enclosing symbol.
type CallForm = (String, Option<String>, bool, Option<usize>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ItemData {
    /// The file, relative to the root.
    path: String,
    /// The line, from 1, and the column of the name; `None`: the item is a whole file.
    at: Option<(u32, u32)>,
}

impl HandlerContext<'_> {
    /// `textDocument/prepareCallHierarchy`.
    ///
    /// # Errors
    /// Those of the fact source.
    pub(crate) fn prepare_calls(
        &self,
        at: &lsp::TextDocumentPositionParams,
    ) -> Result<Vec<lsp::CallHierarchyItem>, SyntacticError> {
        let Some(word) = self.word_at(at)? else { return Ok(Vec::new()) };
        let mut found = resolve(self.source, &word.file, &word.cursor)?;
        let may_be_called = |kind| matches!(kind, SymbolKind::Class | SymbolKind::Struct);
        if found.iter().any(|(file, at)| file.facts.symbols[*at].is_callable()) {
            found.retain(|(file, at)| file.facts.symbols[*at].is_callable());
        } else {
            found.retain(|(file, at)| may_be_called(file.facts.symbols[*at].kind));
        }
        found.iter().map(|(file, at)| self.item(file, Some(*at))).collect()
    }

    /// `callHierarchy/incomingCalls`: all calls of this name and its uses in templates, grouped by the enclosing function.
    ///
    /// # Errors
    /// Those of the fact source; the item is from another server.
    pub(crate) fn incoming(
        &self,
        item: &lsp::CallHierarchyItem,
    ) -> Result<Vec<lsp::CallHierarchyIncomingCall>, SyntacticError> {
        let (current, Some(at)) = self.item_symbol(item)? else { return Ok(Vec::new()) };
        let name = current.facts.symbols[at].name.clone();
        let mut calls = Vec::new();
        for file in self.related_files(&current, &name)? {
            let mut callers: BTreeMap<Option<usize>, Vec<lsp::Range>> = BTreeMap::new();
            let converter = PositionConverter::for_names(self.source, &file.path, self.encoding);
            for call in file.facts.references.iter().filter(|one| one.role == ReferenceRole::Call && one.name == name) {
                let within = call.within.map(|within| within as usize);
                callers.entry(file.facts.enclosing_function(within)).or_default().push(converter.reference_range(call));
            }
            for (caller, from_ranges) in callers {
                calls.push(lsp::CallHierarchyIncomingCall { from: self.item(&file, caller)?, from_ranges });
            }
            if calls.len() > MAX_RAW_ITEMS {
                return Ok(calls);
            }
        }
        for template in self.template_uses(&current, &name, MAX_RAW_ITEMS)? {
            if calls.len() > MAX_RAW_ITEMS {
                break;
            }
            let file = FileFacts { path: template.path.into(), language: None, facts: Arc::default() };
            let from = self.item(&file, None)?;
            calls.push(lsp::CallHierarchyIncomingCall { from, from_ranges: template.ranges });
        }
        Ok(calls)
    }

    /// `callHierarchy/outgoingCalls`: the symbols that the names called in a function may refer to.
    ///
    /// # Errors
    /// Those of the fact source; the item is from another server.
    pub(crate) fn outgoing(
        &self,
        item: &lsp::CallHierarchyItem,
    ) -> Result<Vec<lsp::CallHierarchyOutgoingCall>, SyntacticError> {
        let (current, at) = self.item_symbol(item)?;
        let facts = &current.facts;
        let Some(document) = self.source.text(&current.path) else { return Ok(Vec::new()) };
        let converter = PositionConverter::for_names(self.source, &current.path, self.encoding);
        // Calls of the same form resolve to the same symbols, so each form is resolved once.
        let mut forms: BTreeMap<CallForm, (CursorContext, Vec<lsp::Range>)> = BTreeMap::new();
        for call in facts.references.iter().filter(|one| one.role == ReferenceRole::Call) {
            let within = call.within.map(|within| within as usize);
            let is_inside = match at {
                Some(at) => facts.around(within).any(|around| around == at),
                None => facts.enclosing_function(within).is_none(),
            };
            if !is_inside {
                continue;
            }
            let position =
                codeyard_model::position::Position { line: call.line.saturating_sub(1), character: call.column };
            let Some(cursor) = cursor_context(&current, &document, position) else { continue };
            let key = (cursor.word.clone(), cursor.qualifier.clone(), cursor.is_member, cursor.enclosing);
            if forms.len() >= MAX_CALLED_NAMES && !forms.contains_key(&key) {
                continue;
            }
            forms.entry(key).or_insert((cursor, Vec::new())).1.push(converter.reference_range(call));
        }
        let mut callees: BTreeMap<(Arc<str>, usize), (SymbolRef, Vec<lsp::Range>)> = BTreeMap::new();
        for (cursor, ranges) in forms.into_values() {
            for (file, at) in resolve(self.source, &current, &cursor)? {
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
    fn item(&self, file: &FileFacts, at: Option<usize>) -> Result<lsp::CallHierarchyItem, SyntacticError> {
        let uri = self.uri(&file.path)?;
        let symbol = at.map(|at| &file.facts.symbols[at]);
        let data =
            ItemData { path: file.path.to_string(), at: symbol.map(|symbol| (symbol.name_line, symbol.name_column)) };
        let data = serde_json::to_value(data).ok();
        let ranges = symbol.map(|symbol| {
            let converter = PositionConverter::with_text(self.source, &file.path, self.encoding);
            (converter.symbol_range(symbol), converter.name_range(symbol))
        });
        let (range, selection_range) = ranges.unwrap_or_default();
        Ok(lsp::CallHierarchyItem {
            name: match symbol {
                Some(symbol) => symbol.name.clone(),
                None => file.path.rsplit('/').next().unwrap_or(&file.path).to_owned(),
            },
            kind: symbol.map_or(lsp::SymbolKind::FILE, |symbol| lsp_kind(symbol.kind)),
            tags: None,
            detail: at.map(|at| file.facts.qualified_name(at)),
            uri,
            range,
            selection_range,
            data,
        })
    }

    /// The file and the symbol of an item. A function that has moved in the meantime is found by its name.
    fn item_symbol(&self, item: &lsp::CallHierarchyItem) -> Result<(FileFacts, Option<usize>), SyntacticError> {
        let foreign = || SyntacticError::InvalidParams("the call hierarchy item is from another server".into());
        let data = item.data.clone().ok_or_else(foreign)?;
        let data: ItemData = serde_json::from_value(data).map_err(|_| foreign())?;
        let missing = || SyntacticError::Failed("the function no longer exists".into());
        let file = self.source.file(&data.path)?.ok_or_else(missing)?;
        let Some(position) = data.at else { return Ok((file, None)) };
        let symbols = &file.facts.symbols;
        let is_at_position = |at: &usize| (symbols[*at].name_line, symbols[*at].name_column) == position;
        let has_name = |at: &usize| symbols[*at].name == item.name;
        let at = (0..symbols.len())
            .find(|at| is_at_position(at) && has_name(at))
            .or_else(|| (0..symbols.len()).find(has_name));
        Ok((file.clone(), Some(at.ok_or_else(missing)?)))
    }
}
