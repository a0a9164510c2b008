//! What requests and results of the stateless revision carry beside their own members: `_meta`, `resultType`, caching hints, and
//! the results that ask the client for input (`docs/internals/protocol.md#the-stateless-revision`).
//!
//! HTTP headers belong to the transport. Invariants: nothing is taken from an earlier request; a result is JSON text of an object
//! into which members are inserted, so its own members must not have these names.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::error::Fault;
use super::initialize;
use super::message::{self, present};
use super::names::{CACHE_TTL_MS, SERVER_NAME, SERVER_TITLE, SERVER_VERSION, UNSUPPORTED_VERSION};
use super::revision::{Revision, RevisionSet};
use super::write;
use crate::id::RequestId;

/// Longest `requestState` of a retried call, in bytes.
const MAX_REQUEST_STATE_BYTES: usize = 4_096;

/// The `_meta` members of a request of the stateless revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestMeta {
    /// The revision that the request names.
    pub version: String,
    /// Whether the client can show a form to a person.
    pub supports_forms: bool,
}

/// What a retried call brings in answer to a result that asked for input.
#[derive(Debug, Clone, Default)]
pub struct InputRound {
    /// Whether the client can show a form to a person.
    pub supports_forms: bool,
    /// The state that the earlier result gave.
    pub state: Option<String>,
    /// The client's answers: an object with the keys of the requests.
    pub responses: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion", deserialize_with = "present")]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities", deserialize_with = "present")]
    capabilities: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ListenParams<'a> {
    #[serde(borrow)]
    notifications: &'a RawValue,
}

#[derive(Deserialize)]
struct InputParams<'a> {
    #[serde(borrow, default, rename = "requestState")]
    state: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "inputResponses")]
    responses: Option<&'a RawValue>,
}

/// The revision in the `_meta` of `params`; `None` if there is no such member, or if it isn't a string.
pub fn version(params: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let text = meta_of(params)?.version?.get();
    serde_json::from_str(text).ok()
}

/// Whether the `_meta` of `params` names a revision, well or not.
pub fn names_version(params: Option<&RawValue>) -> bool {
    meta_of(params).is_some_and(|meta| meta.version.is_some())
}

/// The `_meta` of `params`.
///
/// # Errors
/// [`Fault::BadMeta`] if a member is missing that each request must have.
pub fn request_meta(params: Option<&RawValue>) -> Result<RequestMeta, Fault> {
    let meta = meta_of(params).ok_or(Fault::BadMeta)?;
    let version = meta.version.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).ok_or(Fault::BadMeta)?;
    let capabilities = meta.capabilities.filter(|raw| raw.get().starts_with('{')).ok_or(Fault::BadMeta)?;
    Ok(RequestMeta { version, supports_forms: initialize::can_show_forms(capabilities) })
}

/// What a call brings in answer to an earlier result that asked for input.
///
/// # Errors
/// [`Fault::BadParams`] if the state is no string, or longer than the limit, or the answers are no object.
pub fn input_round(params: Option<&RawValue>, supports_forms: bool) -> Result<InputRound, Fault> {
    let given: InputParams<'_> = message::params(params)?;
    let state = given.state.map(Cow::into_owned);
    let is_well = state.as_ref().is_none_or(|state| state.len() <= MAX_REQUEST_STATE_BYTES)
        && given.responses.is_none_or(|raw| raw.get().starts_with('{'));
    if !is_well {
        return Err(Fault::BadParams);
    }
    Ok(InputRound { supports_forms, state, responses: given.responses.map(ToOwned::to_owned) })
}

/// The result of `server/discover`.
pub fn discovery(revisions: RevisionSet, instructions: Option<&str>) -> Vec<u8> {
    let versions: Vec<&str> = revisions.iter().map(Revision::as_str).collect();
    let mut result = json!({"supportedVersions": versions, "capabilities": {"tools": {}}});
    if let (Some(instructions), Some(members)) = (instructions, result.as_object_mut()) {
        members.insert("instructions".to_owned(), instructions.into());
    }
    cacheable(result.to_string().as_bytes())
}

/// `result`, which a client may keep for [`CACHE_TTL_MS`]. It isn't for clients with other credentials, which may see less.
pub fn cacheable(result: &[u8]) -> Vec<u8> {
    insert(result, &format!("\"ttlMs\":{CACHE_TTL_MS},\"cacheScope\":\"private\""))
}

/// `result` as a complete result, with the server's name.
pub fn complete(result: &[u8]) -> Vec<u8> {
    insert(result, &format!("\"resultType\":\"complete\",\"_meta\":{{{}}}", server_info()))
}

/// `result`, which holds `inputRequests` and `requestState`, as a result that asks for input.
pub fn input_required(result: &[u8]) -> Vec<u8> {
    insert(result, &format!("\"resultType\":\"input_required\",\"_meta\":{{{}}}", server_info()))
}

/// The first message of a subscription: none of the offered notifications is ever sent.
pub fn acknowledgement(id: &RequestId) -> Vec<u8> {
    let meta = subscription(id);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{{\"_meta\":{{{meta}}},\"notifications\":{{}}}}}}"
    )
    .into_bytes()
}

/// The result of a subscription that the server ends.
pub fn subscription_end(id: &RequestId) -> Vec<u8> {
    format!("{{\"resultType\":\"complete\",\"_meta\":{{{},{}}}}}", subscription(id), server_info()).into_bytes()
}

/// Checks the parameters of `subscriptions/listen`. Which notifications they name doesn't matter, as none is ever sent.
///
/// # Errors
/// [`Fault::BadParams`] without an object `notifications`.
pub fn listen(params: Option<&RawValue>) -> Result<(), Fault> {
    let given: ListenParams<'_> = message::params(params)?;
    if given.notifications.get().starts_with('{') { Ok(()) } else { Err(Fault::BadParams) }
}

/// The error of a message for a revision that isn't spoken without a session. `requested` is repeated as far as it looks like a revision.
pub fn unsupported_version(id: Option<&RequestId>, requested: &str, revisions: RevisionSet) -> Vec<u8> {
    // A client that asks for a revision with sessions would ask for it again if it were listed.
    let needs_session = Revision::parse(requested).is_some_and(|revision| !revision.is_stateless());
    let supported = revisions.iter().filter(|revision| !needs_session || revision.is_stateless());
    let supported: Vec<&str> = supported.map(Revision::as_str).collect();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_');
    let shown: String = requested.chars().take(32).take_while(|character| is_plain(*character)).collect();
    let all = supported.join(", ");
    let message = match needs_session {
        true => format!("{shown} needs a session, which `initialize` begins; without one this endpoint speaks {all}"),
        false => format!("this endpoint doesn't speak the revision \"{shown}\" of MCP; it speaks {all}"),
    };
    let data = json!({"supported": supported, "requested": shown, "reason": "unsupported_version"}).to_string();
    write::error(id, UNSUPPORTED_VERSION, &message, Some(data.as_bytes()))
}

fn meta_of(params: Option<&RawValue>) -> Option<Meta<'_>> {
    let params: Params<'_> = message::params(params).ok()?;
    message::params(Some(params.meta?)).ok()
}

fn subscription(id: &RequestId) -> String {
    format!("\"io.modelcontextprotocol/subscriptionId\":{}", id.as_json())
}

fn server_info() -> String {
    let info = json!({"name": SERVER_NAME, "title": SERVER_TITLE, "version": SERVER_VERSION});
    format!("\"io.modelcontextprotocol/serverInfo\":{info}")
}

/// `object`, JSON text of an object, with `members` in front of its own.
fn insert(object: &[u8], members: &str) -> Vec<u8> {
    let own = object.trim_ascii_start().strip_prefix(b"{").unwrap_or(object);
    let separator: &[u8] = if own.trim_ascii_start().starts_with(b"}") { b"" } else { b"," };
    [b"{", members.as_bytes(), separator, own].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    fn value(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn each_request_names_its_revision_and_capabilities() {
        let meta = |meta: Value| request_meta(Some(&raw(&json!({"_meta": meta, "name": "x"}))));
        let version = "2026-07-28";
        let plain = RequestMeta { version: version.to_owned(), supports_forms: false };
        assert_eq!(meta(json!({VERSION: version, CAPABILITIES: {}})), Ok(plain.clone()));
        let with_forms = RequestMeta { supports_forms: true, ..plain };
        assert_eq!(meta(json!({VERSION: version, CAPABILITIES: {"elicitation": {}}})), Ok(with_forms.clone()));
        assert_eq!(meta(json!({VERSION: version, CAPABILITIES: {"elicitation": {"form": {}}}})), Ok(with_forms));
        for bad in [
            json!({}),
            json!({VERSION: version}),
            json!({CAPABILITIES: {}}),
            json!({VERSION: 7, CAPABILITIES: {}}),
            json!({VERSION: null, CAPABILITIES: {}}),
            json!({VERSION: version, CAPABILITIES: []}),
            json!({VERSION: version, CAPABILITIES: null}),
            json!("x"),
        ] {
            assert_eq!(meta(bad.clone()), Err(Fault::BadMeta), "{bad}");
        }
        assert_eq!(request_meta(None), Err(Fault::BadMeta));
        assert!(names_version(Some(&raw(&json!({"_meta": {VERSION: 7}})))));
        assert!(!names_version(Some(&raw(&json!({"_meta": {}})))) && !names_version(None));
    }

    #[test]
    fn results_get_their_members_in_front() {
        let done = value(&complete(b" {\"isError\":false}"));
        assert_eq!((&done["resultType"], &done["isError"]), (&json!("complete"), &json!(false)));
        assert_eq!(done["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "codeyard");
        assert_eq!(value(&complete(b"{}"))["resultType"], "complete");
        assert_eq!(value(&input_required(b"{\"requestState\":\"s\"}"))["resultType"], "input_required");
        let tools = value(&complete(&cacheable(b"{\"tools\":[]}")));
        assert_eq!((&tools["cacheScope"], &tools["tools"]), (&json!("private"), &json!([])));
        assert!(tools["ttlMs"].is_u64());
    }

    #[test]
    fn discovery_lists_every_revision_of_the_endpoint() {
        let found = value(&discovery(RevisionSet::ALL, Some("hi")));
        assert_eq!(found["supportedVersions"], json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]));
        assert_eq!((&found["capabilities"], &found["instructions"]), (&json!({"tools": {}}), &json!("hi")));
        assert_eq!(found["cacheScope"], "private", "instructions name the workspace");
        assert!(value(&discovery(RevisionSet::ALL, None)).get("instructions").is_none());
    }

    #[test]
    fn an_unsupported_revision_is_repeated_only_as_far_as_it_looks_like_one() {
        let id = RequestId::of_text("a");
        let of = |requested: &str| value(&unsupported_version(Some(&id), requested, RevisionSet::ALL))["error"].clone();
        let error = of("v999.0.0");
        assert_eq!((&error["code"], &error["data"]["requested"]), (&json!(-32022), &json!("v999.0.0")));
        assert_eq!(of("2099 secret/path")["data"]["requested"], "2099");
        assert_eq!(of(&"9".repeat(600))["data"]["requested"].as_str().unwrap().len(), 32);
        let with_session = of("2025-11-25");
        assert_eq!(with_session["data"]["supported"], json!(["2026-07-28"]), "it would ask for the same again");
        assert!(with_session["message"].as_str().unwrap().contains("initialize"));
    }

    #[test]
    fn answers_to_a_prompt_are_kept_as_they_came() {
        let round = input_round(
            Some(&raw(&json!({"name": "x", "requestState": "s", "inputResponses": {"a": {"action": "decline"}}}))),
            true,
        )
        .unwrap();
        assert_eq!((round.state.as_deref(), round.supports_forms), (Some("s"), true));
        assert_eq!(round.responses.unwrap().get(), r#"{"a":{"action":"decline"}}"#);
        let long = "s".repeat(MAX_REQUEST_STATE_BYTES + 1);
        for bad in [json!({"requestState": 7}), json!({"requestState": long}), json!({"inputResponses": []})] {
            assert_eq!(input_round(Some(&raw(&bad)), true).unwrap_err(), Fault::BadParams, "{bad}");
        }
        assert!(input_round(Some(&raw(&json!({"name": "x"}))), false).unwrap().state.is_none());
    }

    #[test]
    fn a_subscription_names_notifications() {
        for good in [json!({"notifications": {}}), json!({"notifications": {"toolsListChanged": true}, "x": 1})] {
            assert_eq!(listen(Some(&raw(&good))), Ok(()), "{good}");
        }
        for bad in [json!({}), json!({"notifications": 7}), json!({"notifications": null}), json!([])] {
            assert_eq!(listen(Some(&raw(&bad))), Err(Fault::BadParams), "{bad}");
        }
    }

    #[test]
    fn a_subscription_carries_its_id() {
        let id = RequestId::of_text("s-1");
        let first = value(&acknowledgement(&id));
        assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s-1");
        assert_eq!(first["params"]["notifications"], json!({}));
        let last = value(&subscription_end(&id));
        assert_eq!(last["_meta"]["io.modelcontextprotocol/subscriptionId"], "s-1");
        assert_eq!(last["resultType"], "complete");
    }
}
