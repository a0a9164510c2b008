//! MCP over Streamable HTTP: listening, connections, shutdown. Requests are handled in `handler`.
//!
//! Invariants: at most `MAX_HTTP_CONNECTIONS` connections with a valid token are open, and few others; without tokens only a loopback address is served, and
//! beyond it only with TLS or behind proxies; at shutdown, requests in flight have `DRAIN_MS` to end.

pub mod answer;
pub(crate) mod audit_events;
mod batch;
pub mod body;
pub mod connection;
mod connection_shares;
pub(crate) mod credentials;
pub mod handler;
pub mod host;
mod http2;
mod http2_activity;
pub mod media;
pub mod minting;
mod options;
pub mod path;
pub mod probes;
pub mod refusal;
mod request_head;
mod request_session;
mod resource_metadata;
pub mod session;
pub mod socket;
mod stateless;
mod subscriptions;
mod thread_affinity;
pub mod tls_connection;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::connection_shares::ConnectionShares;
use self::handler::{ConnectionService, McpEndpoint};
pub use self::host::{AllowedHosts, AllowedOrigins};
pub use self::options::{ConnectionLimits, HttpOptions};
use crate::accept::{accept_until_shutdown, drain};
use crate::limits::DRAIN_MS;
use codeyard_gateway::service::Service;

/// The reason of connections that are closed because they come from elsewhere than from a proxy.
pub(crate) const NOT_A_PROXY: &str = "not_a_proxy";
/// The reason of connections whose TLS handshake fails.
pub(crate) const TLS_HANDSHAKE: &str = "tls_handshake";
/// The reasons of connections that are closed before there is a request.
pub const CONNECTION_REJECTIONS: [&str; 2] = [NOT_A_PROXY, TLS_HANDSHAKE];

/// Why the HTTP server can't start.
#[derive(Debug, thiserror::Error)]
pub enum HttpServerError {
    /// The listener isn't bound to a loopback address, and there are no tokens.
    #[error("without tokens the server listens on loopback addresses only; use 127.0.0.1, or create a token")]
    OpenWithoutToken,
    /// The listener isn't bound to a loopback address, and has neither TLS nor proxies.
    #[error("plain HTTP is served on loopback addresses only; set server.tls, or server.behind_proxy")]
    PlainBeyondLoopback,
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
    let is_loopback = listener.local_addr()?.ip().is_loopback();
    if options.auth.is_none() && !is_loopback {
        return Err(HttpServerError::OpenWithoutToken);
    }
    if options.tls.is_none() && options.proxies.is_empty() && !is_loopback {
        return Err(HttpServerError::PlainBeyondLoopback);
    }
    let tls = options.tls.clone();
    let proxies = options.proxies.clone();
    let limits = options.connections.clone();
    let metrics = service.metrics();
    let endpoint = Arc::new(McpEndpoint::new(service, options, shutdown.clone()));
    let shares = ConnectionShares::new(limits.clone());
    let connections = accept_until_shutdown(
        "HTTP listener",
        usize::MAX,
        &shutdown,
        || listener.accept(),
        |(stream, peer), connections| {
            let endpoint = endpoint.clone();
            let limits = limits.clone();
            let shutdown = shutdown.clone();
            let shares = shares.clone();
            let metrics = metrics.clone();
            if !proxies.admit(peer.ip()) {
                metrics.rejected(NOT_A_PROXY);
                return;
            }
            let tls = tls.clone();
            connections.spawn(async move {
                let (place, closes_another) = shares.open(peer.ip()).await;
                if closes_another {
                    metrics.shed("connection");
                }
                let _ = stream.set_nodelay(true);
                let connection = ConnectionService { endpoint, peer, caller: None, place };
                match tls {
                    None => thread_affinity::serve(stream, connection, limits, shutdown).await,
                    Some(tls) => tls_connection::serve_mcp(stream, &tls, connection, &limits, shutdown).await,
                }
            });
        },
    )
    .await;
    drop(listener);
    endpoint.sessions.close();
    drain(connections, Duration::from_millis(DRAIN_MS)).await;
    Ok(())
}
