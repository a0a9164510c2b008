//! Answers to served requests, as HTTP.
//!
//! JSON as a rule; an event stream once a call has told progress, or asks a person something. Invariants: a JSON-RPC error that
//! answers a valid request rides on 200, overload on 503 with `Retry-After`; the stream ends with its one answer.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt, stream};

use crate::transport::dispatch;
use crate::transport::running::{Running, Step};
use codeyard_gateway::service::Reply;
use codeyard_protocol::id::RequestId;
use codeyard_protocol::names::REQUEST_CANCELLED;
use codeyard_protocol::write;

/// 200 with a JSON-RPC message.
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

/// The answer `reply` to the request `id`, at most `cap` bytes.
pub fn reply(id: &RequestId, reply: &Reply, cap: usize) -> Response {
    let mut response = json(dispatch::reply(id, reply, cap));
    if let Reply::Error { overloaded: true, retry_after_ms, .. }
    | Reply::Refusal { overloaded: true, retry_after_ms, .. } = reply
    {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        let seconds = retry_after_ms.unwrap_or(0).div_ceil(1_000).max(1);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Waits for the first step of a call and answers accordingly.
pub async fn running(id: RequestId, mut running: Running, cap: usize) -> Response {
    match running.next().await {
        Step::Done(done) => reply(&id, &done, cap),
        Step::Cancelled => json(cancelled(&id)),
        Step::Message(first) => events(first, id, running, cap),
    }
}

fn events(first: Vec<u8>, id: RequestId, running: Running, cap: usize) -> Response {
    let rest = stream::unfold(Some((running, id)), move |state| async move {
        let (mut running, id) = state?;
        let (message, state) = match running.next().await {
            Step::Message(message) => (message, Some((running, id))),
            Step::Done(done) => (dispatch::reply(&id, &done, cap), None),
            Step::Cancelled => (cancelled(&id), None),
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
