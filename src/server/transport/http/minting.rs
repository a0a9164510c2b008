//! Tokens that a caller makes from its own: for a job, or for a page in a browser.
//!
//! `POST /tokens` makes one, `GET /tokens` lists those of the caller's token, `DELETE /tokens/{id}` removes one of them. Invariants: a minted
//! token allows no more than the token that it was made from, lives at most [`MAX_LIFE_S`] and ends with it; a caller sees and removes its own
//! only; its text is in the response alone.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::handler::McpEndpoint;
use super::refusal::{HttpRefusal, RefusalReason};
use super::{answer, audit_events, media};
use codeyard_access::{OperationSet, Principal};
use codeyard_audit::{AuditEvent, EventKind};
use codeyard_base::blocking;
use codeyard_base::clock::{utc, wall_s};
use codeyard_state::{TokenError, TokenGrant, TokenId, TokenInfo, TokenStore};

/// Where tokens are made.
const PATH: &str = "/tokens";
/// Longest life of a minted token, in seconds.
pub const MAX_LIFE_S: u64 = 3_600;
/// Longest body of a request for a token, in bytes.
pub(super) const MAX_TOKEN_REQUEST_BYTES: usize = 4 * 1024;
/// Life of a minted token whose request names none, in seconds.
const LIFE_S: u64 = 900;

/// What is asked at the path of tokens.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenRequest {
    Mint,
    List,
    Remove(TokenId),
}

/// The body of a request for a token.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Patterns of the workspaces, as in `codeyard token add --workspace`. Default: those of the caller's token.
    #[serde(default)]
    workspaces: Vec<String>,
    /// Operations. Default: those of the caller's token.
    operations: Option<Vec<String>>,
    /// Seconds until it is refused. Default: [`LIFE_S`].
    expires_in_s: Option<u64>,
}

/// A minted token, with its text when it is made.
#[derive(Debug, Serialize)]
struct Minted {
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(rename = "id", serialize_with = "as_text")]
    token_id: TokenId,
    workspaces: Vec<String>,
    operations: Vec<&'static str>,
    expires: Option<String>,
}

impl TokenRequest {
    /// What a request asks for; `None` if its path isn't one of tokens.
    pub(super) fn of(parts: &Parts) -> Option<Result<Self, RefusalReason>> {
        let rest = parts.uri.path().strip_prefix(PATH)?;
        let id = match rest.strip_prefix('/') {
            Some(id) => Some(TokenId::parse(id)),
            None if rest.is_empty() => None,
            None => return None,
        };
        Some(match (&parts.method, id) {
            (&Method::POST, None) => Ok(Self::Mint),
            (&Method::GET, None) => Ok(Self::List),
            (&Method::DELETE, Some(Some(id))) => Ok(Self::Remove(id)),
            (&Method::DELETE, Some(None)) => Err(RefusalReason::UnknownToken),
            _ => Err(RefusalReason::TokenMethod),
        })
    }
}

impl McpEndpoint {
    /// Serves a request for tokens of an authenticated caller. `body` is read for a new token only.
    pub(super) async fn tokens(
        &self,
        request: Result<TokenRequest, RefusalReason>,
        principal: Principal,
        parts: &Parts,
        peer: IpAddr,
        body: impl Future<Output = Result<bytes::Bytes, RefusalReason>>,
    ) -> Result<Response, HttpRefusal> {
        // Without tokens everybody may do everything.
        let minter = principal.credential.as_ref().and_then(|credential| TokenId::parse(&credential.id));
        let Some((tokens, minter)) = self.auth.clone().zip(minter) else {
            return Err(HttpRefusal::of_path(PATH));
        };
        match request? {
            TokenRequest::List => {
                let all = tokens.list().into_iter().filter(|info| info.grant.minter.as_ref() == Some(&minter));
                let all: Vec<Minted> = all.map(|info| Minted::of(&info.grant, &info.id, None)).collect();
                Ok(json_response(StatusCode::OK, &all))
            }
            TokenRequest::Remove(id) => {
                let is_own = |info: &TokenInfo| info.id == id && info.grant.minter.as_ref() == Some(&minter);
                let found = tokens.list().iter().any(is_own);
                let audit = self.audit.clone();
                // The line is written with the change, though the client has gone.
                let remove = move || {
                    let is_removed = found && tokens.remove_one(&id)?;
                    if let Some(audit) = audit.filter(|_| is_removed) {
                        // What is gone opens nothing, with or without a line.
                        audit_events::write(
                            &audit,
                            &principal,
                            peer,
                            token_event("remove", json!({ "id": id.as_str() })),
                        );
                    }
                    Ok::<_, TokenError>(is_removed)
                };
                match blocking::spawn(remove).await {
                    Ok(Ok(true)) => Ok(answer::empty(StatusCode::NO_CONTENT)),
                    Ok(Ok(false)) => Err(RefusalReason::UnknownToken.into()),
                    Ok(Err(error)) => Err(HttpRefusal::of_store(&error)),
                    Err(_) => Err(HttpRefusal::of_store(&"the work was ended")),
                }
            }
            TokenRequest::Mint => {
                media::content_type(&parts.headers)?;
                let grant = grant(&principal, minter, &body.await?).map_err(HttpRefusal::of_token)?;
                let audit = self.audit.clone();
                let mint = move || {
                    let minted = mint(&tokens, grant)?;
                    let event = token_event("mint", minted.audited());
                    let is_audited = audit.is_none_or(|audit| audit_events::write(&audit, &principal, peer, event));
                    if !is_audited {
                        tokens.remove_one(&minted.token_id)?;
                    }
                    Ok::<_, TokenError>(Some(minted).filter(|_| is_audited))
                };
                match blocking::spawn(mint).await {
                    Ok(Ok(Some(minted))) => Ok(json_response(StatusCode::CREATED, &minted)),
                    Ok(Ok(None)) => Err(HttpRefusal::of_store(&"the audit log can't be written")),
                    Ok(Err(error @ (TokenError::Workspaces(_) | TokenError::Full | TokenError::Minted))) => {
                        Err(HttpRefusal::of_token(error.to_string()))
                    }
                    Ok(Err(error)) => Err(HttpRefusal::of_store(&error)),
                    Err(_) => Err(HttpRefusal::of_store(&"the work was ended")),
                }
            }
        }
    }
}

/// What a new token is made for, or what is wrong with the request.
fn grant(principal: &Principal, minter: TokenId, body: &[u8]) -> Result<TokenGrant, String> {
    let wrong = |error: &dyn std::fmt::Display| {
        format!("the body isn't an object with `workspaces`, `operations` and `expires_in_s`, all optional: {error}")
    };
    // An array of values would be read as the object's.
    if body.first().is_some_and(|first| *first == b'[') {
        return Err(wrong(&"it is an array"));
    }
    let wanted: Wanted = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
    let own = principal.scope.operations();
    let operations = match &wanted.operations {
        None => own,
        Some(words) => OperationSet::parse(words.iter().map(String::as_str)).map_err(|wrong| wrong.to_string())?,
    };
    if operations.intersection(own) != operations {
        return Err(format!("the token of this request allows only {}", own.to_words()));
    }
    let life = wanted.expires_in_s.unwrap_or(LIFE_S);
    if !(1..=MAX_LIFE_S).contains(&life) {
        return Err(format!("`expires_in_s` is a number from 1 to {MAX_LIFE_S}"));
    }
    Ok(TokenGrant {
        tenant: principal.tenant.clone(),
        principal: principal.id.clone(),
        workspaces: wanted.workspaces,
        operations: Some(operations),
        ends: Some(wall_s().saturating_add(life)),
        minter: Some(minter),
    })
}

/// Blocks.
fn mint(tokens: &TokenStore, grant: TokenGrant) -> Result<Minted, TokenError> {
    let token = tokens.add(&grant)?;
    // It ends with its minter.
    let stored = tokens.list().into_iter().find(|info| info.id == token.id());
    let grant = stored.map_or(grant, |info| info.grant);
    Ok(Minted::of(&grant, &token.id(), Some(token.reveal().to_owned())))
}

/// The audit line of a change of tokens.
fn token_event(operation: &'static str, token: serde_json::Value) -> AuditEvent<'static> {
    AuditEvent { operation: Some(operation), arguments: Some(token), ..AuditEvent::new(EventKind::Token, "ok") }
}

impl Minted {
    /// What an audit line says of it: not its text.
    fn audited(&self) -> serde_json::Value {
        json!({
            "id": self.token_id.as_str(), "workspaces": self.workspaces, "operations": self.operations,
            "expires": self.expires,
        })
    }

    fn of(grant: &TokenGrant, id: &TokenId, token: Option<String>) -> Self {
        let operations = grant.operations.unwrap_or_default();
        Self {
            token,
            token_id: id.clone(),
            workspaces: grant.workspaces.clone(),
            operations: operations.iter().map(codeyard_access::Operation::as_str).collect(),
            expires: grant.ends.map(utc),
        }
    }
}

fn json_response(status: StatusCode, document: &impl Serialize) -> Response {
    // Texts and lists of them can always be written.
    answer::with_status(status, serde_json::to_vec(document).unwrap_or_default())
}

fn as_text<S: Serializer>(id: &TokenId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(id.as_str())
}
