//! The parameters of `tools/list` and `tools/call`.
//!
//! A tool's arguments stay raw text; its catalog decodes them. Invariants: a parsed call has a name; a progress token is a valid
//! string or integer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::Fault;
use super::id::RequestId;
use super::message::{self, present};
use crate::limits::{MAX_TRACEPARENT_BYTES, MAX_TRACESTATE_BYTES};

/// The parameters of `tools/call`.
#[derive(Debug)]
pub struct CallRequest<'a> {
    pub name: Cow<'a, str>,
    /// The raw arguments, unchecked; `null` counts as none.
    pub arguments: Option<&'a RawValue>,
    /// The token of progress notifications.
    pub progress_token: Option<RequestId>,
    /// The client's trace context.
    pub trace: TraceMeta,
}

/// The trace context in `_meta`, unchecked. An overlong value is ignored.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TraceMeta {
    /// `traceparent`
    pub parent: Option<String>,
    /// `tracestate`
    pub state: Option<String>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "progressToken", deserialize_with = "present")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    tracestate: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ListParams<'a> {
    #[serde(borrow, default)]
    cursor: Option<&'a RawValue>,
}

/// Parses the parameters of `tools/call`.
///
/// # Errors
/// [`Fault::BadParams`] without a name, or with a malformed `_meta` or progress token.
pub fn call(params: Option<&RawValue>) -> Result<CallRequest<'_>, Fault> {
    let CallParams { name, arguments, meta } = message::params(params)?;
    let meta = meta.map(|meta| message::params::<Meta<'_>>(Some(meta))).transpose()?;
    let token = meta.as_ref().and_then(|meta| meta.progress_token);
    let progress_token = token.map(RequestId::parse).transpose().map_err(|_| Fault::BadParams)?;
    Ok(CallRequest { name, arguments, progress_token, trace: meta.as_ref().map(trace).unwrap_or_default() })
}

/// The trace context of a call whose other parameters are malformed.
pub fn meta(params: Option<&RawValue>) -> TraceMeta {
    #[derive(Deserialize)]
    struct MetaOnly<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<Meta<'a>>,
    }
    let read = params.and_then(|params| serde_json::from_str::<MetaOnly<'_>>(params.get()).ok());
    read.and_then(|read| read.meta).as_ref().map(trace).unwrap_or_default()
}

fn trace(meta: &Meta<'_>) -> TraceMeta {
    let parent = meta.traceparent.and_then(|raw| text(raw, MAX_TRACEPARENT_BYTES));
    let state = meta.tracestate.and_then(|raw| text(raw, MAX_TRACESTATE_BYTES));
    TraceMeta { parent, state }
}

/// The tools of `list`, a JSON array, without the schemas of their results. Revision 2025-03-26 has none.
pub fn without_output_schemas(list: &RawValue) -> String {
    let Ok(mut tools) = serde_json::from_str::<Vec<BTreeMap<Cow<'_, str>, &RawValue>>>(list.get()) else {
        return list.get().to_owned();
    };
    for tool in &mut tools {
        tool.remove("outputSchema");
    }
    serde_json::to_string(&tools).unwrap_or_else(|_| list.get().to_owned())
}

/// Checks the parameters of `tools/list`.
///
/// # Errors
/// [`Fault::ForeignCursor`] with any cursor, as the list has one page; [`Fault::BadParams`] if they are no object.
pub fn list(params: Option<&RawValue>) -> Result<(), Fault> {
    let params: ListParams<'_> = message::params(params)?;
    if params.cursor.is_some() { Err(Fault::ForeignCursor) } else { Ok(()) }
}

/// A string whose JSON text has at most `limit` bytes between its quotes.
fn text(raw: &RawValue, limit: usize) -> Option<String> {
    if raw.get().len() > limit + 2 { None } else { serde_json::from_str(raw.get()).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.into()).unwrap()
    }

    #[test]
    fn a_call_with_all_members_is_parsed() {
        let params = raw(
            r#"{"name":"a.b","arguments":{"x":1},"_meta":{"progressToken":"t","traceparent":"00-1","tracestate":"a=b","y":[]},"task":{}}"#,
        );
        let call = call(Some(&params)).unwrap();
        assert_eq!((&*call.name, call.arguments.unwrap().get()), ("a.b", r#"{"x":1}"#));
        assert_eq!(call.progress_token.unwrap().as_json(), "\"t\"");
        assert_eq!(call.trace, TraceMeta { parent: Some("00-1".into()), state: Some("a=b".into()) });
        assert_eq!(meta(Some(&params)), call.trace);
    }

    #[test]
    fn malformed_calls_are_rejected() {
        for bad in [
            "[]",
            "{}",
            r#"{"name":7}"#,
            r#"{"name":"a","name":"b"}"#,
            r#"{"name":"a","_meta":7}"#,
            r#"{"name":"a","_meta":{"progressToken":{}}}"#,
            r#"{"name":"a","_meta":{"progressToken":1.5}}"#,
            r#"{"name":"a","_meta":{"progressToken":null}}"#,
        ] {
            assert_eq!(call(Some(&raw(bad))).unwrap_err(), Fault::BadParams, "{bad}");
        }
        assert_eq!(call(None).unwrap_err(), Fault::BadParams);
    }

    #[test]
    fn a_malformed_trace_parent_is_ignored() {
        let long = format!(r#"{{"name":"a","_meta":{{"traceparent":"{}"}}}}"#, "0".repeat(MAX_TRACEPARENT_BYTES + 1));
        for text in [r#"{"name":"a","_meta":{"traceparent":7}}"#, &long, r#"{"name":"a","arguments":null}"#] {
            let params = raw(text);
            let call = call(Some(&params)).unwrap();
            assert!(call.trace == TraceMeta::default() && call.arguments.is_none());
        }
    }

    #[test]
    fn the_oldest_revision_lists_no_output_schemas() {
        let list = raw(r#"[{"name":"a","outputSchema":{"type":"object"},"inputSchema":{"b":1,"a":2}},{"name":"b"}]"#);
        assert_eq!(without_output_schemas(&list), r#"[{"inputSchema":{"b":1,"a":2},"name":"a"},{"name":"b"}]"#);
    }

    #[test]
    fn the_tool_list_accepts_no_cursor() {
        assert_eq!(list(None), Ok(()));
        assert_eq!(list(Some(&raw(r#"{"cursor":null}"#))), Ok(()));
        assert_eq!(list(Some(&raw(r#"{"cursor":"x"}"#))), Err(Fault::ForeignCursor));
        assert_eq!(list(Some(&raw("[]"))), Err(Fault::BadParams));
    }
}
