//! A call that is running, as steps: some progress notifications, then its end.
//!
//! Both transports take the steps and write them in their own framing. Invariants: progress only where it was asked
//! for, not before `PROGRESS_AFTER_MS`, then every `PROGRESS_INTERVAL_MS`, and never after the end; dropping it drops
//! the call.

use std::pin::Pin;
use std::time::Duration;

use futures::future::{AbortRegistration, Abortable, BoxFuture};
use tokio::time::{Sleep, sleep};

use super::inflight::Ticket;
use crate::base::clock::Instant;
use crate::base::limits::{PROGRESS_AFTER_MS, PROGRESS_INTERVAL_MS};
use crate::gateway::service::{ProgressFeed, Reply};
use crate::protocol::id::RequestId;
use crate::protocol::progress::Meter;
use crate::protocol::write;

/// A running call.
pub struct Running {
    call: Abortable<BoxFuture<'static, Reply>>,
    telling: Option<Telling>,
    _ticket: Ticket,
}

/// What a running call did.
#[derive(Debug)]
pub enum Step {
    /// A progress notification to send, as JSON text.
    Progress(Vec<u8>),
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
    /// A call in its place, cancelled through `registration`.
    pub fn new(
        call: BoxFuture<'static, Reply>,
        (ticket, registration): (Ticket, AbortRegistration),
        telling: Option<Telling>,
    ) -> Self {
        Self { call: Abortable::new(call, registration), telling, _ticket: ticket }
    }

    /// The next step. May be dropped and asked for again; not to be asked for after the end.
    pub async fn next(&mut self) -> Step {
        let ended = match &mut self.telling {
            None => (&mut self.call).await,
            Some(telling) => tokio::select! {
                biased;
                ended = &mut self.call => ended,
                message = telling.due() => return Step::Progress(message),
            },
        };
        ended.map_or(Step::Cancelled, Step::Done)
    }
}
