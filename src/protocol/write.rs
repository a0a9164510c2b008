//! Writes our messages as JSON text.
//!
//! Results are JSON text that is copied, not parsed. Invariants: the id is the request's own token; an answer over its cap is
//! replaced by an error and never truncated.

use serde::Serialize;

use super::error::MessageError;
use super::id::RequestId;
use super::names::{INTERNAL_ERROR, PROGRESS};
use super::progress::ProgressReading;

/// The response with `result`, which is JSON text.
pub fn result(id: &RequestId, result: &[u8]) -> Vec<u8> {
    let id = id.as_json();
    let mut out = Vec::with_capacity(36 + id.len() + result.len());
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(result);
    out.push(b'}');
    out
}

/// The error response. `data` is JSON text. Without an id, the id is `null`.
pub fn error(id: Option<&RequestId>, code: i32, message: &str, data: Option<&[u8]>) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 + message.len() + data.map_or(0, <[u8]>::len));
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.map_or("null", RequestId::as_json).as_bytes());
    out.extend_from_slice(b",\"error\":{\"code\":");
    put(&mut out, &code);
    out.extend_from_slice(b",\"message\":");
    put(&mut out, message);
    if let Some(data) = data {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data);
    }
    out.extend_from_slice(b"}}");
    out
}

/// The error response to a message that can't be served. Its data has the reason.
pub fn fault(fault: &MessageError) -> Vec<u8> {
    let data = format!("{{\"reason\":\"{}\"}}", fault.fault.reason());
    error(fault.id.as_ref(), fault.fault.code(), fault.fault.message(), Some(data.as_bytes()))
}

/// A progress notification.
pub fn progress(token: &RequestId, reading: ProgressReading, message: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(160);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":");
    put(&mut out, PROGRESS);
    out.extend_from_slice(b",\"params\":{\"progressToken\":");
    out.extend_from_slice(token.as_json().as_bytes());
    out.extend_from_slice(b",\"progress\":");
    put(&mut out, &reading.progress);
    if let Some(total) = reading.total {
        out.extend_from_slice(b",\"total\":");
        put(&mut out, &total);
    }
    if let Some(message) = message {
        out.extend_from_slice(b",\"message\":");
        put(&mut out, message);
    }
    out.extend_from_slice(b"}}");
    out
}

/// Returns `message`, or an error if it is longer than `cap` bytes.
pub fn bounded(message: Vec<u8>, id: &RequestId, cap: usize) -> Vec<u8> {
    bounded_to(message, Some(id), cap, cap)
}

/// Returns `message`, or an error that names the limit `cap` if it is longer than `room` bytes: what a larger message has left for it.
pub fn bounded_to(message: Vec<u8>, id: Option<&RequestId>, room: usize, cap: usize) -> Vec<u8> {
    if message.len() <= room {
        return message;
    }
    let data = format!(
        "{{\"code\":\"MCP_LSP_GATEWAY/CAP_EXCEEDED\",\"details\":{{\"reason\":\"response_bytes\",\"limit\":{cap}}}}}"
    );
    error(id, INTERNAL_ERROR, "the answer is larger than a response may be; ask for less", Some(data.as_bytes()))
}

/// Replaces raw line breaks in `message` by spaces. In JSON text they are white space between tokens.
pub fn one_line(mut message: Vec<u8>) -> Vec<u8> {
    for byte in &mut message {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    message
}

fn put<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Text and finite numbers always serialise, and a vector takes every byte.
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Fault;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    fn id(text: &str) -> RequestId {
        RequestId::parse(&RawValue::from_string(text.into()).unwrap()).unwrap()
    }

    fn value(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn responses_errors_and_notifications_are_well_formed() {
        assert_eq!(result(&id("\"\\u0061\""), b"{\"x\": 1}"), br#"{"jsonrpc":"2.0","id":"\u0061","result":{"x": 1}}"#);
        let wrong = error(Some(&id("7")), -32_603, "a \"b\"\n", Some(b"{\"c\":1}"));
        let expected =
            json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "a \"b\"\n", "data": {"c": 1}}});
        assert_eq!(value(&wrong), expected);
        let notification = progress(&id("\"t\""), ProgressReading { progress: 1.5, total: Some(2.0) }, Some("x"));
        let params = json!({"progressToken": "t", "progress": 1.5, "total": 2.0, "message": "x"});
        assert_eq!(
            value(&notification),
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        );
        for each in Fault::ALL {
            let body = value(&fault(&each.unnamed()));
            assert_eq!(body["id"], Value::Null);
            assert_eq!(body["error"]["code"], each.code());
            assert_eq!(body["error"]["data"]["reason"], each.reason());
        }
    }

    #[test]
    fn the_cap_is_exact() {
        let message = result(&id("1"), b"\"0123456789\"");
        assert_eq!(bounded(message.clone(), &id("1"), message.len()), message);
        let replaced = value(&bounded(message.clone(), &id("1"), message.len() - 1));
        assert_eq!(replaced["error"]["code"], -32603);
        assert_eq!(replaced["error"]["data"]["code"], "MCP_LSP_GATEWAY/CAP_EXCEEDED");
    }

    #[test]
    fn an_indented_result_becomes_one_line() {
        let line = one_line(result(&id("1"), b"{\r\n  \"a\": \"x\\ny\"\n}"));
        assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
        assert_eq!(value(&line)["result"], json!({"a": "x\ny"}));
    }
}
