//! MCP over Streamable HTTP: listening, connections, shutdown. Requests are handled in `handler`.
//!
//! Invariants: at most `MAX_HTTP_CONNECTIONS` connections are open; without tokens only a loopback address is served; at
//! shutdown, requests in flight have `DRAIN_MS` to end.

pub mod answer;
pub mod body;
pub mod connection;
pub mod handler;
pub mod host;
pub mod media;
mod options;
pub mod path;
pub mod probes;
pub mod refusal;
pub mod session;
pub mod socket;
mod thread_affinity;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use self::handler::McpEndpoint;
pub use self::host::{AllowedHosts, AllowedOrigins};
pub use self::options::{ConnectionLimits, HttpOptions};
use self::socket::HttpSocket;
use crate::accept::{accept_until_shutdown, drain};
use crate::limits::{DRAIN_MS, MAX_HTTP_REJECTIONS};
use codeyard_gateway::service::Service;

/// Why the HTTP server can't start.
#[derive(Debug, thiserror::Error)]
pub enum HttpServerError {
    /// The listener isn't bound to a loopback address, and there are no tokens.
    #[error("without tokens the server listens on loopback addresses only; use 127.0.0.1, or create a token")]
    OpenWithoutToken,
    /// The listener is unusable.
    #[error("cannot use the listener: {0}")]
    Listener(#[from] io::Error),
}

/// Serves on `listener` until `shutdown`, then lets requests in flight end.
///
/// # Errors
/// [`HttpServerError`], before any connection is accepted.
pub async fn serve(
    listener: TcpListener,
    service: Arc<dyn Service>,
    options: HttpOptions,
    shutdown: CancellationToken,
) -> Result<(), HttpServerError> {
    if options.auth.is_none() && !listener.local_addr()?.ip().is_loopback() {
        return Err(HttpServerError::OpenWithoutToken);
    }
    let limits = options.connections.clone();
    let metrics = service.metrics();
    let endpoint = Arc::new(McpEndpoint::new(service, options));
    let slots = Arc::new(Semaphore::new(limits.connections));
    let rejections = Arc::new(Semaphore::new(MAX_HTTP_REJECTIONS));
    let connections = accept_until_shutdown(
        "HTTP listener",
        usize::MAX,
        &shutdown,
        || listener.accept(),
        |(stream, peer), connections| {
            if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
                let (endpoint, limits, shutdown) = (endpoint.clone(), limits.clone(), shutdown.clone());
                connections.spawn(async move {
                    let _slot = slot;
                    let _ = stream.set_nodelay(true);
                    thread_affinity::serve(stream, peer, endpoint, limits, shutdown).await;
                });
            } else if let Ok(slot) = Arc::clone(&rejections).try_acquire_owned() {
                metrics.shed("connection");
                connections.spawn(reject_connection(stream, slot));
            } else {
                metrics.shed("connection");
            }
        },
    )
    .await;
    drop(listener);
    endpoint.sessions.close();
    drain(connections, Duration::from_millis(DRAIN_MS)).await;
    Ok(())
}

/// Answers a connection beyond the cap with 503 and a retry hint, and closes it.
async fn reject_connection(stream: TcpStream, _slot: OwnedSemaphorePermit) {
    const BODY: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"too many connections; try again after the hinted time","data":{"reason":"overloaded","retryAfterMs":1000}}}"#;
    let head =
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close";
    let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{BODY}", BODY.len());
    let answered = async {
        let mut socket = stream;
        socket.write_all(text.as_bytes()).await?;
        let mut socket = HttpSocket::new(socket, Duration::from_secs(1));
        std::future::poll_fn(|cx| hyper::rt::Write::poll_shutdown(std::pin::Pin::new(&mut socket), cx)).await
    };
    // A client that doesn't read its answer is closed without one.
    let _ = tokio::time::timeout(Duration::from_secs(2), answered).await;
}
