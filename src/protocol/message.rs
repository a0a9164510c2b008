//! Parses one JSON-RPC message.
//!
//! Parameters stay raw text; the method's module parses them. Invariants: a message has exactly one kind; a request's id is valid;
//! bytes that are no JSON are always [`Fault::NotJson`].

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::error::{Fault, MessageError};
use super::id::RequestId;
use super::limits::MAX_BATCH_MESSAGES;

/// A JSON-RPC message.
#[derive(Debug)]
pub enum Message<'a> {
    /// A message that expects a response.
    Request(Request<'a>),
    /// A message that expects no response.
    Notification(Notification<'a>),
    /// The response to a request of ours.
    Response(Response<'a>),
}

/// A request.
#[derive(Debug)]
pub struct Request<'a> {
    pub id: RequestId,
    pub method: Cow<'a, str>,
    /// The raw parameters; `null` counts as none.
    pub params: Option<&'a RawValue>,
}

/// A notification.
#[derive(Debug)]
pub struct Notification<'a> {
    pub method: Cow<'a, str>,
    /// The raw parameters; `null` counts as none.
    pub params: Option<&'a RawValue>,
}

/// A response to a request of ours.
#[derive(Debug)]
pub struct Response<'a> {
    /// The id of our request; `None` if the client couldn't read it.
    pub id: Option<RequestId>,
    /// The raw result or error.
    pub outcome: Result<&'a RawValue, &'a RawValue>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Parses one message.
///
/// # Errors
/// A [`MessageError`], with the id if it could be read: `-32700` for bytes that are no JSON, otherwise `-32600`.
pub fn parse(bytes: &[u8]) -> Result<Message<'_>, MessageError> {
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::NotJson.unnamed())?;
    // serde would accept an array for the fields of a struct, so the first byte is checked.
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => {}
        first => return Err(not_an_object(text, first == Some(&b'['))),
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|_| not_an_object(text, false))?;
    let id = envelope.id.map(RequestId::parse).transpose();
    let known = id.as_ref().ok().cloned().flatten();
    let fail = |fault: Fault| MessageError { id: known.clone(), fault };
    if envelope.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
        return Err(fail(Fault::WrongVersion));
    }
    match (envelope.method, envelope.result, envelope.error) {
        (Some(method), None, None) => call(envelope.id.is_some(), id, method, envelope.params),
        (None, Some(result), None) => response(&envelope, id, Ok(result)),
        (None, None, Some(error)) => response(&envelope, id, Err(error)),
        _ => Err(fail(Fault::NotAMessage)),
    }
}

/// Parses an array of messages. Only revision 2025-03-26 has them.
///
/// # Errors
/// A [`MessageError`] if the bytes are no array, or one that is empty or longer than [`MAX_BATCH_MESSAGES`]. A malformed message is an
/// error of its own.
pub fn parse_batch(bytes: &[u8]) -> Result<Vec<Result<Message<'_>, MessageError>>, MessageError> {
    let messages: Vec<&RawValue> = serde_json::from_slice(bytes).map_err(|_| Fault::NotJson.unnamed())?;
    match messages.len() {
        0 => Err(Fault::NotAMessage.unnamed()),
        1..=MAX_BATCH_MESSAGES => Ok(messages.into_iter().map(|message| parse(message.get().as_bytes())).collect()),
        _ => Err(Fault::LongBatch.unnamed()),
    }
}

/// Parses the parameters of a method; `None` counts as `{}`.
///
/// # Errors
/// [`Fault::BadParams`] if they are no object of the form of `T`.
pub fn params<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, Fault> {
    let text = params.map_or("{}", RawValue::get);
    if !text.starts_with('{') {
        return Err(Fault::BadParams);
    }
    serde_json::from_str(text).map_err(|_| Fault::BadParams)
}

/// For `deserialize_with`: `Some` for a member that exists, even if it is `null`.
pub(super) fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn call<'a>(
    has_id: bool,
    id: Result<Option<RequestId>, Fault>,
    method: &'a RawValue,
    params: Option<&'a RawValue>,
) -> Result<Message<'a>, MessageError> {
    let id = id.map_err(Fault::unnamed)?;
    let Some(method) = text_of(method) else {
        return Err(MessageError { id, fault: Fault::NotAMessage });
    };
    let params = params.filter(|params| params.get() != "null");
    match id {
        Some(id) => Ok(Message::Request(Request { id, method, params })),
        None if has_id => Err(Fault::BadId.unnamed()),
        None => Ok(Message::Notification(Notification { method, params })),
    }
}

fn response<'a>(
    envelope: &Envelope<'a>,
    id: Result<Option<RequestId>, Fault>,
    outcome: Result<&'a RawValue, &'a RawValue>,
) -> Result<Message<'a>, MessageError> {
    let has_no_id = envelope.id.is_none_or(|id| id.get() == "null");
    match id {
        Ok(Some(id)) => Ok(Message::Response(Response { id: Some(id), outcome })),
        _ if has_no_id && outcome.is_err() => Ok(Message::Response(Response { id: None, outcome })),
        Err(fault) => Err(fault.unnamed()),
        Ok(None) => Err(Fault::NotAMessage.unnamed()),
    }
}

fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(text).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

fn not_an_object(text: &str, array: bool) -> MessageError {
    let fault = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Err(_) => Fault::NotJson,
        Ok(_) if array => Fault::Batch,
        Ok(_) => Fault::NotAMessage,
    };
    fault.unnamed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (Option<String>, Fault) {
        let error = parse(text.as_bytes()).unwrap_err();
        (error.id.map(|id| id.as_json().to_owned()), error.fault)
    }

    #[test]
    fn requests_notifications_and_responses_are_parsed() {
        let Message::Request(request) = parse(br#" {"jsonrpc":"2.0","id":"a","method":"p\u0069ng","x":1} "#).unwrap()
        else {
            panic!("not a request")
        };
        assert_eq!((request.id.as_json(), &*request.method, request.params.is_none()), ("\"a\"", "ping", true));
        let notification = parse(br#"{"jsonrpc":"2.0","method":"x","params":null}"#).unwrap();
        assert!(matches!(notification, Message::Notification(Notification { params: None, .. })));
        let response = parse(br#"{"jsonrpc":"2.0","id":3,"result":null}"#).unwrap();
        assert!(matches!(response, Message::Response(Response { id: Some(_), outcome: Ok(_) })));
        let without_id = parse(br#"{"jsonrpc":"2.0","id":null,"error":{}}"#).unwrap();
        assert!(matches!(without_id, Message::Response(Response { id: None, outcome: Err(_) })));
    }

    #[test]
    fn malformed_messages_have_their_fault_and_id() {
        let cases = [
            ("", None, Fault::NotJson),
            ("nonsense", None, Fault::NotJson),
            ("{\"jsonrpc\":\"2.0\",\"id\":1", None, Fault::NotJson),
            ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"} trailing", None, Fault::NotJson),
            ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", None, Fault::Batch),
            ("[\"2.0\",1,\"ping\"]", None, Fault::Batch),
            ("[1,", None, Fault::NotJson),
            ("7", None, Fault::NotAMessage),
            ("{}", None, Fault::WrongVersion),
            ("{\"jsonrpc\":2.0,\"id\":4,\"method\":\"ping\"}", Some("4"), Fault::WrongVersion),
            ("{\"jsonrpc\":\"1.0\",\"id\":4,\"method\":\"ping\"}", Some("4"), Fault::WrongVersion),
            ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", None, Fault::BadId),
            ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", None, Fault::BadId),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", Some("1"), Fault::NotAMessage),
            ("{\"jsonrpc\":\"2.0\",\"id\":1}", Some("1"), Fault::NotAMessage),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"result\":1}", Some("1"), Fault::NotAMessage),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", Some("1"), Fault::NotAMessage),
            ("{\"jsonrpc\":\"2.0\",\"result\":1}", None, Fault::NotAMessage),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", None, Fault::NotAMessage),
        ];
        for (text, id, expected) in cases {
            assert_eq!(fault(text), (id.map(str::to_owned), expected), "{text}");
        }
        assert_eq!(parse(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").unwrap_err().fault, Fault::NotJson);
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let deep =
            format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{}{}}}", "[".repeat(99_999), "]".repeat(99_999));
        assert!(parse(deep.as_bytes()).is_ok());
    }
}
