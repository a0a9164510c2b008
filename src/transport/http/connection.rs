//! One HTTP connection, over TCP or a local socket: bounded heads, a clock on writes, an end in order.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioTimer;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::ConnectionLimits;
use super::probes::Peer;
use super::socket::Socket;
use crate::base::limits::{MAX_HTTP_HEAD_BYTES, MAX_HTTP_HEADERS};

/// The router, telling each request where it came from.
struct Told {
    router: TowerToHyperService<Router>,
    peer: Option<SocketAddr>,
}

impl Service<hyper::Request<Incoming>> for Told {
    type Response = <TowerToHyperService<Router> as Service<hyper::Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<Router> as Service<hyper::Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as Service<hyper::Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(Peer(peer));
        }
        self.router.call(request)
    }
}

/// Serves one connection to its end, or to `shutdown`: then what is in flight on it ends first.
pub async fn serve_connection<S>(
    stream: S,
    peer: Option<SocketAddr>,
    router: Router,
    limits: &ConnectionLimits,
    shutdown: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(MAX_HTTP_HEADERS)
        .max_buf_size(MAX_HTTP_HEAD_BYTES)
        .serve_connection(Socket::new(stream, limits.write), Told { router: TowerToHyperService::new(router), peer });
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
