//! What happens on one HTTP/2 connection: its open answers, and those that its client takes nothing of.
//!
//! hyper hands an answer to the connection's buffer as a whole. Answers are therefore passed on in parts, so that a client that takes none is
//! noticed. Invariants: a connection without an open answer is closed after the idle time, and one whose client leaves a part of an answer
//! waiting, after the time for a write.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::sleep_until;

use super::options::ConnectionLimits;
use codeyard_base::clock::Instant;

/// Bytes of an answer that are passed on at a time.
const PART_BYTES: usize = 16 * 1024;

/// Why a connection must close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClosingReason {
    Idle,
    /// The client takes nothing of an answer.
    Stalled,
}

/// The open answers of a connection.
#[derive(Debug)]
pub(super) struct ConnectionActivity(Mutex<OpenAnswers>);

#[derive(Debug)]
struct OpenAnswers {
    /// Counts the answers.
    begun: u64,
    /// Since when a part waits for the client; `None` while the answer is worked on.
    open: BTreeMap<u64, Option<Instant>>,
    /// Since when no answer is open.
    idle: Instant,
}

/// An answer that isn't finished. Dropping it ends that.
#[derive(Debug)]
pub(super) struct OpenAnswer {
    activity: Arc<ConnectionActivity>,
    number: u64,
}

/// The body of an answer, in parts.
#[derive(Debug)]
pub(super) struct PacedBody {
    whole: Body,
    /// What is left of the data that the body gave.
    rest: Bytes,
    answer: OpenAnswer,
}

impl ConnectionActivity {
    /// No answer yet.
    pub(super) fn new() -> Self {
        Self(Mutex::new(OpenAnswers { begun: 0, open: BTreeMap::new(), idle: Instant::now() }))
    }

    /// A request begins.
    pub(super) fn begin(self: &Arc<Self>) -> OpenAnswer {
        let mut answers = self.0.lock();
        answers.begun += 1;
        let number = answers.begun;
        answers.open.insert(number, None);
        OpenAnswer { activity: self.clone(), number }
    }

    /// Ends when the connection must close.
    pub(super) async fn must_close(&self, limits: &ConnectionLimits) -> ClosingReason {
        loop {
            let (next, reason) = self.0.lock().next_look(limits);
            if next <= Instant::now()
                && let Some(reason) = reason
            {
                return reason;
            }
            sleep_until(next).await;
        }
    }
}

impl OpenAnswers {
    /// When the connection must close if nothing changes, and why; without a reason, when to look again.
    fn next_look(&self, limits: &ConnectionLimits) -> (Instant, Option<ClosingReason>) {
        if self.open.is_empty() {
            return (self.idle + limits.head, Some(ClosingReason::Idle));
        }
        match self.open.values().flatten().min() {
            Some(waiting) => (*waiting + limits.write, Some(ClosingReason::Stalled)),
            None => (Instant::now() + limits.write.min(limits.head), None),
        }
    }
}

impl OpenAnswer {
    fn set(&self, waits: Option<Instant>) {
        self.activity.0.lock().open.insert(self.number, waits);
    }
}

impl Drop for OpenAnswer {
    fn drop(&mut self) {
        let mut answers = self.activity.0.lock();
        answers.open.remove(&self.number);
        if answers.open.is_empty() {
            answers.idle = Instant::now();
        }
    }
}

impl PacedBody {
    /// The body of an answer.
    pub(super) fn new(whole: Body, answer: OpenAnswer) -> Self {
        Self { whole, rest: Bytes::new(), answer }
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        this.answer.set(None);
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.whole).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                other => return Poll::Ready(other),
            }
        }
        let part = this.rest.split_to(this.rest.len().min(PART_BYTES));
        // It is asked for the next part once the client has made room for it.
        this.answer.set(Some(Instant::now()));
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.whole.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let of_whole = self.whole.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = of_whole.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(of_whole.lower() + rest);
        hint
    }
}
