//! `initialize`: what the client asks is looked at, what we are is told.
//!
//! Invariant: the answer always names the one revision we speak, whichever was asked for; never an error for another.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::Fault;
use super::message;
use super::names::{REVISION, SERVER_NAME, SERVER_TITLE, SERVER_VERSION};

/// Modes of elicitation, each with what it is said to be able to do.
type Modes = Map<String, Value>;

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default, rename = "protocolVersion")]
    _version: Option<std::borrow::Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Offer<'a> {
    #[serde(borrow, default)]
    capabilities: Option<Offered<'a>>,
}

#[derive(Deserialize)]
struct Offered<'a> {
    #[serde(borrow, default)]
    elicitation: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct InitializeResult<'a> {
    #[serde(rename = "protocolVersion")]
    protocol_version: &'static str,
    capabilities: Capabilities,
    #[serde(rename = "serverInfo")]
    server_info: ServerInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

#[derive(Serialize)]
struct Capabilities {
    tools: Tools,
}

#[derive(Serialize)]
struct Tools {
    #[serde(rename = "listChanged")]
    list_changed: bool,
}

#[derive(Serialize)]
struct ServerInfo {
    name: &'static str,
    title: &'static str,
    version: &'static str,
}

/// The JSON text of the result for these parameters.
///
/// # Errors
/// [`Fault::BadParams`] if they are no object, or name a revision that is no string.
pub fn result(params: Option<&RawValue>, instructions: Option<&str>) -> Result<Vec<u8>, Fault> {
    let _: Params<'_> = message::params(params)?;
    let result = InitializeResult {
        protocol_version: REVISION,
        capabilities: Capabilities { tools: Tools { list_changed: false } },
        server_info: ServerInfo { name: SERVER_NAME, title: SERVER_TITLE, version: SERVER_VERSION },
        instructions,
    };
    // Strings and booleans always serialise.
    Ok(serde_json::to_vec(&result).unwrap_or_default())
}

/// Whether the client can show a person a form: it declares `elicitation` with nothing in it, or with `form`.
pub fn offers_forms(params: Option<&RawValue>) -> bool {
    let offer = message::params::<Offer<'_>>(params).ok().and_then(|offer| offer.capabilities);
    let modes = offer.and_then(|offered| offered.elicitation).map(|modes| message::params::<Modes>(Some(modes)));
    matches!(modes, Some(Ok(modes)) if modes.is_empty() || modes.get("form").is_some_and(Value::is_object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_offered_by_name_or_by_saying_nothing_else() {
        let of = |capabilities: &str| {
            let params = format!("{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{capabilities}}}");
            offers_forms(Some(&RawValue::from_string(params).unwrap()))
        };
        for offered in [
            r#"{"elicitation":{}}"#,
            r#"{"elicitation":{"form":{}}}"#,
            r#"{"x":1,"elicitation":{"url":{},"form":{"a":1}}}"#,
        ] {
            assert!(of(offered), "{offered}");
        }
        for not in [
            "{}",
            "null",
            "[]",
            r#"{"elicitation":{"url":{}}}"#,
            r#"{"elicitation":null}"#,
            r#"{"elicitation":true}"#,
            r#"{"elicitation":{"form":null}}"#,
        ] {
            assert!(!of(not), "{not}");
        }
        assert!(!offers_forms(None));
    }

    #[test]
    fn the_revision_is_ours_whatever_is_asked() {
        for asked in ["2025-11-25", "2024-11-05", "2026-07-28", "nonsense", ""] {
            let params = RawValue::from_string(format!("{{\"protocolVersion\":\"{asked}\"}}")).unwrap();
            let value: serde_json::Value = serde_json::from_slice(&result(Some(&params), Some("hi")).unwrap()).unwrap();
            assert_eq!(value["protocolVersion"], "2025-11-25");
            assert_eq!(value["capabilities"], serde_json::json!({"tools": {"listChanged": false}}));
            assert_eq!(value["instructions"], "hi");
        }
        let bad = RawValue::from_string("{\"protocolVersion\":7}".into()).unwrap();
        assert_eq!(result(Some(&bad), None), Err(Fault::BadParams));
        assert!(!String::from_utf8(result(None, None).unwrap()).unwrap().contains("instructions"));
    }
}
