//! The probes `/livez`, `/readyz` and `/metrics` for process supervisors and scrapers.
//!
//! On the main listener they answer programs on this machine that connect directly, unless `[probes] local` is false, clients of the
//! networks of `[probes]`, and requests with a token of the probes. For all others they look like an unknown path. Invariants: an answer holds names of workspaces and servers, but no file path, argument or secret; a probe changes nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, Version, header};
use axum::response::Response;
use futures::future::BoxFuture;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::credentials::bearer;
use super::host::{AllowedHosts, AllowedOrigins, is_address, only};
use codeyard_state::TokenStore;

/// Runs the readiness checks.
pub type ReadinessChecks = Arc<dyn Fn() -> BoxFuture<'static, Readiness> + Send + Sync>;
/// Renders the metrics in Prometheus' text format.
pub type Exposition = Arc<dyn Fn() -> String + Send + Sync>;

/// The sources of the three probes.
#[derive(Clone)]
pub struct Probes {
    /// For `/readyz`.
    pub checks: ReadinessChecks,
    /// For `/metrics`.
    pub exposition: Exposition,
    /// Who may read them.
    pub access: ProbeAccess,
}

/// Who may read the probes of the main listener.
#[derive(Clone)]
pub struct ProbeAccess {
    /// Whether programs on this machine need no token.
    pub local: bool,
    /// Networks whose clients need no token.
    pub networks: Vec<IpNet>,
    /// Host names that clients of these networks may use, in addition to addresses.
    pub hosts: AllowedHosts,
    /// Tokens that give access from anywhere.
    pub tokens: Option<Arc<TokenStore>>,
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

/// The answer of `/livez`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Liveness {
    /// Always true.
    pub live: bool,
}

/// The answer of `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Readiness {
    /// Whether no check fails.
    pub ready: bool,
    /// Why the service isn't ready: it is stopping, or none of its workspaces serves.
    pub failing: Vec<FailingCheck>,
    /// What is wrong in single workspaces while the service is ready.
    #[serde(default)]
    pub degraded: Vec<FailingCheck>,
}

/// A failing check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Failing")]
pub struct FailingCheck {
    /// The check.
    pub check: ProbeCheck,
    /// The workspace, if the check is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The kind of language server, if the check is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// The readiness checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Check")]
pub enum ProbeCheck {
    /// The engine doesn't answer.
    Engine,
    /// The service is stopping.
    Draining,
    /// A workspace could not be opened.
    WorkspaceNotOpen,
    /// A workspace doesn't answer.
    WorkspaceNotAnswering,
    /// The files of a workspace are no longer watched.
    WatcherGone,
    /// A language server failed too often and is quarantined.
    ServerQuarantined,
    /// The disk of the state directory is full, so no index, token or run can be stored.
    StateDiskFull,
}

impl Probe {
    /// The probe at `path`.
    pub fn at(path: &str) -> Option<Self> {
        match path {
            "/livez" => Some(Self::Live),
            "/readyz" => Some(Self::Ready),
            "/metrics" => Some(Self::Metrics),
            _ => None,
        }
    }

    /// The probe that a request from `peer` to the main listener names, if `access` lets it be read.
    pub(super) fn of(parts: &Parts, peer: SocketAddr, access: &ProbeAccess) -> Option<Self> {
        let probe = Self::at(parts.uri.path())?;
        let reads = matches!(parts.method, Method::GET | Method::HEAD);
        (reads && (access.local && is_local(parts, peer) || access.covers(parts, peer))).then_some(probe)
    }
}

impl Probes {
    /// The answer to a probe.
    pub async fn answer(&self, probe: Probe) -> Response {
        match probe {
            Probe::Live => json(StatusCode::OK, &Liveness { live: true }),
            Probe::Ready => {
                let readiness = (self.checks)().await;
                let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                json(status, &readiness)
            }
            Probe::Metrics => {
                let exposition = self.exposition.clone();
                // Rendering may take long, so it doesn't run on the connection's thread.
                let text = tokio::task::spawn_blocking(move || exposition()).await.unwrap_or_default();
                typed(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text.into_bytes())
            }
        }
    }
}

impl Default for ProbeAccess {
    fn default() -> Self {
        Self { local: true, networks: Vec::new(), hosts: AllowedHosts::default(), tokens: None }
    }
}

impl ProbeAccess {
    /// Whether the request has a token of the probes, or comes directly from one of the networks and not from a web page.
    fn covers(&self, parts: &Parts, peer: SocketAddr) -> bool {
        let token = || only(&parts.headers, header::AUTHORIZATION);
        if self.tokens.as_ref().is_some_and(|tokens| token().and_then(|value| bearer(tokens, value)).is_some()) {
            return true;
        }
        let address = peer.ip().to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
            && (is_address(&parts.headers) || self.hosts.check(parts).is_ok())
            && AllowedOrigins::none().check(&parts.headers).is_ok()
            && !is_forwarded(parts)
    }
}

/// Whether the request comes directly from a program on this machine: from a loopback address, for a loopback host, without a
/// proxy, and not from a page of another origin.
fn is_local(parts: &Parts, peer: SocketAddr) -> bool {
    peer.ip().to_canonical().is_loopback()
        && AllowedHosts::default().check(parts).is_ok()
        && AllowedOrigins::default().check(&parts.headers).is_ok()
        && !is_forwarded(parts)
}

/// Names of headers that proxies, load balancers and content delivery networks add, besides those that [`is_of_a_proxy`] knows by
/// their parts.
const PROXY_HEADERS: [&str; 17] = [
    "via", "cdn-loop", "cf-ray", "cf-visitor", "cf-ipcountry", "cf-worker", "x-amzn-trace-id", "x-cloud-trace-context",
    "x-appengine-remote-addr", "x-envoy-external-address", "x-envoy-internal", "x-envoy-original-path",
    "x-original-host", "x-original-url", "x-rewrite-url", "x-varnish", "x-azure-ref",
];

/// Parts of the names of headers that say who a proxy's client is.
const PROXY_NAME_PARTS: [&str; 12] = [
    "forwarded", "client-ip", "clientip", "client-addr", "connecting-ip", "real-ip", "remote-ip", "remote-addr",
    "user-ip", "socketip", "original-ip", "client-connection-ip",
];

/// Whether the request shows that it has passed a proxy: a proxy on this machine has a loopback address, and its clients may have any. Many
/// proxies speak HTTP/1.0, which neither scrapers nor supervisors do.
fn is_forwarded(parts: &Parts) -> bool {
    parts.version < Version::HTTP_11 || parts.headers.keys().any(|name| is_of_a_proxy(name.as_str()))
}

/// Whether this header, in lower case, is one that proxies add. `_` counts as `-`: some servers behind a proxy read it so.
fn is_of_a_proxy(name: &str) -> bool {
    let name = name.replace('_', "-");
    PROXY_HEADERS.contains(&name.as_str()) || PROXY_NAME_PARTS.iter().any(|part| name.contains(part))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_proxies_are_recognised_and_those_of_clients_are_not() {
        for name in [
            "Forwarded", "Via", "X-Real-IP", "X-Forwarded", "X-Forwarded-For", "X_Forwarded_For", "X-Forwarded-Host",
            "X-Forwarded-Proto", "X-Original-Forwarded-For", "X-Vercel-Forwarded-For", "CF-Connecting-IP",
            "CF-Connecting-IPv6", "CF-Ray", "True-Client-IP", "Client-IP", "X-Client-IP", "X-Cluster-Client-IP",
            "Fastly-Client-IP", "Fly-Client-IP", "X-Azure-ClientIP", "X-Azure-SocketIP", "X-Envoy-External-Address",
            "X-Nf-Client-Connection-Ip", "WL-Proxy-Client-IP", "DO-Connecting-IP", "Ali-CDN-Real-IP",
            "X-Appengine-User-IP", "X-Remote-Addr", "X-Remote-IP", "CDN-Loop", "X-Amzn-Trace-Id",
        ] {
            assert!(is_of_a_proxy(&name.to_ascii_lowercase()), "{name}");
        }
        for name in [
            "host",
            "accept",
            "accept-encoding",
            "user-agent",
            "connection",
            "traceparent",
            "x-prometheus-scrape-timeout-seconds",
        ] {
            assert!(!is_of_a_proxy(name), "{name}");
        }
    }
}
