//! Symbols of documents, nested or flat, and of workspaces, with or without ranges.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ConvertError;
use super::list;
use super::object::{Object, Ordered, Text, Uris};
use codeyard_model::position::Range;
use codeyard_model::symbol::{RawDocumentSymbol, RawWorkspaceSymbol};
use codeyard_model::uri::percent_decode;

/// A `DocumentSymbol` (it has a range) or a `SymbolInformation` (it has a location).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnySymbol<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    kind: u32,
    range: Option<Ordered>,
    selection_range: Option<Ordered>,
    #[serde(borrow)]
    container_name: Option<Text<'a>>,
    #[serde(borrow)]
    location: Option<Object<LocationFields<'a>>>,
    #[serde(borrow)]
    children: Option<Vec<Object<AnySymbol<'a>>>>,
}

#[derive(Debug, Deserialize)]
struct LocationFields<'a> {
    #[serde(borrow)]
    uri: Text<'a>,
    range: Option<Ordered>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceSymbolFields<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    kind: u32,
    #[serde(borrow)]
    container_name: Option<Text<'a>>,
    #[serde(borrow)]
    location: Object<LocationFields<'a>>,
}

/// The answer to `textDocument/documentSymbol` about the document `asked`. Flat symbols of other documents are dropped.
/// Nesting is bounded by the JSON reader's own depth of 128, which is 63 levels of symbols; deeper is malformed.
pub fn document_symbols(raw: &RawValue, asked: &str) -> Result<Vec<RawDocumentSymbol>, ConvertError> {
    list::read("document symbols", raw, false, |Object(entry): Object<AnySymbol<'_>>| match &entry.location {
        Some(location) if entry.range.is_none() && !same_document(&location.0.uri.0, asked) => Ok(None),
        _ => document_symbol(entry).map(Some),
    })
}

/// The answer to `workspace/symbol`. A symbol without a range gets the start of its file.
pub fn workspace_symbols(raw: &RawValue) -> Result<Vec<RawWorkspaceSymbol>, ConvertError> {
    let mut uris = Uris::default();
    list::read("workspace symbols", raw, false, |Object(entry): Object<WorkspaceSymbolFields<'_>>| {
        let Object(location) = entry.location;
        Ok(Some(RawWorkspaceSymbol {
            name: entry.name.0.into_owned(),
            kind: entry.kind,
            uri: uris.share(&location.uri.0),
            range: location.range.map_or(Range::new(0, 0, 0, 0), |range| range.0),
            container_name: entry.container_name.and_then(Text::into_non_empty),
        }))
    })
}

/// As deep as what was decoded, so bounded.
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
        container_name: entry.container_name.and_then(Text::into_non_empty),
        children: children.into_iter().map(|Object(child)| document_symbol(child)).collect::<Result<_, _>>()?,
    })
}

/// Whether two URIs spell the same document; servers escape more or less than we do.
fn same_document(one: &str, other: &str) -> bool {
    one == other || percent_decode(one.as_bytes()) == percent_decode(other.as_bytes())
}
