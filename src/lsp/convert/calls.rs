//! Functions of a call hierarchy, their callers and their callees.
//!
//! A function goes back to the server as it came, so its JSON is kept beside what is read of it.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ConvertError;
use super::list;
use super::object::{Object, Ordered, Text, Uris};
use codeyard_model::position::Range;

/// A function as a language server gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCallItem {
    /// Its name.
    pub name: String,
    /// LSP `SymbolKind`.
    pub kind: u32,
    /// The file it is in, untrusted.
    pub uri: Arc<str>,
    /// The whole range.
    pub range: Range,
    /// The name's range.
    pub selection_range: Range,
    /// The server's own JSON, whose columns stay as the server counts them.
    pub json: Arc<str>,
}

/// A caller or a callee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCall {
    /// The caller or the callee.
    pub item: RawCallItem,
    /// The file the calls are in: the caller's.
    pub calls_in: Arc<str>,
    /// Where they are.
    pub from_ranges: Vec<Range>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemFields<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    kind: u32,
    #[serde(borrow)]
    uri: Text<'a>,
    range: Ordered,
    selection_range: Ordered,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallFields<'a> {
    #[serde(borrow)]
    from: Option<&'a RawValue>,
    #[serde(borrow)]
    to: Option<&'a RawValue>,
    from_ranges: Vec<Ordered>,
}

/// The answer to `textDocument/prepareCallHierarchy`: `null` or an array.
pub fn call_items(raw: &RawValue) -> Result<Vec<RawCallItem>, ConvertError> {
    let mut uris = Uris::default();
    list::read("call hierarchy", raw, false, |entry: &RawValue| item(entry, &mut uris).map(Some))
}

/// The answer to `callHierarchy/incomingCalls`: `null` or an array.
pub fn incoming_calls(raw: &RawValue) -> Result<Vec<RawCall>, ConvertError> {
    let mut uris = Uris::default();
    list::read("incoming calls", raw, false, |Object(call): Object<CallFields<'_>>| {
        let item = item(call.from.ok_or("a caller is missing")?, &mut uris)?;
        Ok(Some(RawCall { calls_in: item.uri.clone(), item, from_ranges: ranges(call.from_ranges) }))
    })
}

/// The answer to `callHierarchy/outgoingCalls` of a function in the file `caller`: `null` or an array.
pub fn outgoing_calls(raw: &RawValue, caller: &Arc<str>) -> Result<Vec<RawCall>, ConvertError> {
    let mut uris = Uris::default();
    list::read("outgoing calls", raw, false, |Object(call): Object<CallFields<'_>>| {
        let item = item(call.to.ok_or("a callee is missing")?, &mut uris)?;
        Ok(Some(RawCall { item, calls_in: caller.clone(), from_ranges: ranges(call.from_ranges) }))
    })
}

fn item(entry: &RawValue, uris: &mut Uris) -> Result<RawCallItem, &'static str> {
    let Object(fields): Object<ItemFields<'_>> =
        serde_json::from_str(entry.get()).map_err(|_| "not a function of a call hierarchy")?;
    Ok(RawCallItem {
        name: fields.name.0.into_owned(),
        kind: fields.kind,
        uri: uris.share(&fields.uri.0),
        range: fields.range.0,
        selection_range: fields.selection_range.0,
        json: entry.get().into(),
    })
}

fn ranges(ranges: Vec<Ordered>) -> Vec<Range> {
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
        assert_eq!(items[0].range, Range::new(1, 2, 9, 0), "ends that were mixed up are put right");
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
