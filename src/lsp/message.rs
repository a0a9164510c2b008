//! JSON-RPC messages as they come from a server: one pass over the text, nothing decoded that isn't looked at.
//!
//! It tells what a message is; it doesn't know which methods or ids exist. Invariants: `params` and `result` are only
//! delimited, never built; hostile nesting costs no stack; ids of the server are kept as they were written.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::frame::Encoded;
use crate::limits;

/// A message from the server.
#[derive(Debug)]
pub(super) enum Message<'a> {
    /// The answer to the request with this id of ours; `Err` is the error object as text.
    Response { id: u64, outcome: Result<&'a RawValue, &'a RawValue> },
    /// An answer to nobody: an error without an id, or an id that no number of ours can be.
    Stray,
    /// A request that wants an answer under this id.
    Request { id: &'a RawValue, method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// A notification.
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
}

/// The error object of a response.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorObject<'a> {
    /// The code, such as -32601.
    pub(super) code: i64,
    /// What the server says about it.
    #[serde(borrow, default)]
    pub(super) message: Cow<'a, str>,
}

/// The text is no JSON-RPC message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a json-rpc message")]
pub(super) struct NotAMessage;

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// What `text` is.
pub(super) fn parse(text: &str) -> Result<Message<'_>, NotAMessage> {
    let wire: Wire<'_> = serde_json::from_str(text).map_err(|_| NotAMessage)?;
    match (wire.method, wire.id) {
        (Some(method), Some(id)) => {
            let is_id = matches!(id.get().as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9'));
            if !is_id || id.get().len() > limits::MAX_SERVER_REQUEST_ID_BYTES {
                return Err(NotAMessage);
            }
            Ok(Message::Request { id, method, params: wire.params })
        }
        (Some(method), None) => Ok(Message::Notification { method, params: wire.params }),
        (None, Some(id)) => Ok(match id.get().parse() {
            // A missing result is a null result: some servers leave it out.
            Ok(id) => {
                Message::Response { id, outcome: wire.error.map_or(Ok(wire.result.unwrap_or(RawValue::NULL)), Err) }
            }
            Err(_) => Message::Stray,
        }),
        (None, None) if wire.error.is_some() || wire.result.is_some() => Ok(Message::Stray),
        (None, None) => Err(NotAMessage),
    }
}

/// A request as a frame. With `omit_null`, params that are null are left out.
pub(super) fn request<P: Serialize>(
    id: u64,
    method: &str,
    params: &P,
    omit_null: bool,
) -> Result<Encoded, serde_json::Error> {
    Encoded::build(|out| {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(id.to_string().as_bytes());
        out.push(b',');
        method_and_params(out, method, params, omit_null)
    })
}

/// A notification as a frame. With `omit_null`, params that are null are left out.
pub(super) fn notification<P: Serialize>(
    method: &str,
    params: &P,
    omit_null: bool,
) -> Result<Encoded, serde_json::Error> {
    Encoded::build(|out| {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
        method_and_params(out, method, params, omit_null)
    })
}

/// The cancellation of our request `id` as a frame.
pub(super) fn cancellation(id: u64) -> Encoded {
    built(Encoded::build(|out| {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{{\"id\":{id}}}}}");
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }))
}

/// The answer to the server's request `id` as a frame.
pub(super) fn answer(id: &RawValue, outcome: &Result<serde_json::Value, (i64, &'static str)>) -> Encoded {
    built(Encoded::build(|out| {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(id.get().as_bytes());
        let rest = match outcome {
            Ok(result) => format!(",\"result\":{result}}}"),
            Err((code, message)) => format!(",\"error\":{{\"code\":{code},\"message\":\"{message}\"}}}}"),
        };
        out.extend_from_slice(rest.as_bytes());
        Ok(())
    }))
}

fn built(frame: Result<Encoded, std::convert::Infallible>) -> Encoded {
    match frame {
        Ok(frame) => frame,
    }
}

fn method_and_params<P: Serialize>(
    out: &mut Vec<u8>,
    method: &str,
    params: &P,
    omit_null: bool,
) -> Result<(), serde_json::Error> {
    out.extend_from_slice(b"\"method\":");
    serde_json::to_writer(&mut *out, method)?;
    let before = out.len();
    out.extend_from_slice(b",\"params\":");
    let params_at = out.len();
    serde_json::to_writer(&mut *out, params)?;
    if omit_null && &out[params_at..] == b"null" {
        out.truncate(before);
    }
    out.push(b'}');
    Ok(())
}
