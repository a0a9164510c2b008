//! The audit line of one admin request.
//!
//! Invariant: a request that may have changed something has a line, whether or not its client waits for the answer.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::route::AdminCaller;
use crate::proxies::TrustedProxies;
use crate::transport::http::audit_events::method_name;
use codeyard_audit::{AuditEvent, AuditLog, EventKind};

/// The verdict of a request whose client has gone before the answer.
const CANCELLED: &str = "CANCELLED";

/// What is known of a request. Dropped without an end, it writes that the client has gone.
pub(super) struct AdminRecord {
    audit: Option<Arc<AuditLog>>,
    method: &'static str,
    changes: bool,
    path: String,
    from: Option<String>,
    /// Who sends it, once that is known.
    pub(super) caller: Option<AdminCaller>,
    /// The folders that the request opens.
    roots: Option<Value>,
}

impl AdminRecord {
    /// The record of a request; `is_local` if it came over the local socket.
    pub(super) fn begin(audit: Option<Arc<AuditLog>>, parts: &Parts, is_local: bool) -> Self {
        let from = if is_local { Some("local".to_owned()) } else { client(parts).map(|client| client.to_string()) };
        let path = audit.as_ref().map(|audit| audit.path(parts.uri.path())).unwrap_or_default();
        let changes = ![Method::GET, Method::HEAD].contains(&parts.method);
        Self { audit, method: method_name(&parts.method), changes, path, from, caller: None, roots: None }
    }

    /// Keeps the folders that a body names. Its other members may be secrets.
    pub(super) fn keep_roots(&mut self, body: &[u8]) {
        let Some(Value::Object(body)) = self.audit.as_ref().and_then(|_| serde_json::from_slice(body).ok()) else {
            return;
        };
        let named =
            ["roots", "extra_roots"].into_iter().filter_map(|key| Some((key.to_owned(), body.get(key)?.clone())));
        let named: serde_json::Map<String, Value> = named.collect();
        let named = Some(Value::Object(named)).filter(|named| named != &json!({}));
        self.roots = named.zip(self.audit.as_ref()).map(|(named, audit)| audit.texts(named));
    }

    /// The request was answered.
    pub(super) fn end(mut self, status: StatusCode) {
        let is_refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status);
        if self.changes || is_refused {
            self.write(status.as_str());
        }
        self.audit = None;
    }

    fn write(&self, verdict: &str) {
        let Some(audit) = &self.audit else { return };
        let mut arguments = json!({ "path": self.path });
        if let Some(roots) = &self.roots {
            arguments["folders"] = roots.clone();
        }
        let event = AuditEvent {
            from: self.from.as_deref().map(Into::into),
            operation: Some(self.method),
            arguments: Some(arguments),
            ..AuditEvent::new(EventKind::Admin, verdict)
        };
        let event = match self.caller.as_ref().map(|caller| caller.0.as_ref()) {
            None => {
                audit.write_bounded(&event);
                return;
            }
            Some(Some(principal)) => event.by(principal),
            // The kernel has checked that a local caller is codeyard's user.
            Some(None) => AuditEvent { principal: Some("operator"), ..event },
        };
        // What was done is done. A line that is missing is counted, and calls are refused from then on.
        audit.write(&event);
    }
}

/// The address of the client of a request on TCP.
fn client(parts: &Parts) -> Option<IpAddr> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>()?.0;
    let proxies = parts.extensions.get::<Arc<TrustedProxies>>()?;
    Some(proxies.client(&parts.headers, peer))
}

impl Drop for AdminRecord {
    fn drop(&mut self) {
        if self.changes && self.caller.is_some() {
            self.write(CANCELLED);
        }
    }
}
