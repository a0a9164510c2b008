//! The parameters and the result of `initialize`.
//!
//! Invariant: the result always names the revision that this server speaks. A request for another revision is no error.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::Fault;
use super::message;
use super::names::{REVISION, SERVER_NAME, SERVER_TITLE, SERVER_VERSION};

/// The modes of the client's `elicitation` capability, with their options.
type ElicitationModes = Map<String, Value>;

#[derive(Deserialize)]
struct InitializeParams<'a> {
    #[serde(borrow, default, rename = "protocolVersion")]
    _version: Option<std::borrow::Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ClientParams<'a> {
    #[serde(borrow, default)]
    capabilities: Option<ClientCapabilities<'a>>,
}

#[derive(Deserialize)]
struct ClientCapabilities<'a> {
    #[serde(borrow, default)]
    elicitation: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct InitializeResult<'a> {
    #[serde(rename = "protocolVersion")]
    protocol_version: &'static str,
    capabilities: ServerCapabilities,
    #[serde(rename = "serverInfo")]
    server_info: ServerInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

#[derive(Serialize)]
struct ServerCapabilities {
    tools: ToolsCapability,
}

#[derive(Serialize)]
struct ToolsCapability {
    #[serde(rename = "listChanged")]
    list_changed: bool,
}

#[derive(Serialize)]
struct ServerInfo {
    name: &'static str,
    title: &'static str,
    version: &'static str,
}

/// The JSON text of the result for `params`.
///
/// # Errors
/// [`Fault::BadParams`] if they are no object, or name a revision that is no string.
pub fn result(params: Option<&RawValue>, instructions: Option<&str>) -> Result<Vec<u8>, Fault> {
    let _: InitializeParams<'_> = message::params(params)?;
    let result = InitializeResult {
        protocol_version: REVISION,
        capabilities: ServerCapabilities { tools: ToolsCapability { list_changed: false } },
        server_info: ServerInfo { name: SERVER_NAME, title: SERVER_TITLE, version: SERVER_VERSION },
        instructions,
    };
    // Strings and booleans always serialise.
    Ok(serde_json::to_vec(&result).unwrap_or_default())
}

/// Whether the client can show a form to a person: its `elicitation` capability is empty or has `form`.
pub fn supports_forms(params: Option<&RawValue>) -> bool {
    let capabilities = message::params::<ClientParams<'_>>(params).ok().and_then(|params| params.capabilities);
    let modes = capabilities
        .and_then(|capabilities| capabilities.elicitation)
        .map(|modes| message::params::<ElicitationModes>(Some(modes)));
    matches!(modes, Some(Ok(modes)) if modes.is_empty() || modes.get("form").is_some_and(Value::is_object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_capability_or_form_mode_supports_forms() {
        let of = |capabilities: &str| {
            let params = format!("{{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{capabilities}}}");
            supports_forms(Some(&RawValue::from_string(params).unwrap()))
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
        assert!(!supports_forms(None));
    }

    #[test]
    fn the_result_names_our_revision_for_every_request() {
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
