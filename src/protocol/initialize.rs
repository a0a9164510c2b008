//! The parameters and the result of `initialize`.
//!
//! Invariants: a request names a revision; the result names one that the endpoint speaks, and a request for another is no error.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::Fault;
use super::message;
use super::names::{SERVER_NAME, SERVER_TITLE, SERVER_VERSION};
use super::revision::{Revision, RevisionSet};

/// The modes of the client's `elicitation` capability, with their options.
type ElicitationModes = Map<String, Value>;

#[derive(Deserialize)]
struct InitializeParams<'a> {
    #[serde(borrow, rename = "protocolVersion")]
    version: std::borrow::Cow<'a, str>,
}

#[derive(Deserialize)]
struct ClientParams<'a> {
    #[serde(borrow, default)]
    capabilities: Option<&'a RawValue>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'static str>,
    version: &'static str,
}

/// The revision that `params` ask for, as negotiated with `spoken`.
///
/// # Errors
/// [`Fault::BadParams`] if they are no object, or name no revision.
pub fn negotiate(params: Option<&RawValue>, spoken: RevisionSet) -> Result<Revision, Fault> {
    let params: InitializeParams<'_> = message::params(params)?;
    Ok(spoken.negotiate(&params.version))
}

/// The JSON text of the result in a session of `revision`.
pub fn result(revision: Revision, instructions: Option<&str>) -> Vec<u8> {
    let title = revision.has_structured_results().then_some(SERVER_TITLE);
    let result = InitializeResult {
        protocol_version: revision.as_str(),
        capabilities: ServerCapabilities { tools: ToolsCapability { list_changed: false } },
        server_info: ServerInfo { name: SERVER_NAME, title, version: SERVER_VERSION },
        instructions,
    };
    // Strings and booleans always serialise.
    serde_json::to_vec(&result).unwrap_or_default()
}

/// Whether the client can show a form to a person: its `elicitation` capability is empty or has `form`.
pub fn supports_forms(params: Option<&RawValue>) -> bool {
    let params = message::params::<ClientParams<'_>>(params).ok();
    params.and_then(|params| params.capabilities).is_some_and(can_show_forms)
}

/// The same for the client's capabilities alone.
pub(super) fn can_show_forms(capabilities: &RawValue) -> bool {
    let capabilities = message::params::<ClientCapabilities<'_>>(Some(capabilities)).ok();
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
    fn the_result_names_the_negotiated_revision() {
        for (requested, all, one) in [
            ("2025-11-25", "2025-11-25", "2025-11-25"),
            ("2025-06-18", "2025-06-18", "2025-11-25"),
            ("2024-11-05", "2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25", "2025-11-25"),
            ("", "2025-11-25", "2025-11-25"),
        ] {
            let params = RawValue::from_string(format!("{{\"protocolVersion\":\"{requested}\"}}")).unwrap();
            for (spoken, expected) in [(RevisionSet::ALL, all), (RevisionSet::DEFAULT, one)] {
                let revision = negotiate(Some(&params), spoken).unwrap();
                let value: Value = serde_json::from_slice(&result(revision, Some("hi"))).unwrap();
                assert_eq!(value["protocolVersion"], expected);
                assert_eq!(value["capabilities"], serde_json::json!({"tools": {"listChanged": false}}));
                assert_eq!(value["instructions"], "hi");
            }
        }
        let oldest = String::from_utf8(result(Revision::V2025_03_26, None)).unwrap();
        assert!(!oldest.contains("instructions") && !oldest.contains("title"), "{oldest}");
    }

    #[test]
    fn a_request_without_a_revision_is_an_error() {
        for bad in ["{}", "[]", "{\"protocolVersion\":7}", "{\"protocolVersion\":null}"] {
            let params = RawValue::from_string(bad.into()).unwrap();
            assert_eq!(negotiate(Some(&params), RevisionSet::ALL), Err(Fault::BadParams), "{bad}");
        }
        assert_eq!(negotiate(None, RevisionSet::ALL), Err(Fault::BadParams));
    }
}
