//! Symbols of documents, nested or flat, and symbols of workspaces, with or without ranges.

use std::cell::Cell;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::ConvertError;
use super::fields::{ObjectOnly, OrderedRange, TextField, UriInterner};
use super::list;
use codeyard_model::position::Range;
use codeyard_model::symbol::{RawDocumentSymbol, RawWorkspaceSymbol};
use codeyard_model::uri::percent_decode;

/// A `DocumentSymbol` (it has a range) or a `SymbolInformation` (it has a location).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnySymbol<'a> {
    #[serde(borrow)]
    name: TextField<'a>,
    kind: u32,
    range: Option<OrderedRange>,
    selection_range: Option<OrderedRange>,
    #[serde(borrow)]
    container_name: Option<TextField<'a>>,
    #[serde(borrow)]
    location: Option<ObjectOnly<LocationFields<'a>>>,
    #[serde(borrow)]
    children: Option<Vec<ObjectOnly<AnySymbol<'a>>>>,
}

#[derive(Debug, Deserialize)]
struct LocationFields<'a> {
    #[serde(borrow)]
    uri: TextField<'a>,
    range: Option<OrderedRange>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceSymbolFields<'a> {
    #[serde(borrow)]
    name: TextField<'a>,
    kind: u32,
    #[serde(borrow)]
    container_name: Option<TextField<'a>>,
    #[serde(borrow)]
    location: ObjectOnly<LocationFields<'a>>,
}

/// Decodes the answer to `textDocument/documentSymbol` on `document_uri`. Flat symbols of other documents are
/// dropped; an answer of nothing else is malformed, because "no symbols" would be wrong. The JSON reader limits the depth to 128, which is 63 levels of symbols; deeper answers are malformed.
pub fn document_symbols(raw: &RawValue, document_uri: &str) -> Result<Vec<RawDocumentSymbol>, ConvertError> {
    let what = "document symbols";
    let is_elsewhere = Cell::new(false);
    let symbols = list::read(what, raw, false, |ObjectOnly(entry): ObjectOnly<AnySymbol<'_>>| match &entry.location {
        Some(location) if entry.range.is_none() && !same_document(&location.0.uri.0, document_uri) => {
            is_elsewhere.set(true);
            Ok(None)
        }
        _ => document_symbol(entry).map(Some),
    })?;
    match symbols.is_empty() && is_elsewhere.get() {
        true => Err(ConvertError::Malformed { what, line: 1, column: 1 }),
        false => Ok(symbols),
    }
}

/// Decodes the answer to `workspace/symbol`. A symbol without a range gets the start of its file.
pub fn workspace_symbols(raw: &RawValue) -> Result<Vec<RawWorkspaceSymbol>, ConvertError> {
    let mut uris = UriInterner::default();
    list::read("workspace symbols", raw, false, |ObjectOnly(entry): ObjectOnly<WorkspaceSymbolFields<'_>>| {
        let ObjectOnly(location) = entry.location;
        Ok(Some(RawWorkspaceSymbol {
            name: entry.name.0.into_owned(),
            kind: entry.kind,
            uri: uris.intern(&location.uri.0),
            range: location.range.map_or(Range::new(0, 0, 0, 0), |range| range.0),
            container_name: entry.container_name.and_then(TextField::into_non_empty),
        }))
    })
}

/// The recursion is as deep as the decoded tree, which is bounded.
fn document_symbol(entry: AnySymbol<'_>) -> Result<RawDocumentSymbol, &'static str> {
    let flat = entry.location.and_then(|location| location.0.range);
    let (range, selection_range) = match (entry.range, entry.selection_range, flat) {
        (Some(range), Some(selection), _) => (range.0, selection.0),
        (None, _, Some(range)) => (range.0, range.0),
        _ => return Err("neither a nested nor a flat symbol"),
    };
    let children = entry.children.unwrap_or_default();
    Ok(RawDocumentSymbol {
        name: entry.name.0.into_owned(),
        kind: entry.kind,
        range,
        selection_range,
        container_name: entry.container_name.and_then(TextField::into_non_empty),
        children: children.into_iter().map(|ObjectOnly(child)| document_symbol(child)).collect::<Result<_, _>>()?,
    })
}

/// Whether two URIs identify the same document. Servers escape more or fewer characters than we do.
fn same_document(one: &str, other: &str) -> bool {
    one == other || percent_decode(one.as_bytes()) == percent_decode(other.as_bytes())
}
