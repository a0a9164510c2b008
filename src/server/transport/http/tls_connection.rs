//! One connection with TLS, from its handshake to its end.
//!
//! Invariant: until the handshake is done, the connection counts as one without authentication.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::Service;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::TLS_HANDSHAKE;
use super::connection::serve_connection;
use super::handler::ConnectionService;
use super::http2::serve_http2;
use super::options::ConnectionLimits;
use crate::tls::{ServerTls, TlsConnection};
use codeyard_telemetry::Metrics;

/// Serves a connection to the MCP endpoints until it ends or must close, or until `shutdown`.
pub(super) async fn serve_mcp(
    stream: TcpStream,
    tls: &Arc<ServerTls>,
    mut connection: ConnectionService,
    limits: &ConnectionLimits,
    shutdown: CancellationToken,
) {
    let place = connection.place.clone();
    let metrics = connection.endpoint.service.metrics();
    let served = async {
        if let Some(mut accepted) = accept(stream, tls, &*metrics, &shutdown).await {
            connection.caller = accepted.caller.take();
            serve(accepted, connection, limits, shutdown).await;
        }
    };
    place.while_open(served).await;
}

/// The handshake of a connection; `None` if it fails, which is counted, or at `shutdown`.
pub(crate) async fn accept(
    stream: TcpStream,
    tls: &Arc<ServerTls>,
    metrics: &dyn Metrics,
    shutdown: &CancellationToken,
) -> Option<TlsConnection> {
    let accepted = tokio::select! {
        biased;
        () = shutdown.cancelled() => return None,
        accepted = tls.accept(stream) => accepted,
    };
    match accepted {
        Ok(connection) => Some(connection),
        Err(error) => {
            metrics.rejected(TLS_HANDSHAKE);
            tracing::debug!(%error, "a TLS handshake failed");
            None
        }
    }
}

/// Serves a connection after its handshake, with the protocol that its client has chosen.
pub(crate) async fn serve<H>(
    connection: TlsConnection,
    handler: H,
    limits: &ConnectionLimits,
    shutdown: CancellationToken,
) where
    H: Service<hyper::Request<Incoming>, Response = Response, Error = Infallible> + Send + Sync + 'static,
    H::Future: Send + 'static,
{
    if connection.is_http2 {
        serve_http2(connection.stream, handler, limits, shutdown).await;
    } else {
        serve_connection(connection.stream, handler, limits, shutdown).await;
    }
}
