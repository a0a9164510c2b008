//! Arrays of messages over HTTP, in sessions of revision 2025-03-26 (`docs/internals/protocol.md#batches`).
//!
//! Invariants: each message of an array is handled as if it came alone, in order; an array with nothing to answer has status 202.

use axum::http::StatusCode;

use super::answer;
use super::handler::{AuthorizedRequest, HandledRequest, McpEndpoint};
use super::refusal::HttpRefusal;
use super::session::Session;
use crate::transport::dispatch;
use crate::transport::pending::{Answered, PendingAnswer, PendingBatch};
use crate::transport::stateless;
use codeyard_gateway::service::TransportKind;
use codeyard_protocol::error::{Fault, MessageError};
use codeyard_protocol::message::{self, Message, Request};
use codeyard_protocol::names::Method;

impl McpEndpoint {
    /// Handles an array of messages of `session`.
    pub(super) fn batch(
        &self,
        authorized: &AuthorizedRequest<'_>,
        session: &Session,
        body: &[u8],
    ) -> Result<HandledRequest, HttpRefusal> {
        let batch = PendingBatch::handle(message::parse_batch(body)?, self.form(session.revision), |message| {
            match message {
                Message::Request(request) => return self.batched_request(authorized, session, &request).map(Some),
                Message::Notification(notification) => self.notify(session, &notification),
                Message::Response(response) => dispatch::handle_response(&session.client, &response),
            }
            Ok(None)
        });
        if batch.is_empty() {
            return Ok(HandledRequest::Answered(answer::empty(StatusCode::ACCEPTED)));
        }
        Ok(HandledRequest::Pending(PendingAnswer::Batch(batch), self.revocation(&authorized.principal)))
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
        dispatch::serve(&caller, method, request, self.form(session.revision))
    }
}
