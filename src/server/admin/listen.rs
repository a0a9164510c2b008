//! The listeners of the admin API: the local socket, and TCP.
//!
//! Invariants: each listener has at most `MAX_ADMIN_CONNECTIONS` connections; a connection without a request head is closed after
//! `ADMIN_HEAD_TIMEOUT_MS`; the local socket serves processes of our own user only; at shutdown, requests in flight have
//! `DRAIN_MS` to end.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_util::sync::CancellationToken;

use super::api::Api;
use super::dispatch::{Access, router};
use crate::accept::{accept_until_shutdown, drain};
use crate::limits::DRAIN_MS;
use crate::proxies::TrustedProxies;
use crate::tls::ServerTls;
use crate::transport::attach::is_ours;
use crate::transport::http::connection::serve_connection;
use crate::transport::http::{ConnectionLimits, NOT_A_PROXY, tls_connection};
use codeyard_telemetry::Metrics;

/// Connections to the admin socket, and as many to the admin TCP listener.
const MAX_ADMIN_CONNECTIONS: usize = 64;
/// An admin connection without a whole request head is closed after this time, in milliseconds; an idle one too. Short, because a
/// client without a token can occupy a connection for this time.
const ADMIN_HEAD_TIMEOUT_MS: u64 = 2_000;

/// Serves the admin API on the local socket until `shutdown`. Bind the socket with
/// [`listen`](crate::transport::attach::listen).
pub async fn serve_local(listener: UnixListener, api: Arc<Api>, shutdown: CancellationToken) {
    let router = router(api, Access::Local);
    let connections = accept_until_shutdown(
        "admin socket",
        MAX_ADMIN_CONNECTIONS,
        &shutdown,
        || listener.accept(),
        |(stream, _), connections| {
            if is_ours(&stream).unwrap_or(false) {
                connections.spawn(connection(stream, router.clone(), shutdown.clone()));
            } else {
                tracing::warn!("rejected an admin connection of another user");
            }
        },
    )
    .await;
    drain(connections, Duration::from_millis(DRAIN_MS)).await;
}

/// How the admin API is served on TCP.
pub struct TcpOptions {
    /// Checks the requests.
    pub access: Access,
    /// TLS; `None` serves plain HTTP.
    pub tls: Option<Arc<ServerTls>>,
    /// The proxies in front.
    pub proxies: Arc<TrustedProxies>,
    /// Count what is refused before there is a request.
    pub metrics: Arc<dyn Metrics>,
}

/// Serves the admin API over TCP until `shutdown`.
pub async fn serve_tcp(listener: TcpListener, api: Arc<Api>, options: TcpOptions, shutdown: CancellationToken) {
    let TcpOptions { access, tls, proxies, metrics } = options;
    let router = router(api, access).layer(Extension(proxies.clone()));
    let connections = accept_until_shutdown(
        "admin TCP listener",
        MAX_ADMIN_CONNECTIONS,
        &shutdown,
        || listener.accept(),
        |(stream, peer), connections| {
            if !proxies.admit(peer.ip()) {
                metrics.rejected(NOT_A_PROXY);
                return;
            }
            let router = router.clone().layer(Extension(ConnectInfo(peer)));
            match &tls {
                None => drop(connections.spawn(connection(stream, router, shutdown.clone()))),
                Some(tls) => {
                    let encrypted = encrypted(stream, tls.clone(), router, metrics.clone(), shutdown.clone());
                    connections.spawn(encrypted);
                }
            }
        },
    )
    .await;
    drain(connections, Duration::from_millis(DRAIN_MS)).await;
}

async fn connection<S>(stream: S, router: Router, shutdown: CancellationToken)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    serve_connection(stream, TowerToHyperService::new(router), &limits(), shutdown).await;
}

async fn encrypted(
    stream: TcpStream,
    tls: Arc<ServerTls>,
    router: Router,
    metrics: Arc<dyn Metrics>,
    shutdown: CancellationToken,
) {
    if let Some(accepted) = tls_connection::accept(stream, &tls, &*metrics, &shutdown).await {
        tls_connection::serve(accepted, TowerToHyperService::new(router), &limits(), shutdown).await;
    }
}

fn limits() -> ConnectionLimits {
    ConnectionLimits { head: Duration::from_millis(ADMIN_HEAD_TIMEOUT_MS), ..ConnectionLimits::default() }
}
