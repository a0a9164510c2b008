//! Answers that are being worked on: that of one call, or those of an array of messages, as messages in the form of a revision.
//!
//! Framing and HTTP status belong to the transports. Invariants: the last step is the answer or the cancellation; an array is answered
//! by one array, in the order in which its answers are ready, at most `cap` bytes long; dropping the value drops its calls.

use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::FuturesUnordered;

use super::dispatch;
use super::running::{CallStep, RunningCall};
use codeyard_gateway::service::ShedBy;
use codeyard_protocol::error::MessageError;
use codeyard_protocol::id::RequestId;
use codeyard_protocol::message::Message;
use codeyard_protocol::revision::Revision;
use codeyard_protocol::write;

/// The form of answers.
#[derive(Debug, Clone, Copy)]
pub struct AnswerForm {
    pub revision: Revision,
    /// Most bytes of an answer.
    pub cap: usize,
}

/// One step of an answer.
#[derive(Debug)]
pub enum AnswerStep {
    /// A message to the client before the answer.
    Message(Vec<u8>),
    Done(FinalAnswer),
    /// The client has cancelled the request. It gets no answer.
    Cancelled,
}

/// A final answer.
#[derive(Debug)]
pub struct FinalAnswer {
    /// The JSON text of the JSON-RPC message, or of the array of them.
    pub message: Vec<u8>,
    /// Why the request was turned away for now, and when to retry, in milliseconds.
    pub shed: Option<(ShedBy, u64)>,
}

/// How a message is answered that has an answer.
pub enum Answered {
    /// By this message.
    Now(FinalAnswer),
    /// By the reply of a call that is running.
    Later(Box<PendingReply>),
}

/// An answer that is being worked on.
pub enum PendingAnswer {
    Call(Box<PendingReply>),
    /// The answers of an array of messages.
    Batch(PendingBatch),
}

/// A running call, whose reply answers a request.
pub struct PendingReply {
    id: RequestId,
    running: RunningCall,
    form: AnswerForm,
}

/// Bytes of an array's answer that are kept free for each message that has none yet: an error with the longest id.
const RESERVED_BYTES: usize = 1_024;

/// The running calls of an array of messages, and the answers that there are.
pub struct PendingBatch {
    calls: FuturesUnordered<BoxFuture<'static, (PendingReply, AnswerStep)>>,
    answers: Vec<Vec<u8>>,
    form: AnswerForm,
}

impl From<Vec<u8>> for FinalAnswer {
    /// An answer that isn't rejected because of overload.
    fn from(message: Vec<u8>) -> Self {
        Self { message, shed: None }
    }
}

/// The id of the request that `message` is, or that it would be.
fn id_of(message: &Result<Message<'_>, MessageError>) -> Option<RequestId> {
    match message {
        Ok(Message::Request(request)) => Some(request.id.clone()),
        Ok(_) => None,
        Err(error) => error.id.clone(),
    }
}

impl PendingAnswer {
    /// The next step. Cancel-safe. Never resolves after the answer.
    pub async fn next(&mut self) -> AnswerStep {
        match self {
            Self::Call(reply) => reply.next().await,
            Self::Batch(batch) => batch.next().await,
        }
    }
}

impl PendingReply {
    /// The reply of `running` to the request `id`.
    pub fn new(id: RequestId, running: RunningCall, form: AnswerForm) -> Self {
        Self { id, running, form }
    }

    async fn next(&mut self) -> AnswerStep {
        match self.running.next().await {
            CallStep::Message(message) => AnswerStep::Message(message),
            CallStep::Done(reply) => AnswerStep::Done(dispatch::reply(&self.id, &reply, self.form)),
            CallStep::Cancelled => AnswerStep::Cancelled,
        }
    }
}

impl PendingBatch {
    /// Handles the messages of an array in their order with `handle`. An error answers its message.
    pub fn handle<'a>(
        messages: Vec<Result<Message<'a>, MessageError>>,
        form: AnswerForm,
        mut handle: impl FnMut(Message<'a>) -> Result<Option<Answered>, MessageError>,
    ) -> Self {
        let mut ready = Vec::new();
        let mut calls = Vec::new();
        for message in messages {
            let id = id_of(&message);
            match message.and_then(&mut handle) {
                Ok(Some(Answered::Now(answer))) => ready.push((id, answer.message)),
                Ok(Some(Answered::Later(reply))) => calls.push(*reply),
                Ok(None) => {}
                Err(error) => ready.push((id, write::fault(&error))),
            }
        }
        let mut batch = Self { calls: calls.into_iter().map(step).collect(), answers: Vec::new(), form };
        let mut left = ready.len() + batch.calls.len();
        for (id, message) in ready {
            left -= 1;
            batch.add(id.as_ref(), message, left);
        }
        batch
    }

    /// Adds an answer, or its error if it is too large beside the others: those there are, and `left` that are to come.
    fn add(&mut self, id: Option<&RequestId>, message: Vec<u8>, left: usize) {
        // Each answer is followed by a comma or the closing bracket.
        let used: usize = 1 + self.answers.iter().map(|known| known.len() + 1).sum::<usize>();
        let room = self.form.cap.saturating_sub(used + 1 + left * RESERVED_BYTES);
        self.answers.push(write::bounded_to(message, id, room, self.form.cap));
    }

    /// Whether nothing in the array is answered.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.answers.is_empty()
    }

    async fn next(&mut self) -> AnswerStep {
        while let Some((reply, next)) = self.calls.next().await {
            match next {
                AnswerStep::Message(message) => {
                    self.calls.push(step(reply));
                    return AnswerStep::Message(message);
                }
                AnswerStep::Done(answer) => self.add(Some(&reply.id), answer.message, self.calls.len()),
                AnswerStep::Cancelled => {}
            }
        }
        if self.answers.is_empty() {
            return AnswerStep::Cancelled;
        }
        let message = [&b"["[..], &std::mem::take(&mut self.answers).join(&b','), b"]"].concat();
        AnswerStep::Done(message.into())
    }
}

fn step(mut reply: PendingReply) -> BoxFuture<'static, (PendingReply, AnswerStep)> {
    async move {
        let next = reply.next().await;
        (reply, next)
    }
    .boxed()
}
