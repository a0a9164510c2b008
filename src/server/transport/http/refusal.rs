//! Rejections of HTTP requests before they are served, and their responses.
//!
//! The order of the variants is the order of the checks (`docs/internals/protocol.md#refusals-over-http`). Invariants: the body is a short
//! JSON-RPC error that names the reason; it repeats nothing of the request except its id and the names of an endpoint path.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::path::EndpointPath;
use codeyard_base::words;
use codeyard_config::ContentMode;
use codeyard_protocol::error::MessageError;
use codeyard_protocol::id::RequestId;
use codeyard_protocol::names::INVALID_REQUEST;
use codeyard_protocol::write;
use codeyard_signon::TokenProblem;

words! {
    /// The reason of a rejection.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum RefusalReason {
        /// The request line and the header fields together are too large.
        HeadSize => "head_too_large",
        /// The path doesn't have the form of an endpoint path.
        Path => "path_not_served",
        /// Neither POST nor DELETE.
        Method => "method_not_allowed",
        /// The host isn't in the list, or the header is missing or given twice.
        Host => "host_not_allowed",
        /// The origin isn't in the list.
        Origin => "origin_not_allowed",
        /// There is no valid bearer token.
        Bearer => "bearer_required",
        /// The keys of the token's issuer can't be fetched.
        SignOn => "sign_on_unavailable",
        /// No rule opens a tenant to the caller.
        NoTenant => "no_tenant",
        /// A group is named, and not the one catalog that groups have.
        GroupCatalog => "group_serves_code_only",
        /// The workspace, group or catalog doesn't exist, or this principal may not see it.
        Endpoint => "unknown_endpoint",
        /// The query string asks for copies of a result that there aren't.
        Content => "unknown_content",
        /// The body isn't declared as JSON.
        ContentType => "unsupported_content_type",
        /// The client doesn't accept both JSON and event streams.
        Accept => "not_acceptable",
        /// The body is too large.
        BodySize => "body_too_large",
        /// The body took too long.
        BodyTime => "body_too_slow",
        BodyBroken => "body_incomplete",
        /// The body isn't one JSON-RPC message.
        Message => "malformed_message",
        /// The version header names another revision.
        WrongVersion => "wrong_protocol_version",
        /// There is neither a version header nor a session that has one.
        MissingVersion => "missing_protocol_version",
        /// A session is needed and none is named.
        MissingSession => "session_required",
        /// No such session.
        UnknownSession => "unknown_session",
        /// The path of tokens doesn't take the method.
        TokenMethod => "token_method_not_allowed",
        /// The caller's token has minted no such token.
        UnknownToken => "unknown_token",
        /// The token that is asked for can't be made.
        TokenRequest => "invalid_token_request",
        /// The tokens can't be read or written.
        TokenStore => "tokens_unavailable",
    }
    /// The word in `error.data.reason`; a malformed message has a more exact one.
    fn reason;
}

/// The sentence for a client without a token. Hosts show it to their users, also where they begin OAuth.
pub const NO_TOKEN: &str = "a valid bearer token is required, and there is no OAuth here: set the header `Authorization: Bearer TOKEN` in the client; \
                            `codeyard connect HOST --http` does it, `codeyard token add NAME` makes a token";

/// The sentence for a client without a token, where callers can sign on.
const SIGN_ON: &str = "a valid bearer token is required: sign on at an authorization server that `resource_metadata` names, or set the header \
                       `Authorization: Bearer TOKEN` with one of `codeyard token add NAME`";

/// A rejected request: the reason, and the request's id or parse error if known.
#[derive(Debug)]
pub struct HttpRefusal {
    reason: RefusalReason,
    id: Option<RequestId>,
    message: Option<MessageError>,
    /// What the client can use instead.
    advice: Option<String>,
    /// The value of `WWW-Authenticate`, where callers can sign on.
    challenge: Option<Box<str>>,
}

impl RefusalReason {
    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Path | Self::GroupCatalog | Self::Endpoint | Self::UnknownSession | Self::UnknownToken => {
                StatusCode::NOT_FOUND
            }
            Self::HeadSize => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Method | Self::TokenMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::TokenRequest => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TokenStore | Self::SignOn => StatusCode::SERVICE_UNAVAILABLE,
            Self::Host | Self::Origin | Self::NoTenant => StatusCode::FORBIDDEN,
            Self::Bearer => StatusCode::UNAUTHORIZED,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Accept => StatusCode::NOT_ACCEPTABLE,
            Self::BodySize => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTime => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::HeadSize => "the request line and the headers are larger than 32 KiB",
            Self::Path => {
                "nothing is served here; endpoints are /mcp, /mcp/{workspace}, /mcp/{workspace}/{catalogs} and /mcp/@{group}/code, also with /mcp at the end"
            }
            Self::Method => "an endpoint takes POST and DELETE",
            Self::Host => "the Host header is not in the list of allowed hosts",
            Self::Origin => "the Origin header is not in the list of allowed origins",
            Self::Bearer => NO_TOKEN,
            Self::SignOn => "the access token can't be checked now",
            Self::NoTenant => "the access token is right, and opens nothing here",
            Self::GroupCatalog => "a group serves the catalog code only; use /mcp/@{group}/code",
            Self::Endpoint => "there is no such workspace, group or catalog for this principal",
            Self::Content => "the address asks for an unknown `content`",
            Self::ContentType => "the Content-Type must be application/json",
            Self::Accept => "the Accept header must allow application/json and text/event-stream",
            Self::BodySize => "the body is larger than the limit",
            Self::BodyTime => "the body did not arrive in time",
            Self::BodyBroken => "the body broke off",
            Self::Message => "the body is not one JSON-RPC message",
            Self::WrongVersion => {
                "the MCP-Protocol-Version header must name, once, the revision that `initialize` negotiated"
            }
            Self::MissingVersion => "outside a session the MCP-Protocol-Version header is required",
            Self::MissingSession => "the Mcp-Session-Id header is required; `initialize` issues one",
            Self::UnknownSession => "there is no such session; start a new one with `initialize`",
            Self::TokenMethod => {
                "/tokens takes POST, which makes a token, and GET, which lists them; /tokens/{id} takes DELETE"
            }
            Self::UnknownToken => {
                "the token of this request has made no such token; GET /tokens lists those that it has"
            }
            Self::TokenRequest => "no token is made",
            Self::TokenStore => "the tokens can't be changed now",
        }
    }

    /// The rejection of the request `id`.
    pub fn of(self, id: &RequestId) -> HttpRefusal {
        HttpRefusal { id: Some(id.clone()), ..self.into() }
    }
}

impl RefusalReason {
    /// Whether the check comes before the body is read.
    fn comes_before_the_body_is_read(self) -> bool {
        !matches!(
            self,
            Self::Message
                | Self::WrongVersion
                | Self::MissingVersion
                | Self::MissingSession
                | Self::UnknownSession
                | Self::TokenRequest
                | Self::TokenStore
        )
    }
}

impl From<RefusalReason> for HttpRefusal {
    fn from(reason: RefusalReason) -> Self {
        Self { reason, id: None, message: None, advice: None, challenge: None }
    }
}

impl From<MessageError> for HttpRefusal {
    fn from(error: MessageError) -> Self {
        Self { message: Some(error), ..RefusalReason::Message.into() }
    }
}

impl HttpRefusal {
    /// The refusal of a path that is no endpoint path.
    pub fn of_path(path: &str) -> Self {
        let advice = EndpointPath::nearest(path).map(|nearest| format!("use {nearest}"));
        Self { advice, ..RefusalReason::Path.into() }
    }

    /// The refusal of an endpoint, with what the principal can use instead. It is the same for every endpoint.
    pub fn of_endpoint(advice: Option<String>) -> Self {
        Self { advice, ..RefusalReason::Endpoint.into() }
    }

    /// The refusal of a request without a token that counts, where callers can sign on. `problem` says why the one that it has doesn't count.
    pub fn of_challenge(challenge: &str, problem: Option<String>) -> Self {
        Self { advice: problem, challenge: Some(challenge.into()), ..RefusalReason::Bearer.into() }
    }

    /// The refusal of a caller who has signed on elsewhere.
    pub fn of_sign_on(reason: RefusalReason, problem: TokenProblem) -> Self {
        Self { advice: Some(problem.to_string()), ..reason.into() }
    }

    /// The refusal of a request for a token.
    pub fn of_token(problem: String) -> Self {
        Self { advice: Some(problem), ..RefusalReason::TokenRequest.into() }
    }

    /// The refusal of a change of the tokens, which failed.
    pub fn of_store(error: &impl std::fmt::Display) -> Self {
        tracing::warn!(%error, "the tokens can't be changed");
        Self { advice: Some("the log has the reason; try again".to_owned()), ..RefusalReason::TokenStore.into() }
    }

    /// The refusal of an unknown `content`, with the known ones.
    pub fn of_content() -> Self {
        let modes = ContentMode::ALL.map(ContentMode::as_str).join(", ");
        Self { advice: Some(format!("use one of {modes}")), ..RefusalReason::Content.into() }
    }

    /// Whether the request asked for what its sender may not have, or for what isn't there.
    pub fn is_of_access(&self) -> bool {
        [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::NOT_FOUND].contains(&self.status())
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.reason.status()
    }

    /// The word in `error.data.reason`.
    pub fn reason(&self) -> &'static str {
        self.message.as_ref().map_or(self.reason.reason(), |error| error.fault.reason())
    }

    /// The HTTP response. `has_unread_body` says that the request has a body that wasn't read, so the connection must close.
    pub fn response(&self, has_unread_body: bool) -> Response {
        let body = match &self.message {
            Some(error) => write::fault(error),
            None => {
                let data = format!("{{\"reason\":\"{}\"}}", self.reason.reason());
                let advice = self.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
                let sentence = if self.challenge.is_some() { SIGN_ON } else { self.reason.message() };
                let message = format!("{sentence}{advice}");
                write::error(self.id.as_ref(), INVALID_REQUEST, &message, Some(data.as_bytes()))
            }
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.reason.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.reason {
            RefusalReason::Method => headers.insert(header::ALLOW, HeaderValue::from_static("POST, DELETE")),
            RefusalReason::TokenMethod => headers.insert(header::ALLOW, HeaderValue::from_static("POST, GET, DELETE")),
            RefusalReason::Bearer => {
                let challenge = self.challenge.as_deref().unwrap_or("Bearer realm=\"codeyard\"");
                // A path that can be parsed has no character that a header can't.
                HeaderValue::from_str(challenge).ok().and_then(|value| headers.insert(header::WWW_AUTHENTICATE, value))
            }
            RefusalReason::SignOn => headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10")),
            _ => None,
        };
        if has_unread_body && self.reason.comes_before_the_body_is_read() {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_to_an_unread_body_closes_the_connection() {
        let closes = |reason: RefusalReason, has_unread_body| {
            HttpRefusal::from(reason).response(has_unread_body).headers().contains_key(header::CONNECTION)
        };
        assert!(closes(RefusalReason::Bearer, true) && closes(RefusalReason::BodySize, true));
        assert!(!closes(RefusalReason::Bearer, false), "there was no body");
        assert!(!closes(RefusalReason::UnknownSession, true), "the body was read");
    }
}
