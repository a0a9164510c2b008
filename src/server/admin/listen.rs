//! Listening for operators: the local socket, and TCP.
//!
//! Invariants: never more than `MAX_ADMIN_CONNECTIONS` on each, and one that asks nothing is closed after
//! `ADMIN_HEAD_TIMEOUT_MS`; at the local socket only processes of our own user; a stop
//! lets what is in flight end, for `DRAIN_MS`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::api::Api;
use super::dispatch::{Entrance, router};
use crate::limits::{ADMIN_HEAD_TIMEOUT_MS, DRAIN_MS, MAX_ADMIN_CONNECTIONS};
use crate::transport::attach::is_ours;
use crate::transport::http::ConnectionLimits;
use crate::transport::http::connection::serve_connection;

/// Serves operators on the local socket until `shutdown`. Bind it with [`listen`](crate::transport::attach::listen).
pub async fn serve_local(listener: UnixListener, api: Arc<Api>, shutdown: CancellationToken) {
    let router = router(api, Entrance::Local);
    accept(
        &shutdown,
        || listener.accept(),
        |(stream, _), connections: &mut JoinSet<()>| {
            if is_ours(&stream).unwrap_or(false) {
                connections.spawn(connection(stream, router.clone(), shutdown.clone()));
            } else {
                tracing::warn!("another user at the admin socket refused");
            }
        },
    )
    .await;
}

/// Serves operators over TCP until `shutdown`; `entrance` says who may come in.
pub async fn serve_tcp(listener: TcpListener, api: Arc<Api>, entrance: Entrance, shutdown: CancellationToken) {
    let router = router(api, entrance);
    accept(
        &shutdown,
        || listener.accept(),
        |(stream, _), connections: &mut JoinSet<()>| {
            connections.spawn(connection(stream, router.clone(), shutdown.clone()));
        },
    )
    .await;
}

async fn accept<T, F>(shutdown: &CancellationToken, next: impl Fn() -> F, mut take: impl FnMut(T, &mut JoinSet<()>))
where
    F: Future<Output = io::Result<T>>,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = next(), if connections.len() < MAX_ADMIN_CONNECTIONS => match accepted {
                Ok(accepted) => take(accepted, &mut connections),
                Err(error) => {
                    tracing::warn!(%error, "an operator's connection can't be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_millis(DRAIN_MS), ended).await;
    connections.shutdown().await;
}

async fn connection<S>(stream: S, router: Router, shutdown: CancellationToken)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let limits = ConnectionLimits { head: Duration::from_millis(ADMIN_HEAD_TIMEOUT_MS), ..ConnectionLimits::default() };
    serve_connection(stream, TowerToHyperService::new(router), &limits, shutdown).await;
}
