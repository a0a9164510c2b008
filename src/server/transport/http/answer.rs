//! HTTP responses to served requests.
//!
//! A response is JSON, or an event stream if the call's first step is a message (progress or a prompt). Invariants: a JSON-RPC error
//! that answers a valid request of a session has status 200, overload has 503 with `Retry-After`; an event stream ends with the answer,
//! or without one if the request was cancelled or its credential has ended.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::credentials::Revocation;
use super::refusal::NO_TOKEN;
use super::subscriptions::SubscriptionPlace;
use crate::transport::pending::{AnswerStep, FinalAnswer, PendingAnswer};
use codeyard_gateway::service::ShedBy;
use codeyard_protocol::id::RequestId;
use codeyard_protocol::{stateless, write};

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

/// The response to the registration of an OAuth client, which many hosts begin after a 401 (RFC 7591, section 3.2.2). They show its
/// description to their users.
pub fn no_oauth() -> Response {
    let body = serde_json::json!({"error": "invalid_client_metadata", "error_description": NO_TOKEN});
    with_status(StatusCode::BAD_REQUEST, body.to_string().into_bytes())
}

/// The response to a request that has authenticated while as many connections as there may be have. It closes the connection.
pub fn too_many_connections() -> Response {
    const BODY: &[u8] = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"too many connections. Ask again in 1 s.","data":{"reason":"overloaded","retryAfterMs":1000}}}"#;
    let mut response = json(BODY.to_vec());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// `status` with a JSON-RPC message.
pub fn with_status(status: StatusCode, message: Vec<u8>) -> Response {
    let mut response = json(message);
    *response.status_mut() = status;
    response
}

/// The response with a final answer.
pub fn reply(answer: FinalAnswer) -> Response {
    let mut response = json(answer.message);
    if let Some((by, retry_after_ms)) = answer.shed {
        *response.status_mut() = match by {
            ShedBy::Overload => StatusCode::SERVICE_UNAVAILABLE,
            ShedBy::Quota => StatusCode::TOO_MANY_REQUESTS,
            ShedBy::Scope(missing) => {
                *response.status_mut() = StatusCode::FORBIDDEN;
                response.extensions_mut().insert(missing);
                return response;
            }
        };
        let seconds = retry_after_ms.div_ceil(1_000).max(1);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Waits for the first step of an answer, then responds with JSON or an event stream. A cancelled request gets no answer: its response
/// is an event stream without events. `None` if the credential of the request has ended before.
pub(super) async fn pending(mut answer: PendingAnswer, revocation: Revocation) -> Option<Response> {
    let mut revoked = Box::pin(revocation.wait());
    let first = tokio::select! {
        biased;
        first = answer.next() => first,
        () = &mut revoked => return None,
    };
    Some(match first {
        AnswerStep::Done(done) => reply(done),
        AnswerStep::Cancelled => event_stream(stream::empty()),
        AnswerStep::Message(first) => events(first, answer, revoked),
    })
}

/// The event stream of a subscription: its acknowledgement, comments that keep the connection open, and the result when the server stops.
pub(super) fn subscription(
    id: RequestId,
    place: SubscriptionPlace,
    keep_alive: Duration,
    shutdown: CancellationToken,
    revocation: Revocation,
) -> Response {
    let first = stream::iter([event(stateless::acknowledgement(&id))]);
    let rest = stream::unfold(Some((id, place, shutdown)), move |state| async move {
        let (id, place, shutdown) = state?;
        tokio::select! {
            biased;
            () = shutdown.cancelled() => {
                Some((event(write::result(&id, &stateless::subscription_end(&id))), None))
            }
            () = sleep(keep_alive) => Some((Bytes::from_static(b": keep-alive\n\n"), Some((id, place, shutdown)))),
        }
    });
    event_stream(first.chain(rest).take_until(Box::pin(revocation.wait())))
}

fn events(first: Vec<u8>, answer: PendingAnswer, revoked: impl Future<Output = ()> + Send + 'static) -> Response {
    let rest = stream::unfold(Some(answer), |state| async move {
        let mut answer = state?;
        match answer.next().await {
            AnswerStep::Message(message) => Some((event(message), Some(answer))),
            AnswerStep::Done(done) => Some((event(done.message), None)),
            AnswerStep::Cancelled => None,
        }
    });
    event_stream(stream::iter([event(first)]).chain(rest).take_until(revoked))
}

fn event_stream(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies would hold events back.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
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
