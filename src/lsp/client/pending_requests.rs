//! Requests that wait for their reply.
//!
//! This module matches replies to ids and knows nothing of the wire. Invariants: ids are never used twice; at most
//! `MAX_PENDING_REQUESTS` wait; a dropped request frees its slot at once; each request completes at most once.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::connection::ConnectionState;
use super::events::{CloseReason, EventPosition};
use super::frame_budget::FramePermit;
use crate::limits;
use codeyard_base::clock::Instant;
use codeyard_base::seeded_faults;

/// A result, not decoded. It may be `null`.
#[derive(Debug)]
pub struct ServerReply {
    raw: Box<RawValue>,
    position: EventPosition,
    _permit: Option<FramePermit>,
}

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The server answered with an error. Its message may contain paths, so it must not go into an answer unchanged.
    #[error("language server error {code}")]
    Server {
        /// The code, such as -32601.
        code: i64,
        /// The server's message, at most 4 KiB.
        message: String,
    },
    #[error("connection closed: {0}")]
    Closed(CloseReason),
    /// Too many messages wait to be written: the server no longer reads.
    #[error("the outgoing queue is full")]
    QueueFull,
    /// Too many requests wait for a reply.
    #[error("too many pending requests")]
    TooManyPending,
    /// The server answered with the error after which it must be restarted.
    #[error("the language server is broken")]
    Broken,
    /// The error in the reply is not an error object, or the params can't be written as JSON.
    #[error("malformed reply")]
    Malformed,
}

impl ServerReply {
    pub(super) fn new(raw: Box<RawValue>, position: EventPosition, permit: Option<FramePermit>) -> Self {
        Self { raw, position, _permit: permit }
    }

    /// Waits until the consumer has handled all events that arrived before this reply. They may change what the reply
    /// means.
    pub async fn wait_for_earlier_events(&self) {
        self.position.reached().await;
    }

    /// The text of the result.
    pub fn get(&self) -> &str {
        self.raw.get()
    }

    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.raw.get().len()
    }

    /// Always false: a result has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.raw.get().is_empty()
    }

    /// Whether the result is `null` or was left out.
    pub fn is_null(&self) -> bool {
        self.raw.get() == "null"
    }

    /// The result as a `T`, which may borrow from the reply.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.raw.get())
    }

    /// The result itself.
    pub fn into_raw(self) -> Box<RawValue> {
        self.raw
    }
}

pub(super) type ReplyResult = Result<ServerReply, RequestError>;

struct RequestSlot {
    sender: oneshot::Sender<ReplyResult>,
    method: &'static str,
    /// Whether it may be cancelled with `$/cancelRequest`.
    cancellable: bool,
    /// The writer has taken it, so the server will see it.
    written: bool,
    opened: Instant,
}

/// Whether a dropped request must be cancelled at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelAction {
    /// The server has the request: send the cancellation.
    Send,
    /// It was not written, may not be cancelled, or was answered already.
    Skip,
}

#[derive(Default)]
pub(super) struct PendingRequests {
    table: Mutex<PendingTable>,
}

#[derive(Default)]
struct PendingTable {
    entries: BTreeMap<u64, RequestSlot>,
    last_id: u64,
    closed: Option<CloseReason>,
}

impl PendingRequests {
    /// Opens a slot. Returns its id and the receiver of its result.
    pub(super) fn open(
        &self,
        method: &'static str,
        cancellable: bool,
    ) -> Result<(u64, oneshot::Receiver<ReplyResult>), RequestError> {
        let mut table = self.table.lock();
        if let Some(reason) = table.closed {
            return Err(RequestError::Closed(reason));
        }
        if table.entries.len() >= limits::MAX_PENDING_REQUESTS {
            return Err(RequestError::TooManyPending);
        }
        let (sender, receiver) = oneshot::channel();
        table.last_id += 1;
        let id = table.last_id;
        table.entries.insert(id, RequestSlot { sender, method, cancellable, written: false, opened: Instant::now() });
        Ok((id, receiver))
    }

    /// The number of waiting requests.
    pub(super) fn len(&self) -> usize {
        self.table.lock().entries.len()
    }

    /// When the oldest of them was sent.
    pub(super) fn oldest(&self) -> Option<Instant> {
        Some(self.table.lock().entries.first_key_value()?.1.opened)
    }

    /// Whether `id` was ever assigned to a request.
    pub(super) fn was_issued(&self, id: u64) -> bool {
        (1..=self.table.lock().last_id).contains(&id)
    }

    /// Records that `id` is written now; `false` if nothing waits for it any more.
    pub(super) fn mark_written(&self, id: u64) -> bool {
        self.table.lock().entries.get_mut(&id).map(|entry| entry.written = true).is_some()
    }

    /// Takes the slot of `id` to complete it: the method and the sender of the result.
    pub(super) fn take(&self, id: u64) -> Option<(&'static str, oneshot::Sender<ReplyResult>)> {
        let entry = self.table.lock().entries.remove(&id)?;
        Some((entry.method, entry.sender))
    }

    /// Frees the slot of a dropped request.
    pub(super) fn abandon(&self, id: u64) -> CancelAction {
        match self.table.lock().entries.remove(&id) {
            Some(entry) if entry.written && entry.cancellable => CancelAction::Send,
            _ => CancelAction::Skip,
        }
    }

    /// Completes all requests with `reason` and refuses new ones.
    pub(super) fn close(&self, reason: CloseReason) {
        let entries = {
            let mut table = self.table.lock();
            table.closed.get_or_insert(reason);
            std::mem::take(&mut table.entries)
        };
        for entry in entries.into_values() {
            // The receiver may be gone.
            let _ = entry.sender.send(Err(RequestError::Closed(reason)));
        }
    }
}

/// A sent request. Await it for the reply, or drop it to abandon it. Dropping frees the slot at once and sends
/// `$/cancelRequest`, unless the server doesn't tolerate that for this method. A request dropped before it was
/// written is not sent.
#[must_use = "dropping a pending reply cancels the request"]
pub struct PendingReply {
    id: u64,
    receiver: oneshot::Receiver<ReplyResult>,
    shared: Arc<ConnectionState>,
    done: bool,
}

impl PendingReply {
    pub(super) fn new(id: u64, receiver: oneshot::Receiver<ReplyResult>, shared: Arc<ConnectionState>) -> Self {
        Self { id, receiver, shared, done: false }
    }
}

impl Future for PendingReply {
    type Output = ReplyResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ReplyResult> {
        Pin::new(&mut self.receiver).poll(cx).map(|received| {
            self.done = true;
            received.unwrap_or_else(|_| Err(RequestError::Closed(self.shared.close_reason())))
        })
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        if !self.done && !seeded_faults::is_on("cancel_unsent") {
            self.shared.abandon(self.id);
        }
    }
}
