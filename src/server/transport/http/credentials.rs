//! The credential of a request: whose it is, and its end while the request is open.
//!
//! Invariant: a token of codeyard is looked up before anything of an authorization server is asked.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde_json::json;
use tokio::time::sleep;

use super::handler::{Client, McpEndpoint};
use super::host::only;
use super::path::EndpointPath;
use super::refusal::{HttpRefusal, RefusalReason};
use codeyard_access::{Credential, CredentialKind, Operation, OperationSet, Principal};
use codeyard_audit::{AuditEvent, EventKind};
use codeyard_gateway::service::operations_of;
use codeyard_signon::{SignOn, SignedOn, TokenProblem};
use codeyard_state::TokenStore;

/// How often the credential of an open request is looked at, in milliseconds.
const CHECK_MS: u64 = 500;

/// Waits until the credential of a request is refused. An open answer ends then, so that a revoked token receives nothing for longer than a
/// second.
#[derive(Debug)]
pub(super) struct Revocation {
    tokens: Option<Arc<TokenStore>>,
    sign_on: Arc<SignOn>,
    principal: Principal,
}

impl Revocation {
    pub(super) async fn wait(self) {
        let Some(tokens) = &self.tokens else { return std::future::pending().await };
        loop {
            // It was valid when the request came.
            sleep(Duration::from_millis(CHECK_MS)).await;
            let is_valid = match &self.principal.credential {
                Some(Credential { kind: CredentialKind::SignedOn { .. }, .. }) => {
                    self.sign_on.is_valid(&self.principal)
                }
                _ => tokens.is_valid(&self.principal),
            };
            if !is_valid {
                return;
            }
        }
    }

    /// What the credential allows.
    pub(super) fn operations(&self) -> OperationSet {
        self.principal.scope.operations()
    }
}

impl McpEndpoint {
    /// The principal of a request: that of its token, or without one that of the client's certificate. The first request with an access token may
    /// wait for the keys of its issuer.
    pub(super) async fn principal(&self, parts: &Parts, client: &Client) -> Result<Principal, HttpRefusal> {
        let Some(tokens) = &self.auth else {
            return Ok(Principal::local());
        };
        if let Some(named) = client.certificate.as_ref().filter(|_| !parts.headers.contains_key(header::AUTHORIZATION))
        {
            return Ok(named.clone());
        }
        let path = parts.uri.path();
        let token = only(&parts.headers, header::AUTHORIZATION).and_then(bearer_text);
        let token = token.ok_or_else(|| self.unauthorized(path, None))?;
        if let Some(principal) = tokens.principal(token) {
            return Ok(principal);
        }
        if !self.sign_on.is_on() {
            return Err(RefusalReason::Bearer.into());
        }
        let SignedOn { principal, is_new } =
            self.sign_on.principal(token, path).await.map_err(|problem| match problem {
                TokenProblem::NoRule => HttpRefusal::of_sign_on(RefusalReason::NoTenant, problem),
                TokenProblem::Unavailable => HttpRefusal::of_sign_on(RefusalReason::SignOn, problem),
                problem => self.unauthorized(path, Some(problem)),
            })?;
        if is_new {
            let operations: Vec<&str> = principal.scope.operations().iter().map(Operation::as_str).collect();
            let event = AuditEvent::new(EventKind::SignOn, "ok");
            let arguments = Some(json!({ "operations": operations }));
            self.audit(&principal, client.address, AuditEvent { arguments, ..event });
        }
        Ok(principal)
    }

    /// The principal of a request with these headers, if nothing has to be asked for it.
    pub(super) fn known_principal(&self, headers: &HeaderMap, path: &str) -> Option<Principal> {
        match &self.auth {
            None => Some(Principal::local()),
            Some(_) => self.known_bearer(only(headers, header::AUTHORIZATION)?, path),
        }
    }

    /// The principal of the value of an `Authorization` header, if nothing has to be asked for it.
    pub(super) fn known_bearer(&self, value: &str, path: &str) -> Option<Principal> {
        let token = bearer_text(value)?;
        let of_ours = self.auth.as_ref().and_then(|tokens| tokens.principal(token));
        of_ours.or_else(|| self.sign_on.known(token, path))
    }

    /// The end of the credential of `principal`.
    pub(super) fn revocation(&self, principal: &Principal) -> Revocation {
        Revocation { tokens: self.auth.clone(), sign_on: self.sign_on.clone(), principal: principal.clone() }
    }

    /// The response to a call whose credential lacks a scope says which scopes to ask for: those that it has, and the missing one.
    pub(super) fn with_missing_scope(&self, mut response: Response, path: &str, operations: OperationSet) -> Response {
        if let Some(missing) = response.extensions().get::<Operation>() {
            let error = Some(("insufficient_scope", "the access token lacks a scope that this call needs"));
            let challenge = self.sign_on.challenge(path, error, operations.with(*missing));
            if let Some(value) = challenge.and_then(|text| HeaderValue::from_str(&text).ok()) {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
            }
        }
        response
    }

    fn unauthorized(&self, path: &str, problem: Option<TokenProblem>) -> HttpRefusal {
        let sentence = problem.as_ref().map(ToString::to_string);
        let error = sentence.as_deref().map(|sentence| ("invalid_token", sentence));
        let resource = if EndpointPath::parse(path).is_some() { path } else { "" };
        match self.sign_on.challenge(resource, error, operations_at(path)) {
            Some(challenge) => HttpRefusal::of_challenge(&challenge, sentence),
            None => RefusalReason::Bearer.into(),
        }
    }
}

/// What the tools at an endpoint path do. Nothing is looked up: the catalogs are in the path.
pub(super) fn operations_at(path: &str) -> OperationSet {
    EndpointPath::parse(path).map_or(OperationSet::CALLS, |endpoint| operations_of(endpoint.catalogs.as_deref()))
}

/// The principal of the token of codeyard in the value of an `Authorization` header.
pub(crate) fn bearer(tokens: &TokenStore, value: &str) -> Option<Principal> {
    tokens.principal(bearer_text(value)?)
}

/// The token in the value of an `Authorization` header.
fn bearer_text(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_matches(' '))
}
