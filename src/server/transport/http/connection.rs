//! One HTTP/1.1 connection, over TCP, TLS or a local socket.
//!
//! Invariants: request heads are bounded in size and time; a write without progress times out; at shutdown the request in flight
//! is answered before the connection closes.

use std::convert::Infallible;

use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::options::ConnectionLimits;
use super::socket::HttpSocket;
use crate::limits::MAX_HTTP_HEAD_BYTES;

/// Header fields of an HTTP request.
pub(super) const MAX_HTTP_HEADERS: usize = 64;

/// Serves one connection to its end, or until `shutdown`; then the request in flight is answered first.
pub async fn serve_connection<S, H>(stream: S, handler: H, limits: &ConnectionLimits, shutdown: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Service<hyper::Request<Incoming>, Response = Response, Error = Infallible>,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(MAX_HTTP_HEADERS)
        // The handler refuses a head over the limit with a reason. This bounds what is buffered until then.
        .max_buf_size(2 * MAX_HTTP_HEAD_BYTES)
        .serve_connection(HttpSocket::new(stream, limits.write), handler);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
}
