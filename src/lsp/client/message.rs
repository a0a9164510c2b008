//! JSON-RPC messages from a server, parsed in one pass that decodes only what is needed.
//!
//! The parser classifies a message; it doesn't know which methods or ids exist. Invariants: `params` and `result` are
//! delimited but not built; hostile nesting costs no stack; the server's ids are kept as they were written.
//!
//! The message types of JSON-RPC crates are not used: they build a value tree of `params` and `result`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::frame::EncodedFrame;

/// Longest id of a language server's request, in bytes.
const MAX_SERVER_REQUEST_ID_BYTES: usize = 256;

#[derive(Debug)]
pub(super) enum IncomingMessage<'a> {
    /// The response to our request with this id; `Err` is the error object as text.
    Response {
        id: u64,
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
    /// A response that belongs to no request: an error without an id, or an id that we never use.
    Unmatched,
    /// A request that expects a response under this id.
    Request {
        id: &'a RawValue,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
}

/// The error object of a response.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorObject<'a> {
    /// The code, such as -32601.
    pub(super) code: i64,
    /// The server's description of it.
    #[serde(borrow, default)]
    pub(super) message: Cow<'a, str>,
}

/// The text is not a JSON-RPC message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON-RPC message")]
pub(super) struct MalformedMessage;

#[derive(Deserialize)]
struct MessageFields<'a> {
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

pub(super) fn parse(text: &str) -> Result<IncomingMessage<'_>, MalformedMessage> {
    // serde would accept an array for the fields of a struct, so that `[1,"x"]` would be a request.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(MalformedMessage);
    }
    let wire: MessageFields<'_> = serde_json::from_str(text).map_err(|_| MalformedMessage)?;
    match (wire.method, wire.id) {
        (Some(method), Some(id)) => {
            let is_id = matches!(id.get().as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9'));
            if !is_id || id.get().len() > MAX_SERVER_REQUEST_ID_BYTES {
                return Err(MalformedMessage);
            }
            Ok(IncomingMessage::Request { id, method, params: wire.params })
        }
        (Some(method), None) => Ok(IncomingMessage::Notification { method, params: wire.params }),
        (None, Some(id)) => Ok(match id.get().parse() {
            // Some servers leave out a null result.
            Ok(id) => IncomingMessage::Response {
                id,
                outcome: wire.error.map_or(Ok(wire.result.unwrap_or(RawValue::NULL)), Err),
            },
            Err(_) => IncomingMessage::Unmatched,
        }),
        (None, None) if wire.error.is_some() || wire.result.is_some() => Ok(IncomingMessage::Unmatched),
        (None, None) => Err(MalformedMessage),
    }
}

/// A request as a frame. With `omit_null`, params that are null are left out.
pub(super) fn request<P: Serialize>(
    id: u64,
    method: &str,
    params: &P,
    omit_null: bool,
) -> Result<EncodedFrame, serde_json::Error> {
    EncodedFrame::build(|out| {
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
) -> Result<EncodedFrame, serde_json::Error> {
    EncodedFrame::build(|out| {
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
        method_and_params(out, method, params, omit_null)
    })
}

/// The cancellation of our request `id` as a frame.
pub(super) fn cancellation(id: u64) -> EncodedFrame {
    infallible(EncodedFrame::build(|out| {
        let text = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{{\"id\":{id}}}}}");
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }))
}

/// The response to the server's request `id` as a frame.
pub(super) fn response(id: &RawValue, outcome: &Result<serde_json::Value, (i64, &'static str)>) -> EncodedFrame {
    infallible(EncodedFrame::build(|out| {
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

fn infallible(frame: Result<EncodedFrame, std::convert::Infallible>) -> EncodedFrame {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_are_messages() {
        for text in ["[1,\"x\"]", " [null,\"x\",{}]", "[7,null,null,1]", "[]", "\"x\"", "1", "null", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(matches!(parse(" \n{\"method\":\"x\"}"), Ok(IncomingMessage::Notification { .. })));
    }
}
