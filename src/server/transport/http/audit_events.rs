//! Audit lines of what comes over HTTP and is no call of a tool.
//!
//! Invariant: no line has a token, whatever the request says.

use std::net::IpAddr;

use axum::http::Method;
use axum::http::request::Parts;
use serde_json::json;

use super::handler::{Client, McpEndpoint};
use super::refusal::HttpRefusal;
use codeyard_access::Principal;
use codeyard_audit::{AuditEvent, AuditLog, EventKind};

/// The name of a method of HTTP. Others are a sender's own text.
pub(crate) fn method_name(method: &Method) -> &'static str {
    let known = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS];
    let names = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];
    known.iter().zip(names).find(|(known, _)| *known == method).map_or("other", |(_, name)| name)
}

impl McpEndpoint {
    /// Records a request that asks for what the caller may not have.
    pub(super) fn audit_refusal(&self, audit: &AuditLog, parts: &Parts, client: &Client, refusal: &HttpRefusal) {
        if !refusal.is_of_access() {
            return;
        }
        let known = self.known_principal(&parts.headers, parts.uri.path());
        let principal = known.or_else(|| client.certificate.clone());
        let status = refusal.status();
        let event = AuditEvent {
            from: Some(client.address.to_string().into()),
            operation: Some(method_name(&parts.method)),
            arguments: Some(json!({ "path": audit.path(parts.uri.path()) })),
            reason: Some(refusal.reason()),
            ..AuditEvent::new(EventKind::Refused, status.as_str())
        };
        audit.write_bounded(&match &principal {
            Some(principal) => event.by(principal),
            None => event,
        });
    }

    /// Records that a caller began something that shows nothing of a workspace: its calls are refused if their lines can't be written.
    pub(super) fn audit(&self, principal: &Principal, peer: IpAddr, event: AuditEvent<'_>) {
        if let Some(audit) = &self.audit {
            audit.write_bounded(&AuditEvent {
                from: Some(peer.to_canonical().to_string().into()),
                ..event.by(principal)
            });
        }
    }
}

/// Records what a caller did. Whether it may go on.
pub(super) fn write(audit: &AuditLog, principal: &Principal, peer: IpAddr, event: AuditEvent<'_>) -> bool {
    audit.write(&AuditEvent { from: Some(peer.to_canonical().to_string().into()), ..event.by(principal) })
}
