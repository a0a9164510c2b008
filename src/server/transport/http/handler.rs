//! Handles one HTTP request: the checks in the order of `docs/protocol.md#refusals-over-http`, then the message.
//!
//! Only a permitted probe comes before the checks, at a path that is no endpoint path. Invariants: nothing is looked up before
//! authentication; an unknown method is answered before version and session are checked; dropping the handler's future drops the call.

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

use super::connection_shares::ConnectionPlace;
use super::host::{AllowedHosts, AllowedOrigins, only};
use super::options::HttpOptions;
use super::path::EndpointPath;
use super::probes::{Probe, Probes};
use super::refusal::{HttpRefusal, RefusalReason};
use super::session::{Session, Sessions};
use super::{answer, body, media};
use crate::transport::dispatch::{self, Caller, RequestOutcome};
use crate::transport::inflight::InFlightCalls;
use crate::transport::running::RunningCall;
use codeyard_base::clock::Instant;
use codeyard_gateway::limits::MAX_CALLS_IN_FLIGHT;
use codeyard_gateway::service::{Endpoint, Principal, Service, TransportKind};
use codeyard_model::limits::Limits;
use codeyard_protocol::id::RequestId;
use codeyard_protocol::limits::{MAX_TRACEPARENT_BYTES, MAX_TRACESTATE_BYTES};
use codeyard_protocol::message::{self, Message, Notification, Request as RpcRequest};
use codeyard_protocol::names::{Method, NotificationKind, REVISION};
use codeyard_protocol::{cancelled, write};
use codeyard_state::TokenStore;

/// The header that names the session.
pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header that names the revision.
pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The MCP endpoints of one server: the service, and the checks in front of it.
pub struct McpEndpoint {
    pub(super) service: Arc<dyn Service>,
    pub(super) auth: Option<Arc<TokenStore>>,
    pub(super) hosts: AllowedHosts,
    pub(super) origins: AllowedOrigins,
    pub(super) limits: Limits,
    pub(super) body_timeout: Duration,
    pub(super) sessions: Sessions,
    pub(super) probes: Option<Probes>,
}

/// A request that has passed authentication: its principal, endpoint and headers.
struct AuthorizedRequest<'a> {
    principal: Principal,
    endpoint: Endpoint,
    headers: &'a HeaderMap,
}

/// The client of a request.
struct Client {
    peer: SocketAddr,
    place: Arc<ConnectionPlace>,
}

/// The outcome of a request whose bytes were read.
enum HandledRequest {
    /// The response.
    Answered(Response),
    /// A running call, whose response follows.
    Running(RequestId, RunningCall),
}

/// The requests of one connection.
pub(super) struct ConnectionService {
    pub(super) endpoint: Arc<McpEndpoint>,
    /// The address of the client.
    pub(super) peer: SocketAddr,
    /// The connection's place among the others.
    pub(super) place: Arc<ConnectionPlace>,
}

impl hyper::service::Service<hyper::Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    // There is no router, because the checks have a fixed order and come first.
    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        let (endpoint, client) = (self.endpoint.clone(), Client { peer: self.peer, place: self.place.clone() });
        Box::pin(async move {
            let _in_progress = client.place.begin_request();
            let (parts, body) = request.into_parts();
            let has_body = !body.is_end_stream();
            Ok(match endpoint.answer(parts, body, &client).await {
                Ok(response) => response,
                Err(refusal) => {
                    endpoint.service.metrics().rejected(refusal.reason());
                    refusal.response(has_body)
                }
            })
        })
    }
}

impl McpEndpoint {
    /// The endpoints of `service`, with an empty session table.
    pub(super) fn new(service: Arc<dyn Service>, options: HttpOptions) -> Self {
        let sessions =
            Sessions::new(options.connections.sessions, options.connections.sessions_per_principal, service.metrics());
        Self {
            service,
            auth: options.auth,
            hosts: options.allowed_hosts,
            origins: options.allowed_origins,
            limits: options.limits.clamped(),
            body_timeout: options.connections.body,
            sessions,
            probes: options.probes,
        }
    }

    async fn answer(&self, parts: Parts, body: Incoming, client: &Client) -> Result<Response, HttpRefusal> {
        match self.handle(parts, body, client).await? {
            HandledRequest::Answered(response) => Ok(response),
            HandledRequest::Running(id, running) => {
                Ok(answer::running(id, running, self.limits.max_response_bytes).await)
            }
        }
    }

    /// Checks and reads a request, and serves it or starts its call. The request's bytes aren't kept while a call runs, because the
    /// connection's buffer is reused.
    async fn handle(&self, parts: Parts, body: Incoming, client: &Client) -> Result<HandledRequest, HttpRefusal> {
        let parts = &parts;
        if let Some(probes) = &self.probes
            && let Some(probe) = Probe::of(parts, client.peer, &probes.access)
        {
            client.place.keep_for_probes();
            return Ok(HandledRequest::Answered(probes.answer(probe).await));
        }
        let path = EndpointPath::parse(parts.uri.path()).ok_or(RefusalReason::Path)?;
        let is_delete = parts.method == HttpMethod::DELETE;
        if !is_delete && parts.method != HttpMethod::POST {
            return Err(RefusalReason::Method.into());
        }
        self.hosts.check(parts)?;
        self.origins.check(&parts.headers)?;
        let principal = self.principal(&parts.headers)?;
        if !client.place.authenticate() {
            self.service.metrics().shed("connection");
            return Ok(HandledRequest::Answered(answer::too_many_connections()));
        }
        if path.is_group_without_code() {
            return Err(RefusalReason::GroupCatalog.into());
        }
        let endpoint = self.service.endpoint(&principal, path.workspace.as_deref(), path.catalogs.as_deref());
        let endpoint = endpoint.ok_or(RefusalReason::Endpoint)?;
        let authorized = AuthorizedRequest { principal, endpoint, headers: &parts.headers };
        if is_delete {
            return Ok(HandledRequest::Answered(self.end_session(&authorized)?));
        }
        media::content_type(&parts.headers)?;
        media::accept(&parts.headers)?;
        let body = body::read(body, self.limits.max_request_bytes, self.body_timeout).await?;
        match message::parse(&body)? {
            Message::Request(request) => self.request(&authorized, &request),
            Message::Notification(notification) => {
                Ok(HandledRequest::Answered(self.notification(&authorized, &notification)?))
            }
            Message::Response(response) => {
                dispatch::handle_response(&self.session(&authorized)?.client, &response);
                Ok(HandledRequest::Answered(answer::empty(StatusCode::ACCEPTED)))
            }
        }
    }

    fn principal(&self, headers: &HeaderMap) -> Result<Principal, RefusalReason> {
        let Some(tokens) = &self.auth else {
            return Ok(Principal::local());
        };
        let value = only(headers, header::AUTHORIZATION).ok_or(RefusalReason::Bearer)?;
        bearer(tokens, value).ok_or(RefusalReason::Bearer)
    }

    fn request(
        &self,
        authorized: &AuthorizedRequest<'_>,
        request: &RpcRequest<'_>,
    ) -> Result<HandledRequest, HttpRefusal> {
        let reject = |reason: RefusalReason| reason.of(&request.id);
        let method = match dispatch::method(&*self.service, TransportKind::Tcp, request) {
            Ok(method) => method,
            Err(unknown) => return Ok(HandledRequest::Answered(answer::json(write::fault(&unknown)))),
        };
        let session = match method {
            Method::Initialize => return Ok(HandledRequest::Answered(self.initialize(authorized, request))),
            Method::Ping => self.optional_session(authorized).map_err(reject)?,
            Method::ToolsList | Method::ToolsCall => Some(self.session(authorized).map_err(reject)?),
        };
        let no_session;
        let in_flight = match &session {
            Some(session) => &session.in_flight,
            None => {
                no_session = InFlightCalls::new(MAX_CALLS_IN_FLIGHT);
                &no_session
            }
        };
        let caller = Caller {
            service: &*self.service,
            endpoint: &authorized.endpoint,
            principal: &authorized.principal,
            session: session.as_deref().map(|session| session.id.as_str()),
            header_traceparent: only(authorized.headers, TRACEPARENT)
                .filter(|text| text.len() <= MAX_TRACEPARENT_BYTES),
            header_tracestate: only(authorized.headers, TRACESTATE).filter(|text| text.len() <= MAX_TRACESTATE_BYTES),
            transport: TransportKind::Tcp,
            in_flight,
            client: session.as_deref().map(|session| &session.client),
        };
        let cap = self.limits.max_response_bytes;
        Ok(HandledRequest::Answered(match dispatch::serve(&caller, method, request) {
            Ok(RequestOutcome::Ready(result)) => {
                answer::json(write::bounded(write::result(&request.id, &result), &request.id, cap))
            }
            Ok(RequestOutcome::Rejected(reply)) => answer::reply(&request.id, &reply, cap),
            Ok(RequestOutcome::Started(running)) => return Ok(HandledRequest::Running(request.id.clone(), running)),
            Err(error) => answer::json(write::fault(&error)),
        }))
    }

    fn initialize(&self, authorized: &AuthorizedRequest<'_>, request: &RpcRequest<'_>) -> Response {
        let started = Instant::now();
        let client = Arc::default();
        let result = dispatch::initialize(&*self.service, &authorized.endpoint, request, Some(&client));
        let method = Method::Initialize.as_str();
        dispatch::record_request(&*self.service, method, TransportKind::Tcp, result.as_ref().err(), started);
        let result = match result {
            Ok(result) => result,
            Err(error) => return answer::json(write::fault(&error)),
        };
        let session = self.sessions.start(&authorized.principal, client);
        let mut response = answer::json(write::result(&request.id, &result));
        // base64url is always a valid header value.
        if let Ok(id) = HeaderValue::from_str(&session.id) {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    fn notification(
        &self,
        authorized: &AuthorizedRequest<'_>,
        notification: &Notification<'_>,
    ) -> Result<Response, RefusalReason> {
        let kind = NotificationKind::of(&notification.method);
        if kind != NotificationKind::Unknown {
            let session = self.session(authorized)?;
            if kind == NotificationKind::Cancelled
                && let Some(id) = cancelled::request_id(notification.params)
            {
                session.in_flight.cancel(&id);
            }
        }
        Ok(answer::empty(StatusCode::ACCEPTED))
    }

    fn end_session(&self, authorized: &AuthorizedRequest<'_>) -> Result<Response, RefusalReason> {
        let session = self.session(authorized)?;
        self.sessions.end(&session.id, &authorized.principal);
        Ok(answer::empty(StatusCode::NO_CONTENT))
    }

    fn session(&self, authorized: &AuthorizedRequest<'_>) -> Result<Arc<Session>, RefusalReason> {
        self.optional_session(authorized)?.ok_or(RefusalReason::MissingSession)
    }

    /// The session that the request names, if any. The version is checked first.
    fn optional_session(&self, authorized: &AuthorizedRequest<'_>) -> Result<Option<Arc<Session>>, RefusalReason> {
        let names_session = authorized.headers.contains_key(SESSION);
        if authorized.headers.contains_key(VERSION) {
            if only(authorized.headers, VERSION) != Some(REVISION) {
                return Err(RefusalReason::WrongVersion);
            }
        } else if !names_session {
            return Err(RefusalReason::MissingVersion);
        }
        if !names_session {
            return Ok(None);
        }
        let session = only(authorized.headers, SESSION).and_then(|id| self.sessions.find(id, &authorized.principal));
        session.map(Some).ok_or(RefusalReason::UnknownSession)
    }
}

/// The principal of the bearer token in the value of an `Authorization` header.
pub(super) fn bearer(tokens: &TokenStore, value: &str) -> Option<Principal> {
    let (scheme, token) = value.split_once(' ')?;
    let named = scheme.eq_ignore_ascii_case("bearer").then(|| tokens.principal(token.trim_matches(' ')));
    named.flatten().map(Principal::of_token)
}
