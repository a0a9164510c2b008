//! One HTTP request: the checks in their order, then the message.
//!
//! The order of `decisions` §2 is the order of the lines in [`Door::answer`]; only a probe of this machine's own comes before
//! it, at a path that is no endpoint's. Invariants: nothing is looked up before
//! authentication; a method that isn't served is answered before version and session are asked for; dropping the
//! handler's future drops the call.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, StatusCode, header};
use axum::response::Response;
use futures::future::BoxFuture;
use hyper::body::Incoming;

use super::host::{AllowedHosts, AllowedOrigins, only};
use super::path::EndpointPath;
use super::probes::{Probe, Probes};
use super::refusal::{Refusal, Refused};
use super::session::{Session, Sessions};
use super::{answer, body, media};
use crate::transport::dispatch::{self, Caller, Outcome};
use crate::transport::inflight::InFlight;
use crate::transport::running::Running;
use codeyard_base::clock::Instant;
use codeyard_gateway::limits::MAX_CALLS_IN_FLIGHT;
use codeyard_gateway::service::{Endpoint, Principal, Service, TransportKind};
use codeyard_model::limits::Limits;
use codeyard_protocol::id::RequestId;
use codeyard_protocol::limits::{MAX_TRACEPARENT_BYTES, MAX_TRACESTATE_BYTES};
use codeyard_protocol::message::{self, Message, Notification, Request as RpcRequest};
use codeyard_protocol::names::{Method, Notice, REVISION};
use codeyard_protocol::{cancelled, write};
use codeyard_state::TokenStore;

/// The header that names the session.
pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header that names the revision.
pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What every request of one server meets.
pub struct Door {
    pub(super) service: Arc<dyn Service>,
    pub(super) auth: Option<Arc<TokenStore>>,
    pub(super) hosts: AllowedHosts,
    pub(super) origins: AllowedOrigins,
    pub(super) limits: Limits,
    pub(super) body_timeout: Duration,
    pub(super) sessions: Sessions,
    pub(super) probes: Option<Probes>,
}

/// A caller that may come in.
struct Visitor<'a> {
    principal: Principal,
    endpoint: Endpoint,
    headers: &'a HeaderMap,
}

/// What has become of a request that was read.
enum Taken {
    /// Its answer.
    Answered(Response),
    /// A call that runs.
    Running(RequestId, Running),
}

/// The door as one connection meets it.
pub(super) struct Visits {
    pub(super) door: Arc<Door>,
    /// Where the connection came from.
    pub(super) peer: SocketAddr,
}

impl hyper::service::Service<hyper::Request<Incoming>> for Visits {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    // No router: the checks have an order of their own, and nothing comes before them.
    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        let (door, peer) = (self.door.clone(), self.peer);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let has_body = !body.is_end_stream();
            Ok(match door.answer(parts, body, peer).await {
                Ok(response) => response,
                Err(refused) => {
                    door.service.metrics().rejected(refused.reason());
                    refused.response(has_body)
                }
            })
        })
    }
}

impl Door {
    async fn answer(&self, parts: Parts, body: Incoming, peer: SocketAddr) -> Result<Response, Refused> {
        match self.take(parts, body, peer).await? {
            Taken::Answered(response) => Ok(response),
            Taken::Running(id, running) => Ok(answer::running(id, running, self.limits.max_response_bytes).await),
        }
    }

    /// Reads a request and begins what it asks for. Its bytes aren't kept: they lie in the connection's buffer, which is
    /// read into again while a call runs.
    async fn take(&self, parts: Parts, body: Incoming, peer: SocketAddr) -> Result<Taken, Refused> {
        let parts = &parts;
        if let (Some(probes), Some(probe)) = (&self.probes, Probe::of(parts, peer)) {
            return Ok(Taken::Answered(probes.answer(probe).await));
        }
        let path = EndpointPath::parse(parts.uri.path()).ok_or(Refusal::Path)?;
        let deleting = parts.method == HttpMethod::DELETE;
        if !deleting && parts.method != HttpMethod::POST {
            return Err(Refusal::Method.into());
        }
        self.hosts.check(parts)?;
        self.origins.check(&parts.headers)?;
        let principal = self.principal(&parts.headers)?;
        let endpoint = self.service.endpoint(&principal, path.workspace, path.catalogs.as_deref());
        let endpoint = endpoint.ok_or(Refusal::Endpoint)?;
        let visitor = Visitor { principal, endpoint, headers: &parts.headers };
        if deleting {
            return Ok(Taken::Answered(self.end_session(&visitor)?));
        }
        media::content_type(&parts.headers)?;
        media::accept(&parts.headers)?;
        let body = body::read(body, self.limits.max_request_bytes, self.body_timeout).await?;
        match message::parse(&body)? {
            Message::Request(request) => self.request(&visitor, &request),
            Message::Notification(notification) => Ok(Taken::Answered(self.notification(&visitor, &notification)?)),
            Message::Response(response) => {
                dispatch::answered(&self.session(&visitor)?.client, &response);
                Ok(Taken::Answered(answer::empty(StatusCode::ACCEPTED)))
            }
        }
    }

    fn principal(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let Some(tokens) = &self.auth else {
            return Ok(Principal::local());
        };
        let value = only(headers, header::AUTHORIZATION).ok_or(Refusal::Bearer)?;
        bearer(tokens, value).ok_or(Refusal::Bearer)
    }

    fn request(&self, visitor: &Visitor<'_>, request: &RpcRequest<'_>) -> Result<Taken, Refused> {
        let refuse = |refusal: Refusal| refusal.of(&request.id);
        let method = match dispatch::method(&*self.service, TransportKind::Tcp, request) {
            Ok(method) => method,
            Err(unknown) => return Ok(Taken::Answered(answer::json(write::fault(&unknown)))),
        };
        let session = match method {
            Method::Initialize => return Ok(Taken::Answered(self.initialize(visitor, request))),
            Method::Ping => self.optional_session(visitor).map_err(refuse)?,
            Method::ToolsList | Method::ToolsCall => Some(self.session(visitor).map_err(refuse)?),
        };
        let spare;
        let in_flight = match &session {
            Some(session) => &session.in_flight,
            None => {
                spare = InFlight::new(MAX_CALLS_IN_FLIGHT);
                &spare
            }
        };
        let caller = Caller {
            service: &*self.service,
            endpoint: &visitor.endpoint,
            principal: &visitor.principal,
            session: session.as_deref().map(|session| session.id.as_str()),
            header_traceparent: only(visitor.headers, TRACEPARENT).filter(|text| text.len() <= MAX_TRACEPARENT_BYTES),
            header_tracestate: only(visitor.headers, TRACESTATE).filter(|text| text.len() <= MAX_TRACESTATE_BYTES),
            transport: TransportKind::Tcp,
            in_flight,
            client: session.as_deref().map(|session| &session.client),
        };
        let cap = self.limits.max_response_bytes;
        Ok(Taken::Answered(match dispatch::serve(&caller, method, request) {
            Ok(Outcome::Ready(result)) => {
                answer::json(write::bounded(write::result(&request.id, &result), &request.id, cap))
            }
            Ok(Outcome::Refused(reply)) => answer::reply(&request.id, &reply, cap),
            Ok(Outcome::Started(running)) => return Ok(Taken::Running(request.id.clone(), running)),
            Err(error) => answer::json(write::fault(&error)),
        }))
    }

    fn initialize(&self, visitor: &Visitor<'_>, request: &RpcRequest<'_>) -> Response {
        let began = Instant::now();
        let client = Arc::default();
        let result = dispatch::initialize(&*self.service, &visitor.endpoint, request, Some(&client));
        let method = Method::Initialize.as_str();
        dispatch::tell(&*self.service, method, TransportKind::Tcp, result.as_ref().err(), began);
        let result = match result {
            Ok(result) => result,
            Err(error) => return answer::json(write::fault(&error)),
        };
        let session = self.sessions.start(&visitor.principal, client);
        let mut response = answer::json(write::result(&request.id, &result));
        // base64url is always a valid header value.
        if let Ok(id) = HeaderValue::from_str(&session.id) {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    fn notification(&self, visitor: &Visitor<'_>, notification: &Notification<'_>) -> Result<Response, Refusal> {
        let notice = Notice::of(&notification.method);
        if notice != Notice::Unknown {
            let session = self.session(visitor)?;
            if notice == Notice::Cancelled
                && let Some(id) = cancelled::request_id(notification.params)
            {
                session.in_flight.cancel(&id);
            }
        }
        Ok(answer::empty(StatusCode::ACCEPTED))
    }

    fn end_session(&self, visitor: &Visitor<'_>) -> Result<Response, Refusal> {
        let session = self.session(visitor)?;
        self.sessions.end(&session.id, &visitor.principal);
        Ok(answer::empty(StatusCode::NO_CONTENT))
    }

    fn session(&self, visitor: &Visitor<'_>) -> Result<Arc<Session>, Refusal> {
        self.optional_session(visitor)?.ok_or(Refusal::MissingSession)
    }

    /// The session, if one is named; the version is checked first.
    fn optional_session(&self, visitor: &Visitor<'_>) -> Result<Option<Arc<Session>>, Refusal> {
        let named = visitor.headers.contains_key(SESSION);
        if visitor.headers.contains_key(VERSION) {
            if only(visitor.headers, VERSION) != Some(REVISION) {
                return Err(Refusal::WrongVersion);
            }
        } else if !named {
            return Err(Refusal::MissingVersion);
        }
        if !named {
            return Ok(None);
        }
        let found = only(visitor.headers, SESSION).and_then(|id| self.sessions.find(id, &visitor.principal));
        found.map(Some).ok_or(Refusal::UnknownSession)
    }
}

/// Whom the value of an `Authorization` header names.
pub(super) fn bearer(tokens: &TokenStore, value: &str) -> Option<Principal> {
    let (scheme, token) = value.split_once(' ')?;
    let named = scheme.eq_ignore_ascii_case("bearer").then(|| tokens.principal(token.trim_matches(' ')));
    named.flatten().map(Principal::of_token)
}
