//! Handles one HTTP request: the checks in the order of `docs/internals/protocol.md#refusals-over-http`, then the message.
//!
//! Only a permitted probe comes before the checks, at a path that is no endpoint path. Requests of the stateless revision are in
//! `stateless`, arrays of messages in `batch`. Invariants: nothing is looked up before authentication; an unknown method is answered
//! before version and session are checked; dropping the handler's future drops the call.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, StatusCode};
use axum::response::Response;
use futures::future::BoxFuture;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

use super::connection_shares::ConnectionPlace;
use super::credentials::Revocation;
use super::host::{AllowedHosts, AllowedOrigins, only};
use super::minting::MAX_TOKEN_REQUEST_BYTES;
use super::options::HttpOptions;
use super::path::{self, Target};
use super::probes::{Probe, Probes};
use super::refusal::{HttpRefusal, RefusalReason};
use super::request_head::head_bytes;
use super::session::{Session, Sessions};
use super::subscriptions::Subscriptions;
use super::{answer, body, media, stateless};
use crate::limits::MAX_HTTP_HEAD_BYTES;
use crate::proxies::TrustedProxies;
use crate::tls::TlsCaller;
use crate::transport::dispatch::{self, Caller};
use crate::transport::inflight::InFlightCalls;
use crate::transport::pending::{AnswerForm, Answered, PendingAnswer};
use codeyard_audit::{AuditEvent, AuditLog, EventKind};
use codeyard_config::ContentMode;
use codeyard_gateway::limits::MAX_CALLS_IN_FLIGHT;
use codeyard_gateway::service::{Endpoint, Principal, Service, TransportKind};
use codeyard_model::limits::Limits;
use codeyard_protocol::error::{Fault, MessageError};
use codeyard_protocol::limits::{MAX_TRACEPARENT_BYTES, MAX_TRACESTATE_BYTES};
use codeyard_protocol::message::{self, Message, Notification, Request as RpcRequest};
use codeyard_protocol::names::{Method, NotificationKind};
use codeyard_protocol::revision::Revision;
use codeyard_protocol::{cancelled, write};
use codeyard_signon::SignOn;
use codeyard_state::TokenStore;

/// The header that names the session.
pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header that names the revision.
pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Where clients register that begin OAuth without a server's metadata.
const OAUTH_REGISTRATION: &str = "/register";
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The MCP endpoints of one server: the service, and the checks in front of it.
pub struct McpEndpoint {
    pub(super) service: Arc<dyn Service>,
    pub(super) auth: Option<Arc<TokenStore>>,
    pub(super) sign_on: Arc<SignOn>,
    pub(super) hosts: AllowedHosts,
    pub(super) origins: AllowedOrigins,
    pub(super) limits: Limits,
    pub(super) body_timeout: Duration,
    pub(super) sessions: Sessions,
    /// The open subscriptions of all clients.
    pub(super) subscriptions: Arc<Subscriptions>,
    pub(super) probes: Option<Probes>,
    pub(super) audit: Option<Arc<AuditLog>>,
    proxies: Arc<TrustedProxies>,
    pub(super) shutdown: CancellationToken,
}

/// A request that has passed authentication: its principal, endpoint and headers.
pub(super) struct AuthorizedRequest<'a> {
    pub(super) principal: Principal,
    pub(super) endpoint: Endpoint,
    pub(super) headers: &'a HeaderMap,
    pub(super) peer: IpAddr,
}

/// The client of one request.
pub(super) struct Client {
    /// The other end of the connection: the client, or a proxy.
    peer: SocketAddr,
    /// The client's own address, as a trusted proxy names it.
    pub(super) address: IpAddr,
    /// The principal of the client's certificate.
    pub(super) certificate: Option<Principal>,
    place: Arc<ConnectionPlace>,
}

/// The outcome of a request whose bytes were read.
pub(super) enum HandledRequest {
    Answered(Response),
    /// An answer that is being worked on.
    Pending(PendingAnswer, Revocation),
}

pub(super) struct ConnectionService {
    pub(super) endpoint: Arc<McpEndpoint>,
    /// The other end of the connection.
    pub(super) peer: SocketAddr,
    /// The other end, if it has a certificate.
    pub(super) caller: Option<TlsCaller>,
    /// The connection's place among the others.
    pub(super) place: Arc<ConnectionPlace>,
}

impl hyper::service::Service<hyper::Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    // There is no router, because the checks have a fixed order and come first.
    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        let endpoint = self.endpoint.clone();
        let client = Client {
            peer: self.peer,
            address: self.endpoint.proxies.client(request.headers(), self.peer),
            certificate: self.caller.as_ref().and_then(TlsCaller::principal),
            place: self.place.clone(),
        };
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
    pub(super) fn new(service: Arc<dyn Service>, options: HttpOptions, shutdown: CancellationToken) -> Self {
        let sessions =
            Sessions::new(options.connections.sessions, options.connections.sessions_per_principal, service.metrics());
        Self {
            service,
            auth: options.auth,
            sign_on: options.sign_on,
            hosts: options.allowed_hosts,
            origins: options.allowed_origins,
            limits: options.limits.clamped(),
            body_timeout: options.connections.body,
            sessions,
            subscriptions: Arc::default(),
            probes: options.probes,
            audit: options.audit,
            proxies: options.proxies,
            shutdown,
        }
    }

    async fn answer(&self, parts: Parts, body: Incoming, client: &Client) -> Result<Response, HttpRefusal> {
        let path = if self.sign_on.is_on() { parts.uri.path().to_owned() } else { String::new() };
        match self.handle(parts, body, client).await? {
            HandledRequest::Answered(response) => Ok(response),
            HandledRequest::Pending(pending, revocation) => {
                let operations = revocation.operations();
                let response = answer::pending(pending, revocation).await.ok_or(RefusalReason::Bearer)?;
                Ok(self.with_missing_scope(response, &path, operations))
            }
        }
    }

    /// Checks and reads a request, and serves it or starts its call. The request's bytes aren't kept while a call runs, because the
    /// connection's buffer is reused.
    async fn handle(&self, parts: Parts, body: Incoming, client: &Client) -> Result<HandledRequest, HttpRefusal> {
        let handled = self.handle_checked(&parts, body, client).await;
        if let (Some(audit), Err(refusal)) = (&self.audit, &handled) {
            self.audit_refusal(audit, &parts, client, refusal);
        }
        handled
    }

    async fn handle_checked(
        &self,
        parts: &Parts,
        body: Incoming,
        client: &Client,
    ) -> Result<HandledRequest, HttpRefusal> {
        if let Some(probes) = &self.probes
            && let Some(probe) = Probe::of(parts, client.peer, &probes.access)
        {
            client.place.keep_for_probes();
            return Ok(HandledRequest::Answered(probes.answer(probe).await));
        }
        if head_bytes(parts) > MAX_HTTP_HEAD_BYTES {
            return Err(RefusalReason::HeadSize.into());
        }
        if let Some(resource) = self.sign_on.resource_path(parts.uri.path()) {
            self.hosts.check(parts)?;
            return Ok(HandledRequest::Answered(self.resource_metadata(parts, resource)?));
        }
        if parts.method == HttpMethod::POST && parts.uri.path() == OAUTH_REGISTRATION && !self.sign_on.is_on() {
            return Ok(HandledRequest::Answered(answer::no_oauth()));
        }
        let target = Target::of(parts)?;
        self.hosts.check(parts)?;
        self.origins.check(&parts.headers)?;
        let principal = self.principal(parts, client).await?;
        if !client.place.authenticate() {
            self.service.metrics().shed("connection");
            return Ok(HandledRequest::Answered(answer::too_many_connections()));
        }
        let path = match target {
            Target::Endpoint(path) => path,
            Target::Tokens(request) => {
                let body = body::read(body, MAX_TOKEN_REQUEST_BYTES, self.body_timeout);
                return Ok(HandledRequest::Answered(
                    self.tokens(request, principal, parts, client.address, body).await?,
                ));
            }
        };
        let is_delete = parts.method == HttpMethod::DELETE;
        if path.is_group_without_code() {
            return Err(RefusalReason::GroupCatalog.into());
        }
        let endpoint = self.service.endpoint(&principal, path.workspace.as_deref(), path.catalogs.as_deref());
        let mut endpoint =
            endpoint.ok_or_else(|| HttpRefusal::of_endpoint(self.service.endpoint_advice(&principal)))?;
        if let Some(word) = path::asked_content(parts.uri.query()) {
            endpoint.content = ContentMode::parse(word).ok_or_else(HttpRefusal::of_content)?;
        }
        let authorized = AuthorizedRequest { principal, endpoint, headers: &parts.headers, peer: client.address };
        if is_delete {
            return Ok(HandledRequest::Answered(self.end_session(&authorized)?));
        }
        media::content_type(&parts.headers)?;
        media::accept(&parts.headers)?;
        let body = body::read(body, self.limits.max_request_bytes, self.body_timeout).await?;
        let spoken = self.service.revisions(&authorized.endpoint);
        let message = match message::parse(&body) {
            Err(error) if error.fault == Fault::Batch => match self.batching_session(&authorized, spoken)? {
                Some(session) => return self.batch(&authorized, &session, &body),
                None => return Err(error.into()),
            },
            message => message?,
        };
        match message {
            Message::Request(request) if stateless::applies(&parts.headers, &request, spoken) => {
                Ok(self.stateless_request(&authorized, &request, spoken))
            }
            Message::Request(request) => self.request(&authorized, &request),
            Message::Notification(notification) => {
                Ok(HandledRequest::Answered(match stateless::notification(&parts.headers, spoken) {
                    Some(Ok(())) => answer::empty(StatusCode::ACCEPTED),
                    Some(Err(rejection)) => self.rejected(StatusCode::BAD_REQUEST, rejection),
                    None => self.notification(&authorized, &notification)?,
                }))
            }
            Message::Response(response) => {
                dispatch::handle_response(&self.session(&authorized)?.client, &response);
                Ok(HandledRequest::Answered(answer::empty(StatusCode::ACCEPTED)))
            }
        }
    }

    fn request(
        &self,
        authorized: &AuthorizedRequest<'_>,
        request: &RpcRequest<'_>,
    ) -> Result<HandledRequest, HttpRefusal> {
        let reject = |reason: RefusalReason| reason.of(&request.id);
        let method = match dispatch::method(&*self.service, TransportKind::Tcp, request, Revision::DEFAULT) {
            Ok(method) => method,
            Err(unknown) => return Ok(HandledRequest::Answered(answer::json(write::fault(&unknown)))),
        };
        let session = match method {
            Method::Initialize => return Ok(HandledRequest::Answered(self.initialize(authorized, request))),
            Method::Ping => self.optional_session(authorized).map_err(reject)?,
            _ => Some(self.session(authorized).map_err(reject)?),
        };
        let no_session;
        let in_flight = match &session {
            Some(session) => &session.in_flight,
            None => {
                no_session = InFlightCalls::new(MAX_CALLS_IN_FLIGHT);
                &no_session
            }
        };
        let revision = session.as_ref().map_or(Revision::DEFAULT, |session| session.revision);
        let caller = self.caller(authorized, session.as_deref(), in_flight, revision);
        Ok(match self.serve(&caller, method, request) {
            Ok(handled) => handled,
            Err(error) => HandledRequest::Answered(answer::json(write::fault(&error))),
        })
    }

    /// Serves `request` of `caller`, or starts its call.
    pub(super) fn serve(
        &self,
        caller: &Caller<'_>,
        method: Method,
        request: &RpcRequest<'_>,
    ) -> Result<HandledRequest, MessageError> {
        Ok(match dispatch::serve(caller, method, request, self.form(caller.revision))? {
            Answered::Now(answer) => HandledRequest::Answered(answer::reply(answer)),
            Answered::Later(reply) => {
                HandledRequest::Pending(PendingAnswer::Call(reply), self.revocation(caller.principal))
            }
        })
    }

    /// The form of answers in `revision`.
    pub(super) fn form(&self, revision: Revision) -> AnswerForm {
        AnswerForm { revision, cap: self.limits.max_response_bytes }
    }

    /// The context of a request in `session`, if it has one.
    pub(super) fn caller<'a>(
        &'a self,
        authorized: &'a AuthorizedRequest<'_>,
        session: Option<&'a Session>,
        in_flight: &'a Arc<InFlightCalls>,
        revision: Revision,
    ) -> Caller<'a> {
        let headers = authorized.headers;
        Caller {
            service: &*self.service,
            endpoint: &authorized.endpoint,
            principal: &authorized.principal,
            session: session.map(|session| session.id.as_str()),
            header_traceparent: only(headers, TRACEPARENT).filter(|text| text.len() <= MAX_TRACEPARENT_BYTES),
            header_tracestate: only(headers, TRACESTATE).filter(|text| text.len() <= MAX_TRACESTATE_BYTES),
            transport: TransportKind::Tcp,
            peer: Some(authorized.peer),
            in_flight,
            client: session.map(|session| &session.client),
            revision,
            meta: None,
        }
    }

    fn initialize(&self, authorized: &AuthorizedRequest<'_>, request: &RpcRequest<'_>) -> Response {
        let client = Arc::default();
        let begun = dispatch::initialize(&*self.service, &authorized.endpoint, TransportKind::Tcp, request, &client);
        let (revision, result) = match begun {
            Ok(begun) => begun,
            Err(error) => return answer::json(write::fault(&error)),
        };
        let session = self.sessions.start(&authorized.principal, client, revision);
        let workspace = authorized.endpoint.workspace.as_ref().map(|name| name.as_str().into());
        let event =
            AuditEvent { workspace, operation: Some("initialize"), ..AuditEvent::new(EventKind::Session, "ok") };
        self.audit(&authorized.principal, authorized.peer, event);
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
        if NotificationKind::of(&notification.method) != NotificationKind::Unknown {
            self.notify(&*self.session(authorized)?, notification);
        }
        Ok(answer::empty(StatusCode::ACCEPTED))
    }

    /// Acts on a notification of `session`.
    pub(super) fn notify(&self, session: &Session, notification: &Notification<'_>) {
        if NotificationKind::of(&notification.method) == NotificationKind::Cancelled
            && let Some(id) = cancelled::request_id(notification.params)
        {
            session.in_flight.cancel(&id);
        }
    }
}
