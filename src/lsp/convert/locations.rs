//! Definitions and references: `Location`, `Location[]`, `LocationLink[]`, or both mixed.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ConvertError;
use super::list;
use super::object::{Object, Ordered, Text, Uris};
use codeyard_model::position::RawLocation;

/// A `Location` or a `LocationLink`; which of them shows in the fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyLocation<'a> {
    #[serde(borrow)]
    uri: Option<Text<'a>>,
    range: Option<Ordered>,
    #[serde(borrow)]
    target_uri: Option<Text<'a>>,
    target_selection_range: Option<Ordered>,
}

/// The answer to `textDocument/definition`. A link gives the range of its target's name (`targetSelectionRange`).
pub fn definition(raw: &RawValue) -> Result<Vec<RawLocation>, ConvertError> {
    locations("definition", raw, true)
}

/// The answer to `textDocument/implementation`; as [`definition`].
pub fn implementation(raw: &RawValue) -> Result<Vec<RawLocation>, ConvertError> {
    locations("implementation", raw, true)
}

/// The answer to `textDocument/references`: `null` or an array.
pub fn references(raw: &RawValue) -> Result<Vec<RawLocation>, ConvertError> {
    locations("references", raw, false)
}

fn locations(what: &'static str, raw: &RawValue, single: bool) -> Result<Vec<RawLocation>, ConvertError> {
    let mut uris = Uris::default();
    list::read(what, raw, single, |Object(entry): Object<AnyLocation<'_>>| {
        let (uri, range) = match entry {
            AnyLocation { uri: Some(uri), range: Some(range), .. } => (uri, range),
            AnyLocation { target_uri: Some(uri), target_selection_range: Some(range), .. } => (uri, range),
            _ => return Err("neither a location nor a link"),
        };
        Ok(Some(RawLocation { uri: uris.share(&uri.0), range: range.0 }))
    })
}
