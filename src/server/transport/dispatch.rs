//! Serves JSON-RPC requests. It is the same on every transport.
//!
//! Sessions, headers and framing belong to the transports. Invariants: an unknown method is answered with `-32601`, whatever else
//! is wrong with the request; an answer has at most `max_response_bytes` bytes, and the form of the caller's revision.

use std::net::IpAddr;
use std::sync::Arc;

use codeyard_base::clock::Instant;
use codeyard_gateway::elicit::{self, SessionClient};
use codeyard_gateway::service::progress_channel;
use codeyard_gateway::service::{Endpoint, Principal, Service, ToolCall, ToolReply, TraceContext, TransportKind};
use codeyard_protocol::error::{Fault, MessageError};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::message::{Request, Response};
use codeyard_protocol::names::Method;
use codeyard_protocol::revision::Revision;
use codeyard_protocol::stateless::{InputRound, RequestMeta};
use codeyard_protocol::{initialize, stateless, tools, write};
use codeyard_telemetry::RequestRecord;
use codeyard_telemetry::names::instruments::OTHER_METHOD;

use super::inflight::InFlightCalls;
use super::pending::{AnswerForm, Answered, FinalAnswer, PendingReply};
use super::running::{ProgressStream, RunningCall};

/// The context that the requests of one caller share.
pub struct Caller<'a> {
    pub service: &'a dyn Service,
    /// The endpoint of the request.
    pub endpoint: &'a Endpoint,
    pub principal: &'a Principal,
    /// The session's id, for logs and spans only.
    pub session: Option<&'a str>,
    pub header_traceparent: Option<&'a str>,
    pub header_tracestate: Option<&'a str>,
    /// The transport of the request.
    pub transport: TransportKind,
    /// The client's address; `None` for a local one.
    pub peer: Option<IpAddr>,
    /// The session's running calls.
    pub in_flight: &'a Arc<InFlightCalls>,
    /// The session's client, which can receive prompts.
    pub client: Option<&'a Arc<SessionClient>>,
    pub revision: Revision,
    /// What the request says of its client, in the stateless revision.
    pub meta: Option<&'a RequestMeta>,
}

/// The method of `request` in `revision`.
///
/// # Errors
/// [`Fault::UnknownMethod`]. It is recorded in the metrics.
pub fn method(
    service: &dyn Service,
    transport: TransportKind,
    request: &Request<'_>,
    revision: Revision,
) -> Result<Method, MessageError> {
    Method::of(&request.method, revision).ok_or_else(|| {
        let unknown = Fault::UnknownMethod.of(&request.id);
        record_request(service, OTHER_METHOD, transport, Some(&unknown), Instant::now());
        unknown
    })
}

/// The revision of the session that `request` begins at `endpoint`, and the result of `initialize` as JSON text. The client's
/// capabilities are recorded in `client`.
///
/// # Errors
/// [`Fault::BadParams`].
pub fn initialize(
    service: &dyn Service,
    endpoint: &Endpoint,
    transport: TransportKind,
    request: &Request<'_>,
    client: &Arc<SessionClient>,
) -> Result<(Revision, Vec<u8>), MessageError> {
    let started = Instant::now();
    let revision =
        initialize::negotiate(request.params, service.revisions(endpoint)).map_err(|fault| fault.of(&request.id));
    record_request(service, Method::Initialize.as_str(), transport, revision.as_ref().err(), started);
    let revision = revision?;
    client.set_supports_forms(initialize::supports_forms(request.params), revision);
    Ok((revision, initialize::result(revision, service.instructions(endpoint).as_deref())))
}

/// Handles the client's response to a request of ours. A response to no open prompt of this client is ignored.
pub fn handle_response(client: &Arc<SessionClient>, response: &Response<'_>) {
    if let Some(id) = &response.id {
        client.handle_response(id, response.outcome);
    }
}

/// Checks the parameters of `request`, which opens a subscription. Transports open it.
///
/// # Errors
/// Parameters that don't fit the method.
pub fn check_listen(
    service: &dyn Service,
    transport: TransportKind,
    request: &Request<'_>,
) -> Result<(), MessageError> {
    let checked = stateless::listen(request.params).map_err(|fault| fault.of(&request.id));
    record_request(service, Method::Listen.as_str(), transport, checked.as_ref().err(), Instant::now());
    checked
}

/// Serves `request`, whose method is `method`, or starts its call. Transports serve `initialize` and subscriptions themselves.
///
/// # Errors
/// Parameters that don't fit the method.
pub fn serve(
    caller: &Caller<'_>,
    method: Method,
    request: &Request<'_>,
    form: AnswerForm,
) -> Result<Answered, MessageError> {
    let fail = |fault: Fault| fault.of(&request.id);
    let started = Instant::now();
    let served = match method {
        Method::Initialize | Method::Listen => Err(fail(Fault::UnknownMethod)),
        Method::Ping => Ok(b"{}".to_vec()),
        Method::Discover => {
            let instructions = caller.service.instructions(caller.endpoint);
            let revisions = caller.service.revisions(caller.endpoint);
            Ok(stateless::complete(&stateless::discovery(revisions, instructions.as_deref())))
        }
        Method::ToolsList => tools::list(request.params).map_err(fail).map(|()| caller.tool_list()),
        Method::ToolsCall => {
            let input = caller.meta.map(|meta| stateless::input_round(request.params, meta.supports_forms)).transpose();
            return match input.and_then(|input| Ok((tools::call(request.params)?, input))) {
                Ok((call, input)) => Ok(start(caller, &request.id, call, input, form)),
                Err(fault) => {
                    caller.service.metrics().rejected(fault.reason());
                    caller.service.record_malformed(&caller.call(
                        &request.id,
                        String::new(),
                        tools::meta(request.params),
                    ));
                    Err(fail(fault))
                }
            };
        }
    };
    record_request(caller.service, method.as_str(), caller.transport, served.as_ref().err(), started);
    served.map(|result| Answered::Now(self::result(&request.id, &result, form.cap)))
}

/// Records a request that isn't a tool call in the metrics.
fn record_request(
    service: &dyn Service,
    method: &'static str,
    transport: TransportKind,
    failed: Option<&MessageError>,
    started: Instant,
) {
    if let Some(error) = failed {
        service.metrics().rejected(error.fault.reason());
    }
    let error = failed.map(|error| error.fault.code());
    service.metrics().request(&RequestRecord { method, transport, error, total: started.elapsed() });
}

/// The JSON-RPC response with `result`, JSON text, to the request `id`, at most `cap` bytes long.
pub fn result(id: &RequestId, result: &[u8], cap: usize) -> FinalAnswer {
    write::bounded(write::result(id, result), id, cap).into()
}

/// The JSON-RPC response with `reply` to the request `id`.
pub fn reply(id: &RequestId, reply: &ToolReply, form: AnswerForm) -> FinalAnswer {
    let message = match reply {
        ToolReply::Result(result) | ToolReply::Refusal { result, .. } if form.revision.is_stateless() => {
            write::result(id, &stateless::complete(result))
        }
        ToolReply::Result(result) | ToolReply::Refusal { result, .. } => write::result(id, result),
        ToolReply::InputRequired(result) => write::result(id, &stateless::input_required(result)),
        ToolReply::Error { code, message, data, retry_after_ms, shed } => {
            let hint = data.is_none().then(|| retry_hint(*retry_after_ms, shed.is_some())).flatten();
            write::error(Some(id), *code, message, data.as_deref().or(hint.as_deref()))
        }
    };
    let shed = match reply {
        ToolReply::Error { shed: Some(by), retry_after_ms, .. }
        | ToolReply::Refusal { shed: Some(by), retry_after_ms, .. } => Some((*by, retry_after_ms.unwrap_or(0))),
        _ => None,
    };
    FinalAnswer { message: write::bounded(message, id, form.cap), shed }
}

impl Caller<'_> {
    /// The result of `tools/list` in the caller's revision.
    fn tool_list(&self) -> Vec<u8> {
        let list = self.service.tools(self.principal, self.endpoint);
        let list = match self.revision.has_structured_results() {
            true => list.get().to_owned(),
            false => tools::without_output_schemas(&list),
        };
        let result = [b"{\"tools\":", list.as_bytes(), b"}"].concat();
        if !self.revision.is_stateless() {
            return result;
        }
        // The list depends on what the caller's credential allows.
        stateless::complete(&stateless::cacheable(&result))
    }

    /// A call of `tool` by this caller, without arguments.
    fn call(&self, id: &RequestId, tool: String, trace: tools::TraceMeta) -> ToolCall {
        ToolCall {
            endpoint: self.endpoint.clone(),
            principal: self.principal.clone(),
            tool,
            arguments: None,
            progress: None,
            prompts: None,
            input: None,
            revision: self.revision,
            trace: TraceContext {
                traceparent: trace.parent,
                tracestate: trace.state,
                header_traceparent: self.header_traceparent.map(str::to_owned),
                header_tracestate: self.header_tracestate.map(str::to_owned),
            },
            request_id_text: id.as_json().to_owned(),
            session: self.session.map(str::to_owned),
            transport: self.transport,
            peer: self.peer,
        }
    }
}

fn start(
    caller: &Caller<'_>,
    id: &RequestId,
    call: tools::CallRequest<'_>,
    input: Option<InputRound>,
    form: AnswerForm,
) -> Answered {
    let mut tool_call = caller.call(id, call.name.into_owned(), call.trace);
    let Some((ticket, registration)) = caller.in_flight.add(id) else {
        caller.service.metrics().shed("session");
        return Answered::Now(reply(id, &caller.service.reject_overloaded(&tool_call), form));
    };
    let (progress, progress_stream) = match call.progress_token {
        Some(token) => {
            let (sink, feed) = progress_channel();
            (Some(sink), Some(ProgressStream::new(token, feed)))
        }
        None => (None, None),
    };
    tool_call.arguments = call.arguments.map(ToOwned::to_owned);
    tool_call.progress = progress;
    tool_call.input = input;
    let (prompts, messages) =
        caller.client.filter(|client| client.supports_forms()).map(elicit::prompt_channel).unzip();
    tool_call.prompts = prompts;
    let running = RunningCall::new(caller.service.call(tool_call), ticket, registration, progress_stream, messages);
    Answered::Later(Box::new(PendingReply::new(id.clone(), running, form)))
}

fn retry_hint(retry_after_ms: Option<u64>, overloaded: bool) -> Option<Vec<u8>> {
    let ms = retry_after_ms?;
    let reason = if overloaded { "overloaded" } else { "unavailable" };
    Some(format!("{{\"reason\":\"{reason}\",\"retryAfterMs\":{ms}}}").into_bytes())
}
