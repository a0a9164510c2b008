//! A call that is running, as steps: progress notifications and messages of its own to the client, then its end.
//!
//! Both transports take the steps and write them in their own framing. Invariants: progress only where it was asked
//! for, not before `PROGRESS_AFTER_MS`, then every `PROGRESS_INTERVAL_MS`, and never after the end; what the
//! call has left to say when it ends is said before its end; dropping it drops the call.

use std::pin::Pin;
use std::time::Duration;

use futures::future::{AbortRegistration, Abortable, BoxFuture};
use tokio::time::{Sleep, sleep};

use super::inflight::Ticket;
use crate::limits::{PROGRESS_AFTER_MS, PROGRESS_INTERVAL_MS};
use codeyard_base::clock::Instant;
use codeyard_gateway::elicit::LineEnd;
use codeyard_gateway::service::{ProgressFeed, Reply};
use codeyard_protocol::id::RequestId;
use codeyard_protocol::progress::Meter;
use codeyard_protocol::write;

/// A running call.
pub struct Running {
    /// Gone when it has ended.
    call: Option<Abortable<BoxFuture<'static, Reply>>>,
    telling: Option<Telling>,
    messages: Option<LineEnd>,
    ended: Option<Step>,
    _ticket: Ticket,
}

/// What a running call did.
#[derive(Debug)]
pub enum Step {
    /// A message to send on the way, as JSON text: progress, a question, its withdrawal.
    Message(Vec<u8>),
    /// It ended.
    Done(Reply),
    /// The client cancelled it; it is gone.
    Cancelled,
}

/// The progress of one call under its token.
pub struct Telling {
    token: RequestId,
    feed: ProgressFeed,
    meter: Meter,
    message: Option<String>,
    next: Pin<Box<Sleep>>,
}

impl Telling {
    /// Tells what `feed` says under `token`.
    pub fn new(token: RequestId, feed: ProgressFeed) -> Self {
        let next = Box::pin(sleep(Duration::from_millis(PROGRESS_AFTER_MS)));
        Self { token, feed, meter: Meter::default(), message: None, next }
    }

    async fn due(&mut self) -> Vec<u8> {
        self.next.as_mut().await;
        self.next.as_mut().reset(Instant::now() + Duration::from_millis(PROGRESS_INTERVAL_MS));
        let told = self.feed.take();
        let numbers = told.as_ref().map(|told| (told.progress, told.total));
        if let Some(message) = told.and_then(|told| told.message) {
            self.message = Some(message);
        }
        write::progress(&self.token, self.meter.read(numbers), self.message.as_deref())
    }
}

impl Running {
    /// A call in its place, cancelled through `registration`. `messages` is the end of its line to the client.
    pub fn new(
        call: BoxFuture<'static, Reply>,
        (ticket, registration): (Ticket, AbortRegistration),
        telling: Option<Telling>,
        messages: Option<LineEnd>,
    ) -> Self {
        let call = Some(Abortable::new(call, registration));
        Self { call, telling, messages, ended: None, _ticket: ticket }
    }

    /// The next step. May be dropped and asked for again; not to be asked for after the end.
    pub async fn next(&mut self) -> Step {
        if let Some(call) = &mut self.call {
            let ended = tokio::select! {
                biased;
                ended = call => ended,
                message = said(self.messages.as_mut()) => return Step::Message(message),
                message = due(self.telling.as_mut()) => return Step::Message(message),
            };
            // A call that is dropped may have something to say.
            self.call = None;
            self.ended = Some(ended.map_or(Step::Cancelled, Step::Done));
        }
        if let Some(message) = self.messages.as_mut().and_then(|messages| messages.try_recv().ok()) {
            return Step::Message(message);
        }
        match self.ended.take() {
            Some(end) => end,
            None => std::future::pending().await,
        }
    }
}

async fn said(messages: Option<&mut LineEnd>) -> Vec<u8> {
    if let Some(messages) = messages
        && let Some(message) = messages.recv().await
    {
        return message;
    }
    std::future::pending().await
}

async fn due(telling: Option<&mut Telling>) -> Vec<u8> {
    match telling {
        Some(telling) => telling.due().await,
        None => std::future::pending().await,
    }
}
