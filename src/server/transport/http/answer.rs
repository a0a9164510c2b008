//! HTTP responses to served requests.
//!
//! A response is JSON, or an event stream if the call's first step is a message (progress or a prompt). Invariants: a JSON-RPC error
//! that answers a valid request has status 200, overload has 503 with `Retry-After`; an event stream ends with the answer.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt, stream};

use crate::transport::dispatch;
use crate::transport::running::{CallStep, RunningCall};
use codeyard_gateway::service::ToolReply;
use codeyard_protocol::id::RequestId;
use codeyard_protocol::names::REQUEST_CANCELLED;
use codeyard_protocol::write;

/// Status 200 with a JSON-RPC message.
pub fn json(message: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(message));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A status without a body.
pub fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The response to a request that has authenticated while as many connections as there may be have. It closes the connection.
pub fn too_many_connections() -> Response {
    const BODY: &[u8] = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"too many connections; try again after the hinted time","data":{"reason":"overloaded","retryAfterMs":1000}}}"#;
    let mut response = json(BODY.to_vec());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The response with `reply` to the request `id`, at most `cap` bytes of JSON-RPC.
pub fn reply(id: &RequestId, reply: &ToolReply, cap: usize) -> Response {
    let mut response = json(dispatch::reply(id, reply, cap));
    if let ToolReply::Error { overloaded: true, retry_after_ms, .. }
    | ToolReply::Refusal { overloaded: true, retry_after_ms, .. } = reply
    {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        let seconds = retry_after_ms.unwrap_or(0).div_ceil(1_000).max(1);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Waits for the first step of a call, then responds with JSON or an event stream.
pub async fn running(id: RequestId, mut running: RunningCall, cap: usize) -> Response {
    match running.next().await {
        CallStep::Done(done) => reply(&id, &done, cap),
        CallStep::Cancelled => json(cancelled(&id)),
        CallStep::Message(first) => events(first, id, running, cap),
    }
}

fn events(first: Vec<u8>, id: RequestId, running: RunningCall, cap: usize) -> Response {
    let rest = stream::unfold(Some((running, id)), move |state| async move {
        let (mut running, id) = state?;
        let (message, state) = match running.next().await {
            CallStep::Message(message) => (message, Some((running, id))),
            CallStep::Done(done) => (dispatch::reply(&id, &done, cap), None),
            CallStep::Cancelled => (cancelled(&id), None),
        };
        Some((event(message), state))
    });
    let first = stream::iter([event(first)]);
    let mut response = Response::new(Body::from_stream(first.chain(rest).map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn event(message: Vec<u8>) -> Bytes {
    let message = write::one_line(message);
    let mut event = Vec::with_capacity(message.len() + 24);
    event.extend_from_slice(b"event: message\ndata: ");
    event.extend_from_slice(&message);
    event.extend_from_slice(b"\n\n");
    event.into()
}

fn cancelled(id: &RequestId) -> Vec<u8> {
    let data = b"{\"reason\":\"cancelled\"}";
    write::error(Some(id), REQUEST_CANCELLED, "the client cancelled the request", Some(data))
}
