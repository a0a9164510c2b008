//! A running call as a sequence of steps: progress notifications and prompts to the client, then the end.
//!
//! Both transports write the steps in their own framing. Invariants: progress is sent only if the client asked for it, first after
//! `PROGRESS_AFTER_MS`, then every `PROGRESS_INTERVAL_MS`, and never after the end; messages that the call has sent before its end
//! come before the end; dropping the value drops the call.

use std::pin::Pin;
use std::time::Duration;

use futures::future::{AbortRegistration, Abortable, BoxFuture};
use tokio::time::{Sleep, sleep};

use super::inflight::CallTicket;
use codeyard_base::clock::Instant;
use codeyard_gateway::elicit::PromptReceiver;
use codeyard_gateway::service::{ProgressFeed, ToolReply};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::progress::ProgressMeter;
use codeyard_protocol::write;

/// A call that asked for progress gets its first notification after this time, in milliseconds.
const PROGRESS_AFTER_MS: u64 = 1_000;
/// Time between two progress notifications of a call, in milliseconds.
const PROGRESS_INTERVAL_MS: u64 = 750;

/// A running call.
pub struct RunningCall {
    /// `None` once the call has ended.
    call: Option<Abortable<BoxFuture<'static, ToolReply>>>,
    progress_stream: Option<ProgressStream>,
    messages: Option<PromptReceiver>,
    ended: Option<CallStep>,
    _ticket: CallTicket,
}

/// One step of a running call.
#[derive(Debug)]
pub enum CallStep {
    /// A message to the client, as JSON text: progress, a prompt, the withdrawal of a prompt.
    Message(Vec<u8>),
    Done(ToolReply),
    /// The client has cancelled the call.
    Cancelled,
}

/// The progress notifications of one call.
pub struct ProgressStream {
    token: RequestId,
    feed: ProgressFeed,
    meter: ProgressMeter,
    message: Option<String>,
    next: Pin<Box<Sleep>>,
}

impl ProgressStream {
    /// Notifications with `token` of the progress in `feed`.
    pub fn new(token: RequestId, feed: ProgressFeed) -> Self {
        let next = Box::pin(sleep(Duration::from_millis(PROGRESS_AFTER_MS)));
        Self { token, feed, meter: ProgressMeter::default(), message: None, next }
    }

    /// The next notification, when it is due.
    async fn next_due(&mut self) -> Vec<u8> {
        self.next.as_mut().await;
        self.next.as_mut().reset(Instant::now() + Duration::from_millis(PROGRESS_INTERVAL_MS));
        let newest = self.feed.take();
        let numbers = newest.as_ref().map(|progress| (progress.progress, progress.total));
        if let Some(message) = newest.and_then(|progress| progress.message) {
            self.message = Some(message);
        }
        write::progress(&self.token, self.meter.read(numbers), self.message.as_deref())
    }
}

impl RunningCall {
    /// A call that `registration` can cancel. `messages` receives its prompts to the client.
    pub fn new(
        call: BoxFuture<'static, ToolReply>,
        ticket: CallTicket,
        registration: AbortRegistration,
        progress_stream: Option<ProgressStream>,
        messages: Option<PromptReceiver>,
    ) -> Self {
        let call = Some(Abortable::new(call, registration));
        Self { call, progress_stream, messages, ended: None, _ticket: ticket }
    }

    /// The next step. Cancel-safe. Never resolves after the end.
    pub async fn next(&mut self) -> CallStep {
        if let Some(call) = &mut self.call {
            let ended = tokio::select! {
                biased;
                ended = call => ended,
                message = next_message(self.messages.as_mut()) => return CallStep::Message(message),
                message = next_progress(self.progress_stream.as_mut()) => return CallStep::Message(message),
            };
            // Dropping the call may send the withdrawal of a prompt.
            self.call = None;
            self.ended = Some(ended.map_or(CallStep::Cancelled, CallStep::Done));
        }
        if let Some(message) = self.messages.as_mut().and_then(|messages| messages.try_recv().ok()) {
            return CallStep::Message(message);
        }
        match self.ended.take() {
            Some(end) => end,
            None => std::future::pending().await,
        }
    }
}

async fn next_message(messages: Option<&mut PromptReceiver>) -> Vec<u8> {
    if let Some(messages) = messages
        && let Some(message) = messages.recv().await
    {
        return message;
    }
    std::future::pending().await
}

async fn next_progress(progress_stream: Option<&mut ProgressStream>) -> Vec<u8> {
    match progress_stream {
        Some(progress_stream) => progress_stream.next_due().await,
        None => std::future::pending().await,
    }
}
