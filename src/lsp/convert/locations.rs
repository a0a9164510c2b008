//! Definitions, implementations and references: `Location`, `Location[]`, `LocationLink[]`, or a mix of both.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::ConvertError;
use super::fields::{ObjectOnly, OrderedRange, TextField, UriInterner};
use super::list;
use codeyard_model::position::RawLocation;

/// A `Location` or a `LocationLink`, distinguished by its fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyLocation<'a> {
    #[serde(borrow)]
    uri: Option<TextField<'a>>,
    range: Option<OrderedRange>,
    #[serde(borrow)]
    target_uri: Option<TextField<'a>>,
    target_selection_range: Option<OrderedRange>,
}

/// Decodes the answer to `textDocument/definition`. A link gives the range of its target's name
/// (`targetSelectionRange`).
pub fn definition(raw: &RawValue) -> Result<Vec<RawLocation>, ConvertError> {
    locations("definition", raw, true)
}

/// Decodes the answer to `textDocument/implementation` in the same way as [`definition`].
pub fn implementation(raw: &RawValue) -> Result<Vec<RawLocation>, ConvertError> {
    locations("implementation", raw, true)
}

/// Decodes the answer to `textDocument/references`: `null` or an array.
pub fn references(raw: &RawValue) -> Result<Vec<RawLocation>, ConvertError> {
    locations("references", raw, false)
}

fn locations(what: &'static str, raw: &RawValue, single: bool) -> Result<Vec<RawLocation>, ConvertError> {
    let mut uris = UriInterner::default();
    list::read(what, raw, single, |ObjectOnly(entry): ObjectOnly<AnyLocation<'_>>| {
        let (uri, range) = match entry {
            AnyLocation { uri: Some(uri), range: Some(range), .. } => (uri, range),
            AnyLocation { target_uri: Some(uri), target_selection_range: Some(range), .. } => (uri, range),
            _ => return Err("neither a location nor a link"),
        };
        Ok(Some(RawLocation { uri: uris.intern(&uri.0), range: range.0 }))
    })
}
