//! `/livez`, `/readyz` and `/metrics`: what a supervisor of processes and a scraper ask, without a token, on loopback only.
//!
//! On the main listener they are there for a program on this machine that reached us directly. For everybody else they look
//! like any unknown path. Invariants: no path, no argument and no secret is told, only names of ours; nothing is changed.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::host::{AllowedHosts, AllowedOrigins};

/// Says what fails now.
pub type Checks = Arc<dyn Fn() -> BoxFuture<'static, Vec<Failing>> + Send + Sync>;
/// Writes the metrics in Prometheus' text format.
pub type Exposition = Arc<dyn Fn() -> String + Send + Sync>;

/// What the three paths stand on.
#[derive(Clone)]
pub struct Probes {
    /// For `/readyz`.
    pub checks: Checks,
    /// For `/metrics`.
    pub exposition: Exposition,
}

/// One of the three paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// `/livez`
    Live,
    /// `/readyz`
    Ready,
    /// `/metrics`
    Metrics,
}

/// The process answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Liveness {
    /// Always true.
    pub live: bool,
}

/// Whether the service answers as it should.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Readiness {
    /// Nothing fails.
    pub ready: bool,
    /// What fails.
    pub failing: Vec<Failing>,
}

/// Something that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Failing {
    /// What it is.
    pub check: Check,
    /// In which workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Which kind of language server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// What can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The engine doesn't answer.
    Engine,
    /// The service is stopping.
    Draining,
    /// A workspace couldn't be opened.
    WorkspaceNotOpen,
    /// A workspace doesn't answer.
    WorkspaceNotAnswering,
    /// A workspace's files aren't watched any more.
    WatcherGone,
    /// A language server failed too often and is left alone for a while.
    ServerQuarantined,
}

impl Probe {
    /// The probe at this path.
    pub fn at(path: &str) -> Option<Self> {
        match path {
            "/livez" => Some(Self::Live),
            "/readyz" => Some(Self::Ready),
            "/metrics" => Some(Self::Metrics),
            _ => None,
        }
    }

    /// The probe that a request from `peer` to the main listener asks for, if it is one that may.
    pub(super) fn of(parts: &Parts, peer: SocketAddr) -> Option<Self> {
        let probe = Self::at(parts.uri.path())?;
        let reads = matches!(parts.method, Method::GET | Method::HEAD);
        (reads && is_local(parts, peer)).then_some(probe)
    }
}

impl Probes {
    /// The answer to a probe.
    pub async fn answer(&self, probe: Probe) -> Response {
        match probe {
            Probe::Live => json(StatusCode::OK, &Liveness { live: true }),
            Probe::Ready => {
                let failing = (self.checks)().await;
                let status = if failing.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                json(status, &Readiness { ready: failing.is_empty(), failing })
            }
            Probe::Metrics => {
                let exposition = self.exposition.clone();
                // Collecting may take its time; other connections of this thread needn't wait.
                let text = tokio::task::spawn_blocking(move || exposition()).await.unwrap_or_default();
                typed(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text.into_bytes())
            }
        }
    }
}

/// Whether a program on this machine asks, directly: from a loopback address, by a loopback name, through no proxy, and no
/// page of another host.
fn is_local(parts: &Parts, peer: SocketAddr) -> bool {
    peer.ip().to_canonical().is_loopback()
        && AllowedHosts::default().check(parts).is_ok()
        && AllowedOrigins::default().check(&parts.headers).is_ok()
        && !is_forwarded(&parts.headers)
}

fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let name = name.as_str();
        matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded")
    })
}

fn json(status: StatusCode, document: &impl Serialize) -> Response {
    typed(status, "application/json", serde_json::to_vec(document).unwrap_or_default())
}

fn typed(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
