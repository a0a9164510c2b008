//! Arrays of messages over HTTP, in sessions of revision 2025-03-26 (`docs/protocol.md#batches`).
//!
//! Invariants: each message of an array is handled as if it came alone, in order; an array with nothing to answer has status 202.

use axum::http::StatusCode;

use super::answer;
use super::handler::{AuthorizedRequest, HandledRequest, McpEndpoint};
use super::refusal::HttpRefusal;
use super::session::Session;
use crate::transport::dispatch::{self, RequestOutcome};
use crate::transport::pending::{Answered, PendingAnswer, PendingBatch, PendingReply, id_of};
use crate::transport::stateless;
use codeyard_gateway::service::TransportKind;
use codeyard_protocol::error::{Fault, MessageError};
use codeyard_protocol::message::{self, Message, Request};
use codeyard_protocol::names::Method;
use codeyard_protocol::write;

impl McpEndpoint {
    /// Handles an array of messages of `session`.
    pub(super) fn batch(
        &self,
        authorized: &AuthorizedRequest<'_>,
        session: &Session,
        body: &[u8],
    ) -> Result<HandledRequest, HttpRefusal> {
        let (mut answers, mut calls) = (Vec::new(), Vec::new());
        for message in message::parse_batch(body)? {
            let id = id_of(&message);
            let answered = match message {
                Ok(Message::Request(request)) => self.batched_request(authorized, session, &request),
                Ok(Message::Notification(notification)) => {
                    self.notify(session, &notification);
                    Ok(Answered::Nothing)
                }
                Ok(Message::Response(response)) => {
                    dispatch::handle_response(&session.client, &response);
                    Ok(Answered::Nothing)
                }
                Err(error) => Err(error),
            };
            match answered {
                Ok(Answered::Now(answer)) => answers.push((id, answer)),
                Ok(Answered::Later(call)) => calls.push(*call),
                Ok(Answered::Nothing) => {}
                Err(error) => answers.push((id, write::fault(&error))),
            }
        }
        let batch = PendingBatch::new(answers, calls, self.form(session.revision));
        if batch.is_empty() {
            return Ok(HandledRequest::Answered(answer::empty(StatusCode::ACCEPTED)));
        }
        Ok(HandledRequest::Pending(PendingAnswer::Batch(batch)))
    }

    fn batched_request(
        &self,
        authorized: &AuthorizedRequest<'_>,
        session: &Session,
        request: &Request<'_>,
    ) -> Result<Answered, MessageError> {
        let method = dispatch::method(&*self.service, TransportKind::Tcp, request, session.revision)?;
        if method == Method::Initialize {
            return Err(Fault::BatchedInitialize.of(&request.id));
        }
        if stateless::applies(request, self.service.revisions(&authorized.endpoint), true) {
            return Err(Fault::Batch.of(&request.id));
        }
        let caller = self.caller(authorized, Some(session), &session.in_flight, session.revision);
        let form = self.form(session.revision);
        Ok(match dispatch::serve(&caller, method, request)? {
            RequestOutcome::Ready(result) => {
                Answered::Now(write::bounded(write::result(&request.id, &result), &request.id, form.cap))
            }
            RequestOutcome::Rejected(reply) => Answered::Now(dispatch::reply(&request.id, &reply, form).message),
            RequestOutcome::Started(running) => {
                Answered::Later(Box::new(PendingReply::new(request.id.clone(), running, form)))
            }
        })
    }
}
