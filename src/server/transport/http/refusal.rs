//! Why a request over HTTP is refused before it is served, and how that is said.
//!
//! The order of the variants is the order of the checks (decisions §2), which `docs/protocol.md` tables. Invariants:
//! the body is a short JSON-RPC error that names the reason; nothing of the request but its id is repeated.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use codeyard_protocol::error::Error;
use codeyard_protocol::id::RequestId;
use codeyard_protocol::names::INVALID_REQUEST;
use codeyard_protocol::write;

/// A reason to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The path isn't of an endpoint's shape.
    Path,
    /// Neither POST nor DELETE.
    Method,
    /// The host isn't in the list, is missing, or given twice.
    Host,
    /// The origin isn't in the list.
    Origin,
    /// No bearer token, or none of ours.
    Bearer,
    /// No such workspace or catalog, or none that this principal may see.
    Endpoint,
    /// The body isn't declared as JSON.
    ContentType,
    /// The client doesn't take both JSON and an event stream.
    Accept,
    /// The body is too large.
    BodySize,
    /// The body took too long.
    BodyTime,
    /// The body broke off.
    BodyBroken,
    /// The body isn't one JSON-RPC message.
    Message,
    /// The version header names another revision.
    WrongVersion,
    /// There is neither a version header nor a session that has one.
    MissingVersion,
    /// A session is needed and none is named.
    MissingSession,
    /// No such session.
    UnknownSession,
}

/// A refusal with what is known of the request.
#[derive(Debug)]
pub struct Refused {
    refusal: Refusal,
    id: Option<RequestId>,
    message: Option<Error>,
}

impl Refusal {
    /// Every reason, in the order of the checks.
    pub const ALL: [Self; 16] = [
        Self::Path,
        Self::Method,
        Self::Host,
        Self::Origin,
        Self::Bearer,
        Self::Endpoint,
        Self::ContentType,
        Self::Accept,
        Self::BodySize,
        Self::BodyTime,
        Self::BodyBroken,
        Self::Message,
        Self::WrongVersion,
        Self::MissingVersion,
        Self::MissingSession,
        Self::UnknownSession,
    ];

    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Path | Self::Endpoint | Self::UnknownSession => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Bearer => StatusCode::UNAUTHORIZED,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Accept => StatusCode::NOT_ACCEPTABLE,
            Self::BodySize => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTime => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// The word in `error.data.reason`; a malformed message has a more exact one.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Path => "path_not_served",
            Self::Method => "method_not_allowed",
            Self::Host => "host_not_allowed",
            Self::Origin => "origin_not_allowed",
            Self::Bearer => "bearer_required",
            Self::Endpoint => "unknown_endpoint",
            Self::ContentType => "unsupported_content_type",
            Self::Accept => "not_acceptable",
            Self::BodySize => "body_too_large",
            Self::BodyTime => "body_too_slow",
            Self::BodyBroken => "body_incomplete",
            Self::Message => "malformed_message",
            Self::WrongVersion => "wrong_protocol_version",
            Self::MissingVersion => "missing_protocol_version",
            Self::MissingSession => "session_required",
            Self::UnknownSession => "unknown_session",
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Path => {
                "nothing is served here; endpoints are /mcp, /mcp/{workspace} and /mcp/{workspace}/{catalogs}"
            }
            Self::Method => "an endpoint takes POST and DELETE",
            Self::Host => "the Host header is not in the list of allowed hosts",
            Self::Origin => "the Origin header is not in the list of allowed origins",
            Self::Bearer => "a valid bearer token is required",
            Self::Endpoint => "there is no such workspace or catalog for this principal",
            Self::ContentType => "the Content-Type must be application/json",
            Self::Accept => "the Accept header must allow application/json and text/event-stream",
            Self::BodySize => "the body is larger than the limit",
            Self::BodyTime => "the body did not arrive in time",
            Self::BodyBroken => "the body broke off",
            Self::Message => "the body is not one JSON-RPC message",
            Self::WrongVersion => "the MCP-Protocol-Version header must be 2025-11-25",
            Self::MissingVersion => "outside a session the MCP-Protocol-Version header is required",
            Self::MissingSession => "the Mcp-Session-Id header is required; `initialize` issues one",
            Self::UnknownSession => "there is no such session; start a new one with `initialize`",
        }
    }

    /// The refusal of the request `id`.
    pub fn of(self, id: &RequestId) -> Refused {
        Refused { refusal: self, id: Some(id.clone()), message: None }
    }
}

impl Refusal {
    /// Whether it is decided while the body is still on its way.
    fn comes_before_the_body_is_read(self) -> bool {
        !matches!(
            self,
            Self::Message | Self::WrongVersion | Self::MissingVersion | Self::MissingSession | Self::UnknownSession
        )
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, id: None, message: None }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { refusal: Refusal::Message, id: None, message: Some(error) }
    }
}

impl Refused {
    /// The word in `error.data.reason`.
    pub fn reason(&self) -> &'static str {
        self.message.as_ref().map_or(self.refusal.reason(), |error| error.fault.reason())
    }

    /// The HTTP response. `body_left`: the request has a body that wasn't read, so that the connection can't be used again.
    pub fn response(&self, body_left: bool) -> Response {
        let body = match &self.message {
            Some(error) => write::fault(error),
            None => {
                let data = format!("{{\"reason\":\"{}\"}}", self.refusal.reason());
                write::error(self.id.as_ref(), INVALID_REQUEST, self.refusal.message(), Some(data.as_bytes()))
            }
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.refusal.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.refusal {
            Refusal::Method => headers.insert(header::ALLOW, HeaderValue::from_static("POST, DELETE")),
            Refusal::Bearer => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"codeyard\""))
            }
            _ => None,
        };
        if body_left && self.refusal.comes_before_the_body_is_read() {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_with_an_unread_body_is_said_to_close() {
        let closes = |refusal: Refusal, body_left| {
            Refused::from(refusal).response(body_left).headers().contains_key(header::CONNECTION)
        };
        assert!(closes(Refusal::Bearer, true) && closes(Refusal::BodySize, true));
        assert!(!closes(Refusal::Bearer, false), "there was no body");
        assert!(!closes(Refusal::UnknownSession, true), "it was read");
    }
}
