//! The options of the HTTP server.

use std::sync::Arc;
use std::time::Duration;

use super::host::{AllowedHosts, AllowedOrigins};
use super::probes::Probes;
use crate::limits::{
    HTTP_BODY_TIMEOUT_MS, HTTP_HEAD_TIMEOUT_MS, HTTP_WRITE_TIMEOUT_MS, MAX_HTTP_CONNECTIONS, MAX_PROBE_CONNECTIONS,
    MAX_SESSIONS, MAX_SESSIONS_PER_PRINCIPAL, MAX_UNAUTHENTICATED_CONNECTIONS, MAX_UNAUTHENTICATED_PER_CLIENT,
    UNAUTHENTICATED_LIFE_MS,
};
use codeyard_model::limits::Limits;
use codeyard_state::TokenStore;

/// The options of the HTTP server.
#[derive(Clone)]
pub struct HttpOptions {
    /// The valid tokens. `None` disables authentication and allows loopback addresses only.
    pub auth: Option<Arc<TokenStore>>,
    /// The accepted values of `Host`.
    pub allowed_hosts: AllowedHosts,
    /// The accepted values of `Origin`.
    pub allowed_origins: AllowedOrigins,
    /// Limits of requests and answers.
    pub limits: Limits,
    /// Limits of connections.
    pub connections: ConnectionLimits,
    /// The probes behind `/livez`, `/readyz` and `/metrics`. `None` disables these paths.
    pub probes: Option<Probes>,
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
            allowed_hosts: AllowedHosts::default(),
            allowed_origins: AllowedOrigins::default(),
            limits: Limits::default(),
            connections: ConnectionLimits::default(),
            probes: None,
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
