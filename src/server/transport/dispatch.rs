//! From a request to its answer, the same on every transport.
//!
//! It doesn't look at sessions, headers or frames. Invariants: a method that isn't served is `-32601` whatever else is
//! wrong; an answer's bytes never pass `max_response_bytes`.

use std::sync::Arc;

use codeyard_base::clock::Instant;
use codeyard_gateway::elicit::{self, Client};
use codeyard_gateway::service::progress_channel;
use codeyard_gateway::service::{Endpoint, Principal, Reply, Service, ToolCall, TraceContext, TransportKind};
use codeyard_protocol::error::{Error, Fault};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::message::{Request, Response};
use codeyard_protocol::names::Method;
use codeyard_protocol::{initialize, tools, write};
use codeyard_telemetry::RequestRecord;
use codeyard_telemetry::names::instruments::OTHER_METHOD;

use super::inflight::InFlight;
use super::running::{Running, Telling};

/// What the requests of one caller have in common.
pub struct Caller<'a> {
    /// The gateway.
    pub service: &'a dyn Service,
    /// Where the caller is.
    pub endpoint: &'a Endpoint,
    /// Who the caller is.
    pub principal: &'a Principal,
    /// The session, for correlation.
    pub session: Option<&'a str>,
    /// The `traceparent` header.
    pub header_traceparent: Option<&'a str>,
    /// The `tracestate` header.
    pub header_tracestate: Option<&'a str>,
    /// The way it came in.
    pub transport: TransportKind,
    /// The session's running calls.
    pub in_flight: &'a Arc<InFlight>,
    /// The session's client, as somebody to ask.
    pub client: Option<&'a Arc<Client>>,
}

/// What becomes of a request.
pub enum Outcome {
    /// Its result, as JSON text.
    Ready(Vec<u8>),
    /// A call that has started.
    Started(Running),
    /// A call that has been turned away.
    Refused(Reply),
}

/// The served method of `request`.
///
/// # Errors
/// [`Fault::UnknownMethod`].
pub fn method(service: &dyn Service, transport: TransportKind, request: &Request<'_>) -> Result<Method, Error> {
    Method::of(&request.method).ok_or_else(|| {
        let unknown = Fault::UnknownMethod.of(&request.id);
        tell(service, OTHER_METHOD, transport, Some(&unknown), Instant::now());
        unknown
    })
}

/// The result of `initialize` at `endpoint`, as JSON text; what the client says of itself is noted in `client`.
///
/// # Errors
/// [`Fault::BadParams`].
pub fn initialize(
    service: &dyn Service,
    endpoint: &Endpoint,
    request: &Request<'_>,
    client: Option<&Arc<Client>>,
) -> Result<Vec<u8>, Error> {
    let instructions = service.instructions(endpoint);
    let result = initialize::result(request.params, instructions.as_deref()).map_err(|fault| fault.of(&request.id))?;
    if let Some(client) = client {
        client.offer_forms(initialize::offers_forms(request.params));
    }
    Ok(result)
}

/// Takes the client's answer to a request of ours. What is no answer to an open question of this client is ignored.
pub fn answered(client: &Arc<Client>, response: &Response<'_>) {
    if let Some(id) = &response.id {
        client.answered(id, response.outcome);
    }
}

/// Serves `request`, whose method is `method`.
///
/// # Errors
/// If the parameters don't fit the method.
pub fn serve(caller: &Caller<'_>, method: Method, request: &Request<'_>) -> Result<Outcome, Error> {
    let fail = |fault: Fault| fault.of(&request.id);
    let began = Instant::now();
    let served = match method {
        Method::Initialize => initialize(caller.service, caller.endpoint, request, caller.client).map(Outcome::Ready),
        Method::Ping => Ok(Outcome::Ready(b"{}".to_vec())),
        Method::ToolsList => tools::list(request.params).map_err(fail).map(|_| {
            let list = caller.service.tools(caller.endpoint);
            Outcome::Ready([b"{\"tools\":", list.get().as_bytes(), b"}"].concat())
        }),
        Method::ToolsCall => {
            return match tools::call(request.params) {
                Ok(call) => Ok(start(caller, &request.id, call)),
                Err(fault) => {
                    caller.service.metrics().rejected(fault.reason());
                    caller.service.malformed(&caller.call(&request.id, String::new(), tools::meta(request.params)));
                    Err(fail(fault))
                }
            };
        }
    };
    tell(caller.service, method.as_str(), caller.transport, served.as_ref().err(), began);
    served
}

/// Counts a request that has become no tool call.
pub fn tell(
    service: &dyn Service,
    method: &'static str,
    transport: TransportKind,
    failed: Option<&Error>,
    began: Instant,
) {
    if let Some(error) = failed {
        service.metrics().rejected(error.fault.reason());
    }
    let error = failed.map(|error| error.fault.code());
    service.metrics().request(&RequestRecord { method, transport, error, total: began.elapsed() });
}

/// The bytes of `reply` to the request `id`, at most `cap`.
pub fn reply(id: &RequestId, reply: &Reply, cap: usize) -> Vec<u8> {
    let message = match reply {
        Reply::Result(result) | Reply::Refusal { result, .. } => write::result(id, result),
        Reply::Error { code, message, data, retry_after_ms, overloaded } => {
            let hint = data.is_none().then(|| hint(*retry_after_ms, *overloaded)).flatten();
            write::error(Some(id), *code, message, data.as_deref().or(hint.as_deref()))
        }
    };
    write::bounded(message, id, cap)
}

impl Caller<'_> {
    /// A call of `tool` by this caller, without arguments.
    fn call(&self, id: &RequestId, tool: String, trace: tools::Trace) -> ToolCall {
        ToolCall {
            endpoint: self.endpoint.clone(),
            principal: self.principal.clone(),
            tool,
            arguments: None,
            progress: None,
            line: None,
            trace: TraceContext {
                traceparent: trace.parent,
                tracestate: trace.state,
                header_traceparent: self.header_traceparent.map(str::to_owned),
                header_tracestate: self.header_tracestate.map(str::to_owned),
            },
            request_id_text: id.as_json().to_owned(),
            session: self.session.map(str::to_owned),
            transport: self.transport,
        }
    }
}

fn start(caller: &Caller<'_>, id: &RequestId, call: tools::Call<'_>) -> Outcome {
    let mut wanted = caller.call(id, call.name.into_owned(), call.trace);
    let Some(place) = caller.in_flight.enter(id) else {
        caller.service.metrics().shed("session");
        return Outcome::Refused(caller.service.overloaded(&wanted));
    };
    let (progress, telling) = match call.progress_token {
        Some(token) => {
            let (sink, feed) = progress_channel();
            (Some(sink), Some(Telling::new(token, feed)))
        }
        None => (None, None),
    };
    wanted.arguments = call.arguments.map(ToOwned::to_owned);
    wanted.progress = progress;
    let (line, messages) = caller.client.filter(|client| client.takes_forms()).map(elicit::line).unzip();
    wanted.line = line;
    Outcome::Started(Running::new(caller.service.call(wanted), place, telling, messages))
}

fn hint(retry_after_ms: Option<u64>, overloaded: bool) -> Option<Vec<u8>> {
    let ms = retry_after_ms?;
    let reason = if overloaded { "overloaded" } else { "unavailable" };
    Some(format!("{{\"reason\":\"{reason}\",\"retryAfterMs\":{ms}}}").into_bytes())
}
