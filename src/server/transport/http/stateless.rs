//! Requests of the stateless revision over HTTP: the headers that repeat parts of the body, and statuses
//! (`docs/internals/protocol.md#the-stateless-revision`).
//!
//! Sessions play no part here: a session id is ignored. Invariants: a header that differs from the body is an error before anything is
//! served; a subscription holds nothing but its response, and their number is bounded.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;

use super::handler::{AuthorizedRequest, HandledRequest, McpEndpoint, VERSION};
use super::host::only;
use super::{answer, handler};
use crate::transport::dispatch::{self, Caller};
use crate::transport::inflight::InFlightCalls;
use crate::transport::stateless::{self, MetaRejection};
use codeyard_base::base64_text;
use codeyard_gateway::limits::MAX_CALLS_IN_FLIGHT;
use codeyard_gateway::service::{ToolReply, TransportKind};
use codeyard_protocol::message::Request;
use codeyard_protocol::names::{HEADER_MISMATCH, Method};
use codeyard_protocol::revision::{Revision, RevisionSet};
use codeyard_protocol::stateless::RequestMeta;
use codeyard_protocol::{tools, write};

/// Time between two comments on the stream of a subscription, which keep its connection open, in milliseconds.
const SUBSCRIPTION_KEEP_ALIVE_MS: u64 = 15_000;

/// The header that repeats the method.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The header that repeats the tool's name.
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Whether `request` belongs to the stateless revision. A version header that names no revision with sessions counts, too, unless the
/// request is an `initialize`.
pub(super) fn applies(headers: &HeaderMap, request: &Request<'_>, spoken: RevisionSet) -> bool {
    let has_session = headers.contains_key(handler::SESSION);
    stateless::applies(request, spoken, has_session)
        || (request.method != Method::Initialize.as_str() && names_stateless(headers, spoken))
}

/// What becomes of a notification if it belongs to the stateless revision, which has none to act on over HTTP: it is accepted, or its
/// revision isn't spoken.
pub(super) fn notification(headers: &HeaderMap, spoken: RevisionSet) -> Option<Result<(), MetaRejection>> {
    let named = only(headers, VERSION).filter(|_| names_stateless(headers, spoken))?;
    let is_spoken = stateless::spoken_revision(named, spoken).is_some();
    Some(if is_spoken { Ok(()) } else { Err(stateless::unsupported(None, named, spoken)) })
}

/// Whether the version header is there and names no revision with sessions.
fn names_stateless(headers: &HeaderMap, spoken: RevisionSet) -> bool {
    let named = only(headers, VERSION).map(Revision::parse);
    spoken.has_stateless() && named.is_some_and(|revision| revision.is_none_or(Revision::is_stateless))
}

impl McpEndpoint {
    /// Serves `request`, or starts its call.
    pub(super) fn stateless_request(
        &self,
        authorized: &AuthorizedRequest<'_>,
        request: &Request<'_>,
        spoken: RevisionSet,
    ) -> HandledRequest {
        let reject =
            |status: StatusCode, rejection: MetaRejection| HandledRequest::Answered(self.rejected(status, rejection));
        let (meta, revision) = match checked(authorized.headers, request, spoken) {
            Ok(checked) => checked,
            Err(rejection) => return reject(StatusCode::BAD_REQUEST, rejection),
        };
        let method = match dispatch::method(&*self.service, TransportKind::Tcp, request, revision) {
            Ok(method) => method,
            Err(unknown) => {
                return HandledRequest::Answered(answer::with_status(StatusCode::NOT_FOUND, write::fault(&unknown)));
            }
        };
        if method == Method::ToolsCall
            && let Ok(call) = tools::call(request.params)
            && !repeats_name(authorized.headers, &call.name)
        {
            let rejection = mismatch(request, "the Mcp-Name header must be there and equal `params.name`");
            return reject(StatusCode::BAD_REQUEST, rejection);
        }
        if method == Method::Listen {
            return HandledRequest::Answered(self.subscription(authorized, request));
        }
        let in_flight = InFlightCalls::new(MAX_CALLS_IN_FLIGHT);
        let caller = Caller { meta: Some(&meta), ..self.caller(authorized, None, &in_flight, revision) };
        match self.serve(&caller, method, request) {
            Ok(handled) => handled,
            Err(error) => HandledRequest::Answered(answer::with_status(StatusCode::BAD_REQUEST, write::fault(&error))),
        }
    }

    /// The response to a message that isn't served.
    pub(super) fn rejected(&self, status: StatusCode, rejection: MetaRejection) -> Response {
        self.service.metrics().rejected(rejection.reason);
        answer::with_status(status, rejection.message)
    }

    /// The response to a subscription: an event stream that stays open until the client closes it or the server stops.
    fn subscription(&self, authorized: &AuthorizedRequest<'_>, request: &Request<'_>) -> Response {
        if let Err(error) = dispatch::check_listen(&*self.service, TransportKind::Tcp, request) {
            return answer::with_status(StatusCode::BAD_REQUEST, write::fault(&error));
        }
        let Some(place) = self.subscriptions.open(&authorized.principal) else {
            self.service.metrics().shed("subscription");
            return answer::reply(dispatch::reply(&request.id, &ToolReply::overloaded(), self.form(Revision::DEFAULT)));
        };
        let keep_alive = Duration::from_millis(SUBSCRIPTION_KEEP_ALIVE_MS);
        let revocation = self.revocation(&authorized.principal);
        answer::subscription(request.id.clone(), place, keep_alive, self.shutdown.clone(), revocation)
    }
}

/// The `_meta` of a request whose headers repeat it.
fn checked(
    headers: &HeaderMap,
    request: &Request<'_>,
    spoken: RevisionSet,
) -> Result<(RequestMeta, Revision), MetaRejection> {
    let Some(header) = only(headers, VERSION) else {
        return Err(mismatch(request, "the MCP-Protocol-Version header is required, once"));
    };
    let named = codeyard_protocol::stateless::version(request.params);
    if named.as_ref().is_some_and(|version| version != header) {
        return Err(mismatch(request, "the MCP-Protocol-Version header differs from `_meta`"));
    }
    if stateless::spoken_revision(header, spoken).is_none() {
        return Err(stateless::unsupported(Some(&request.id), header, spoken));
    }
    let checked = stateless::check(request, spoken)?;
    if only(headers, METHOD) != Some(&request.method) {
        return Err(mismatch(request, "the Mcp-Method header must be there and equal `method`"));
    }
    Ok(checked)
}

fn mismatch(request: &Request<'_>, sentence: &str) -> MetaRejection {
    let reason = stateless::HEADER_MISMATCH_REASON;
    let data = format!("{{\"reason\":\"{reason}\"}}");
    let message = write::error(Some(&request.id), HEADER_MISMATCH, sentence, Some(data.as_bytes()));
    MetaRejection { reason, message }
}

/// Whether the name's header is `name`, as it is or in base64.
fn repeats_name(headers: &HeaderMap, name: &str) -> bool {
    only(headers, NAME).is_some_and(|header| match encoded(header) {
        Some(text) => base64_text::decode(text).is_some_and(|bytes| bytes == name.as_bytes()),
        None => header == name,
    })
}

/// The base64 text of a header value with the marks that say so.
fn encoded(header: &str) -> Option<&str> {
    header.strip_prefix("=?base64?")?.strip_suffix("?=")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_name_is_compared_after_decoding() {
        let with = |value: &str| HeaderMap::from_iter([(NAME, HeaderValue::from_str(value).unwrap())]);
        for (value, name) in [("lsp", "lsp"), ("=?base64?bHNw?=", "lsp"), ("=?base64?w6k=?=", "é")] {
            assert!(repeats_name(&with(value), name), "{value}");
        }
        for (value, name) in [
            ("LSP", "lsp"),
            ("lsp2", "lsp"),
            ("", "lsp"),
            ("bHNw", "lsp"),
            ("=?base64?bHN?=", "lsp"),
            ("=?BASE64?bHNw?=", "lsp"),
            ("=?base64?bHNw?=", "=?base64?bHNw?="),
        ] {
            assert!(!repeats_name(&with(value), name), "{value}");
        }
        assert!(!repeats_name(&HeaderMap::new(), "lsp"));
    }
}
