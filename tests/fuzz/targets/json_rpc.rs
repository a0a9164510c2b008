//! JSON-RPC messages, from clients and from language servers. What is no JSON and what is no message is recognised; a parsed message is
//! written and parsed again; errors have constant texts; a frame of ours is read as what it was made of.

#![no_main]

use codeyard_fuzz::Values;
use codeyard_lsp::client::fuzzing::{ServerMessage, request_frame, server_message};
use codeyard_protocol::error::{Fault, MessageError};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::elicit::input_answer;
use codeyard_protocol::limits::{MAX_BATCH_MESSAGES, MAX_REQUEST_ID_BYTES};
use codeyard_protocol::message::{Message, parse, parse_batch};
use codeyard_protocol::revision::RevisionSet;
use codeyard_protocol::{stateless, write};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use serde_json::value::RawValue;

/// Most bytes of a message. Ids have at most half as many.
const MAX_TEXT_BYTES: usize = 2 * MAX_REQUEST_ID_BYTES;

fn from_client(bytes: &[u8]) {
    let message = parse(bytes);
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() && std::str::from_utf8(bytes).is_ok();
    match message {
        Ok(message) => {
            assert!(is_json && bytes.trim_ascii_start().starts_with(b"{"));
            accepted(&message);
        }
        Err(error) => {
            assert_eq!(error.fault == Fault::NotJson, !is_json, "{:?}", error.fault);
            let is_list = bytes.trim_ascii_start().starts_with(b"[");
            assert_eq!(error.fault == Fault::Batch, is_json && is_list);
            if error.fault == Fault::Batch {
                batch(bytes);
            }
            refused(&error);
        }
    }
}

/// Each message of an array is what it is alone.
fn batch(bytes: &[u8]) {
    match parse_batch(bytes) {
        Ok(messages) => {
            let texts: Vec<&RawValue> = serde_json::from_slice(bytes).unwrap();
            assert_eq!(messages.len(), texts.len());
            assert!((1..=MAX_BATCH_MESSAGES).contains(&messages.len()));
            for (message, text) in messages.iter().zip(texts) {
                assert_eq!(message.as_ref().err(), parse(text.get().as_bytes()).as_ref().err());
            }
        }
        Err(error) => refused(&error),
    }
}

/// What the stateless revision reads of a request, and what it adds to a result.
fn stateless_parts(params: Option<&RawValue>) {
    let meta = stateless::request_meta(params);
    assert!(meta.is_err() || stateless::names_version(params));
    if let Ok(meta) = meta {
        assert_eq!(stateless::version(params).as_deref(), Some(&*meta.version));
        let error = stateless::unsupported_version(None, &meta.version, RevisionSet::ALL);
        assert!(serde_json::from_slice::<Value>(&error).is_ok() && error.len() < 1_024);
    }
    if let Ok(round) = stateless::input_round(params, true)
        && let Some(responses) = &round.responses
    {
        drop(input_answer(responses, "permission"));
    }
    if let Some(params) = params.filter(|params| params.get().starts_with('{')) {
        let whole: Value = serde_json::from_slice(&stateless::complete(params.get().as_bytes())).unwrap_or_default();
        // A member of the same name wins, as in any object; the catalogs have none.
        assert!(whole.is_null() || whole.is_object());
    }
}

/// Writes an accepted message and parses it again.
fn accepted(message: &Message<'_>) {
    match message {
        Message::Request(request) => {
            let method = serde_json::to_string(&request.method).unwrap();
            let params = request.params.map_or("null", RawValue::get);
            let id = request.id.as_json();
            assert!(id.len() <= MAX_REQUEST_ID_BYTES);
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method},\"params\":{params}}}");
            let Ok(Message::Request(again)) = parse(text.as_bytes()) else { panic!("{text}") };
            assert_eq!((again.id.as_json(), &again.method), (id, &request.method));
            assert_eq!(again.params.map(RawValue::get), request.params.map(RawValue::get));
            answered(&request.id);
            stateless_parts(request.params);
        }
        Message::Notification(notification) => assert_ne!(notification.params.map(RawValue::get), Some("null")),
        Message::Response(response) => assert!(response.id.is_some() || response.outcome.is_err()),
    }
}

/// The answer to a request has its id, and is one line.
fn answered(id: &RequestId) {
    let text = write::result(id, b"{}");
    assert!(!text.contains(&b'\n'));
    let Ok(Message::Response(response)) = parse(&text) else { panic!("{}", String::from_utf8_lossy(&text)) };
    assert_eq!(response.id.as_ref(), Some(id));
    assert!(response.outcome.is_ok());
}

/// The answer to a message that can't be served is JSON and has nothing of the message but its id.
fn refused(error: &MessageError) {
    let text = write::fault(error);
    let value: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(value["error"]["message"], error.fault.message());
    assert_eq!(value["id"].is_null(), error.id.is_none());
}

/// A message of a language server, against the value tree that the parser doesn't build.
fn from_server(text: &str) {
    let Some(message) = server_message(text) else { return };
    // The tree has a limit of nesting, and refuses texts that the parser needn't look at.
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let members = value.as_object().unwrap_or_else(|| panic!("{text} is no object"));
    let member = |name: &str| members.get(name).filter(|value| !value.is_null());
    let tree = |raw: &String| serde_json::from_str::<Value>(raw).unwrap();
    match message {
        ServerMessage::Request(id, method, params) => {
            assert_eq!(member("id"), Some(&tree(&id)));
            assert_eq!(member("method"), Some(&Value::String(method)));
            assert_eq!(member("params"), params.as_ref().map(tree).as_ref());
        }
        ServerMessage::Notification(method, params) => {
            assert_eq!(member("id"), None);
            assert_eq!(member("method"), Some(&Value::String(method)));
            assert_eq!(member("params"), params.as_ref().map(tree).as_ref());
        }
        ServerMessage::Response(id, outcome) => {
            assert_eq!(member("method"), None);
            assert_eq!(member("id").and_then(Value::as_u64), Some(id));
            match outcome {
                Ok(result) => assert_eq!(members.get("result").unwrap_or(&Value::Null), &tree(&result)),
                Err(error) => assert_eq!(member("error"), Some(&tree(&error))),
            }
        }
        ServerMessage::Unmatched => assert_eq!(member("method"), None),
    }
}

/// A request of ours is read as what it was made of.
fn own_request(mut values: Values<'_>) {
    let id = values.long();
    let length = usize::from(values.byte());
    let method = String::from_utf8_lossy(values.bytes(length)).into_owned();
    let Ok(params) = RawValue::from_string(values.text()) else { return };
    let frame = request_frame(id, &method, &params).unwrap();
    let frame = std::str::from_utf8(&frame).unwrap();
    let (header, body) = frame.split_once("\r\n\r\n").unwrap();
    assert_eq!(header, format!("Content-Length: {}", body.len()));
    let params = Some(params.get().to_owned()).filter(|params| params != "null");
    assert_eq!(server_message(body), Some(ServerMessage::Request(id.to_string(), method, params)));
}

fuzz_target!(|data: &[u8]| {
    let mut values = Values(data);
    match values.byte() % 4 {
        0 | 1 => from_client(&values.expanded(MAX_TEXT_BYTES).bytes),
        2 => from_server(&values.expanded(MAX_TEXT_BYTES).text()),
        _ => own_request(values),
    }
});
