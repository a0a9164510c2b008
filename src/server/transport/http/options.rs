//! The options of the HTTP server.

use std::sync::Arc;
use std::time::Duration;

use super::host::{AllowedHosts, AllowedOrigins};
use super::probes::Probes;
use crate::limits::{
    HTTP_BODY_TIMEOUT_MS, MAX_HTTP_CONNECTIONS, MAX_SESSIONS_PER_PRINCIPAL, MAX_UNAUTHENTICATED_CONNECTIONS,
    MAX_UNAUTHENTICATED_PER_CLIENT,
};
use crate::proxies::TrustedProxies;
use crate::tls::ServerTls;
use codeyard_audit::AuditLog;
use codeyard_model::limits::Limits;
use codeyard_signon::SignOn;
use codeyard_state::TokenStore;

/// Remembered MCP sessions. For a new one, the least recently used one of the principal with the most sessions is removed.
const MAX_SESSIONS: usize = 4_096;
/// A connection that has sent no valid token for this time is closed, in milliseconds.
const UNAUTHENTICATED_LIFE_MS: u64 = 10_000;
/// HTTP connections of permitted probes that keep their place while many clients connect.
const MAX_PROBE_CONNECTIONS: usize = 32;
/// A connection without a whole request head is closed after this time, in milliseconds; an idle one too.
const HTTP_HEAD_TIMEOUT_MS: u64 = 30_000;
/// A connection whose client reads no byte of an answer for this time is closed, in milliseconds.
const HTTP_WRITE_TIMEOUT_MS: u64 = 30_000;

/// The options of the HTTP server.
#[derive(Clone)]
pub struct HttpOptions {
    /// The valid tokens. `None` disables authentication and allows loopback addresses only.
    pub auth: Option<Arc<TokenStore>>,
    /// The authorization servers whose access tokens count too.
    pub sign_on: Arc<SignOn>,
    /// The accepted values of `Host`.
    pub allowed_hosts: AllowedHosts,
    /// The accepted values of `Origin`.
    pub allowed_origins: AllowedOrigins,
    /// Limits of requests and answers.
    pub limits: Limits,
    pub connections: ConnectionLimits,
    /// The probes behind `/livez`, `/readyz` and `/metrics`. `None` disables these paths.
    pub probes: Option<Probes>,
    /// The audit log, for what isn't a call.
    pub audit: Option<Arc<AuditLog>>,
    /// TLS; `None` serves plain HTTP.
    pub tls: Option<Arc<ServerTls>>,
    /// The proxies in front. With some, plain HTTP is served beyond loopback too.
    pub proxies: Arc<TrustedProxies>,
}

/// Limits of connections. The defaults are the limits of this crate; tests lower them.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Connections open at a time that have authenticated.
    pub connections: usize,
    /// Connections open at a time that haven't.
    pub unauthenticated: usize,
    /// The same, of one client.
    pub unauthenticated_per_client: usize,
    /// Longest time until a connection has authenticated.
    pub unauthenticated_life: Duration,
    /// Connections of probes that keep their place.
    pub probes: usize,
    /// Remembered sessions.
    pub sessions: usize,
    /// Remembered sessions of one principal.
    pub sessions_per_principal: usize,
    /// Longest time for a request's head, and longest idle time.
    pub head: Duration,
    /// Longest time for a request's body.
    pub body: Duration,
    /// Longest time without progress while an answer is written.
    pub write: Duration,
}

impl HttpOptions {
    /// Loopback hosts and origins, default limits, no probes.
    pub fn new(auth: Option<Arc<TokenStore>>) -> Self {
        Self {
            auth,
            sign_on: Arc::default(),
            allowed_hosts: AllowedHosts::default(),
            allowed_origins: AllowedOrigins::default(),
            limits: Limits::default(),
            connections: ConnectionLimits::default(),
            probes: None,
            audit: None,
            tls: None,
            proxies: Arc::default(),
        }
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: MAX_HTTP_CONNECTIONS,
            unauthenticated: MAX_UNAUTHENTICATED_CONNECTIONS,
            unauthenticated_per_client: MAX_UNAUTHENTICATED_PER_CLIENT,
            unauthenticated_life: Duration::from_millis(UNAUTHENTICATED_LIFE_MS),
            probes: MAX_PROBE_CONNECTIONS,
            sessions: MAX_SESSIONS,
            sessions_per_principal: MAX_SESSIONS_PER_PRINCIPAL,
            head: Duration::from_millis(HTTP_HEAD_TIMEOUT_MS),
            body: Duration::from_millis(HTTP_BODY_TIMEOUT_MS),
            write: Duration::from_millis(HTTP_WRITE_TIMEOUT_MS),
        }
    }
}
