//! Errors of the admin API as `application/problem+json`: what is wrong, and the next step.
//!
//! Invariant: an error repeats nothing of the request except names that were checked.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::transport::http::refusal::RefusalReason;
use codeyard_engine::supervisor::control::NoReply;

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The body is incomplete or no JSON.
    BadRequest,
    /// There is no valid token.
    Unauthorized,
    /// The host or the origin isn't allowed.
    Forbidden,
    /// The path or the named object doesn't exist.
    NotFound,
    /// The path doesn't take this method.
    MethodNotAllowed,
    /// The body took too long.
    TooSlow,
    /// The state of the object doesn't allow the operation.
    Conflict,
    /// The condition of the request doesn't hold.
    ConditionFailed,
    /// The body is too large.
    TooLarge,
    /// The body isn't declared as JSON.
    UnsupportedMediaType,
    /// The body is JSON, but doesn't fit the schema.
    Invalid,
    /// The service is stopping, or something in it doesn't answer.
    Unavailable,
    /// The request takes too long.
    TimedOut,
}

impl Kind {
    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict => StatusCode::CONFLICT,
            Self::ConditionFailed => StatusCode::PRECONDITION_FAILED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The reason phrase of the status.
    pub fn title(self) -> &'static str {
        self.status().canonical_reason().unwrap_or("Error")
    }
}

/// The body of an error response (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProblemDocument {
    /// Always `about:blank`: the status identifies the kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The reason phrase of the status.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong.
    pub detail: String,
    /// What to do next.
    pub remedy: String,
    /// The key of the body that is wrong, such as `roots[0]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The current revision, if a condition named another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// An error of the admin API.
#[derive(Debug, Clone)]
pub struct Problem(Box<ProblemParts>);

#[derive(Debug, Clone)]
struct ProblemParts {
    kind: Kind,
    detail: String,
    remedy: String,
    key: Option<String>,
    revision: Option<String>,
    allow: Option<String>,
}

impl Problem {
    /// A problem with what is wrong (`detail`) and the next step (`remedy`).
    pub fn new(kind: Kind, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        let detail = detail.into();
        Self(Box::new(ProblemParts { kind, detail, remedy: remedy.into(), key: None, revision: None, allow: None }))
    }

    /// Adds the key of the body that is wrong.
    pub fn at_key(mut self, key: String) -> Self {
        self.0.key = Some(key).filter(|key| !key.is_empty());
        self
    }

    /// Adds the current revision.
    pub fn with_revision(mut self, revision: Option<String>) -> Self {
        self.0.revision = revision;
        self
    }

    /// The path has only the methods `allowed`.
    pub fn method(allowed: &[&str]) -> Self {
        let allow = allowed.join(", ");
        let remedy = format!("use {allow}");
        let mut problem = Self::new(Kind::MethodNotAllowed, "this path does not support this method", remedy);
        problem.0.allow = Some(allow);
        problem
    }

    /// There is no such workspace.
    pub fn no_workspace() -> Self {
        Self::new(Kind::NotFound, "there is no such workspace", "GET /admin/v1/workspaces lists the workspaces")
    }

    /// There is no such language server.
    pub fn no_server() -> Self {
        let remedy = "GET /admin/v1/servers lists the running ones; a query that needs one starts it";
        Self::new(Kind::NotFound, "there is no such language server now", remedy)
    }

    /// The service is stopping.
    pub fn stopping() -> Self {
        Self::new(Kind::Unavailable, "the service is stopping", "retry after the restart")
    }

    /// Too many workspaces are draining.
    pub fn busy() -> Self {
        Self::new(Kind::Unavailable, "too many workspaces are being stopped", "retry in a few seconds")
    }

    /// The response.
    pub fn response(&self) -> Response {
        let document = ProblemDocument {
            kind: "about:blank".to_owned(),
            title: self.0.kind.title().to_owned(),
            status: self.0.kind.status().as_u16(),
            detail: self.0.detail.clone(),
            remedy: self.0.remedy.clone(),
            key: self.0.key.clone(),
            revision: self.0.revision.clone(),
        };
        let mut response = Response::new(Body::from(serde_json::to_vec(&document).unwrap_or_default()));
        *response.status_mut() = self.0.kind.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match self.0.kind {
            Kind::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"codeyard admin\""));
            }
            Kind::Unavailable => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Kind::TooSlow | Kind::BadRequest => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        if let Some(allow) = self.0.allow.as_deref().and_then(|allow| HeaderValue::from_str(allow).ok()) {
            headers.insert(header::ALLOW, allow);
        }
        response
    }
}

impl From<NoReply> for Problem {
    fn from(_: NoReply) -> Self {
        Self::new(Kind::Unavailable, "the engine does not answer", "retry; if it persists, restart codeyard")
    }
}

impl From<RefusalReason> for Problem {
    fn from(reason: RefusalReason) -> Self {
        let (kind, detail, remedy) = match reason {
            RefusalReason::Host => (
                Kind::Forbidden,
                "the Host header is not in the list of allowed hosts",
                "use a loopback name, or add the host to server.allowed_hosts",
            ),
            RefusalReason::Origin => (
                Kind::Forbidden,
                "the Origin header is not in the list of allowed origins",
                "call it from a program, or add the origin to server.allowed_origins",
            ),
            RefusalReason::ContentType => (
                Kind::UnsupportedMediaType,
                "the body is not declared as JSON in UTF-8",
                "send `Content-Type: application/json`, uncompressed",
            ),
            RefusalReason::BodySize => (Kind::TooLarge, "the body is larger than the limit", "send less than 1 MiB"),
            RefusalReason::BodyTime => (Kind::TooSlow, "the body did not arrive in time", "send it faster"),
            RefusalReason::Bearer => (
                Kind::Unauthorized,
                "a valid bearer token for operators is required",
                "create one with `codeyard token add --admin NAME`; tokens of /mcp are not valid here",
            ),
            _ => (Kind::BadRequest, "the body is incomplete", "send the whole body"),
        };
        Self::new(kind, detail, remedy)
    }
}
