//! The credential of a request: whose it is, and its end while the request is open.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use tokio::time::sleep;

use super::handler::McpEndpoint;
use super::host::only;
use super::refusal::RefusalReason;
use codeyard_access::Principal;
use codeyard_state::TokenStore;

/// How often the credential of an open request is looked at, in milliseconds.
const CHECK_MS: u64 = 500;

/// Waits until the credential of a request is refused. An open answer ends then, so that a revoked token receives nothing for longer than a
/// second.
#[derive(Debug)]
pub(super) struct Revocation {
    tokens: Option<Arc<TokenStore>>,
    principal: Principal,
}

impl Revocation {
    /// That of a principal whose token these tokens have; without tokens it never comes.
    pub(super) fn of(tokens: Option<Arc<TokenStore>>, principal: Principal) -> Self {
        Self { tokens, principal }
    }

    pub(super) async fn wait(self) {
        let Some(tokens) = &self.tokens else { return std::future::pending().await };
        loop {
            // It was valid when the request came.
            sleep(Duration::from_millis(CHECK_MS)).await;
            if !tokens.is_valid(&self.principal) {
                return;
            }
        }
    }
}

impl McpEndpoint {
    /// The principal of the request with these headers.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Result<Principal, RefusalReason> {
        let Some(tokens) = &self.auth else {
            return Ok(Principal::local());
        };
        let value = only(headers, header::AUTHORIZATION).ok_or(RefusalReason::Bearer)?;
        bearer(tokens, value).ok_or(RefusalReason::Bearer)
    }

    /// The end of the credential of `principal`.
    pub(super) fn revocation(&self, principal: &Principal) -> Revocation {
        Revocation::of(self.auth.clone(), principal.clone())
    }
}

/// The principal of the bearer token in the value of an `Authorization` header.
pub(crate) fn bearer(tokens: &TokenStore, value: &str) -> Option<Principal> {
    let (scheme, token) = value.split_once(' ')?;
    let named = scheme.eq_ignore_ascii_case("bearer").then(|| tokens.principal(token.trim_matches(' ')));
    named.flatten()
}
