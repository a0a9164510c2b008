//! Items of a call hierarchy, their callers and their callees.
//!
//! An item is sent back to the server unchanged, so its JSON is kept beside the decoded fields.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::ConvertError;
use super::fields::{ObjectOnly, OrderedRange, TextField, UriInterner};
use super::list;
use codeyard_model::position::Range;

/// A call hierarchy item from a language server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCallItem {
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// The URI of its file. Untrusted.
    pub uri: Arc<str>,
    /// The range of the whole function.
    pub range: Range,
    /// The range of its name.
    pub selection_range: Range,
    /// The server's JSON. Its columns stay in the server's encoding.
    pub json: Arc<str>,
}

/// A caller or a callee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCall {
    /// The caller or the callee.
    pub item: RawCallItem,
    /// The URI of the file that holds the calls: the caller's.
    pub calls_in: Arc<str>,
    pub from_ranges: Vec<Range>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemFields<'a> {
    #[serde(borrow)]
    name: TextField<'a>,
    kind: u32,
    #[serde(borrow)]
    uri: TextField<'a>,
    range: OrderedRange,
    selection_range: OrderedRange,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallFields<'a> {
    #[serde(borrow)]
    from: Option<&'a RawValue>,
    #[serde(borrow)]
    to: Option<&'a RawValue>,
    from_ranges: Vec<OrderedRange>,
}

/// Decodes the answer to `textDocument/prepareCallHierarchy`: `null` or an array.
pub fn call_items(raw: &RawValue) -> Result<Vec<RawCallItem>, ConvertError> {
    let mut uris = UriInterner::default();
    list::read("call hierarchy", raw, false, |entry: &RawValue| item(entry, &mut uris).map(Some))
}

/// Decodes the answer to `callHierarchy/incomingCalls`: `null` or an array.
pub fn incoming_calls(raw: &RawValue) -> Result<Vec<RawCall>, ConvertError> {
    let mut uris = UriInterner::default();
    list::read("incoming calls", raw, false, |ObjectOnly(call): ObjectOnly<CallFields<'_>>| {
        let item = item(call.from.ok_or("a caller is missing")?, &mut uris)?;
        Ok(Some(RawCall { calls_in: item.uri.clone(), item, from_ranges: ranges(call.from_ranges) }))
    })
}

/// Decodes the answer to `callHierarchy/outgoingCalls` for a function in the file `caller`: `null` or an array.
pub fn outgoing_calls(raw: &RawValue, caller: &Arc<str>) -> Result<Vec<RawCall>, ConvertError> {
    let mut uris = UriInterner::default();
    list::read("outgoing calls", raw, false, |ObjectOnly(call): ObjectOnly<CallFields<'_>>| {
        let item = item(call.to.ok_or("a callee is missing")?, &mut uris)?;
        Ok(Some(RawCall { item, calls_in: caller.clone(), from_ranges: ranges(call.from_ranges) }))
    })
}

fn item(entry: &RawValue, uris: &mut UriInterner) -> Result<RawCallItem, &'static str> {
    let ObjectOnly(fields): ObjectOnly<ItemFields<'_>> =
        serde_json::from_str(entry.get()).map_err(|_| "not a function of a call hierarchy")?;
    Ok(RawCallItem {
        name: fields.name.0.into_owned(),
        kind: fields.kind,
        uri: uris.intern(&fields.uri.0),
        range: fields.range.0,
        selection_range: fields.selection_range.0,
        json: entry.get().into(),
    })
}

fn ranges(ranges: Vec<OrderedRange>) -> Vec<Range> {
    ranges.into_iter().map(|range| range.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: &str = r#"{"name":"f","kind":12,"uri":"file:///a","range":{"start":{"line":9,"character":0},"end":{"line":1,"character":2}},"selectionRange":{"start":{"line":1,"character":4},"end":{"line":1,"character":5}},"data":{"x":[1]}}"#;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn items_keep_the_servers_own_json() {
        let items = call_items(&raw(&format!("[{ITEM}]"))).unwrap();
        assert_eq!((&*items[0].json, items[0].name.as_str()), (ITEM, "f"));
        assert_eq!(items[0].range, Range::new(1, 2, 9, 0), "a reversed range is corrected");
        assert!(call_items(&raw("null")).unwrap().is_empty());
        for wrong in ["{}", "[1]", "[[]]", r#"[{"name":"f"}]"#, ITEM] {
            assert!(call_items(&raw(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn calls_are_in_the_callers_file() {
        let range = r#"{"start":{"line":3,"character":1},"end":{"line":3,"character":2}}"#;
        let incoming = incoming_calls(&raw(&format!(r#"[{{"from":{ITEM},"fromRanges":[{range}]}}]"#))).unwrap();
        assert_eq!((&*incoming[0].calls_in, incoming[0].from_ranges.len()), ("file:///a", 1));
        let caller: Arc<str> = "file:///b".into();
        let outgoing = outgoing_calls(&raw(&format!(r#"[{{"to":{ITEM},"fromRanges":[]}}]"#)), &caller).unwrap();
        assert_eq!((&*outgoing[0].calls_in, &*outgoing[0].item.uri), ("file:///b", "file:///a"));
        assert!(incoming_calls(&raw(&format!(r#"[{{"to":{ITEM},"fromRanges":[]}}]"#))).is_err());
        assert!(outgoing_calls(&raw(&format!(r#"[{{"to":{ITEM}}}]"#)), &caller).is_err());
    }
}
