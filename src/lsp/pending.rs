//! Requests that wait for their reply.
//!
//! It matches replies to ids and knows nothing of the wire. Invariants: ids are never used twice; at most
//! `MAX_PENDING_REQUESTS` wait; a dropped request frees its slot at once; each request is completed at most once.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::client::Shared;
use super::events::{CloseReason, EventMark};
use super::frame::FramePermit;
use crate::limits;

/// A result, not decoded. It may be `null`.
#[derive(Debug)]
pub struct Reply {
    raw: Box<RawValue>,
    mark: EventMark,
    _permit: Option<FramePermit>,
}

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The server answered with an error. Its message may name paths: never for answers as it is.
    #[error("language server error {code}")]
    Server {
        /// The code, such as -32601.
        code: i64,
        /// The server's words, at most 4 KiB.
        message: String,
    },
    /// The connection is closed.
    #[error("connection closed: {0}")]
    Closed(CloseReason),
    /// Too many messages wait to be written: the server doesn't read any more.
    #[error("outgoing queue is full")]
    QueueFull,
    /// Too many requests wait for a reply.
    #[error("too many pending requests")]
    TooManyPending,
    /// The server answered with the error that means it must be restarted.
    #[error("language server is broken")]
    Broken,
    /// The error in the reply is no error object, or the params can't be written as JSON.
    #[error("malformed reply")]
    Malformed,
}

impl Reply {
    pub(super) fn new(raw: Box<RawValue>, mark: EventMark, permit: Option<FramePermit>) -> Self {
        Self { raw, mark, _permit: permit }
    }

    /// Waits until everything that the server said before this reply has been heard: it may say how the reply is meant.
    pub async fn in_its_turn(&self) {
        self.mark.reached().await;
    }

    /// The text of the result.
    pub fn get(&self) -> &str {
        self.raw.get()
    }

    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.raw.get().len()
    }

    /// Never: a result has at least one byte.
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

/// How a request ended.
pub(super) type Outcome = Result<Reply, RequestError>;

struct Entry {
    sender: oneshot::Sender<Outcome>,
    method: &'static str,
    /// Cancellations of it may be sent.
    cancellable: bool,
    /// The writer has taken it: the server will see it.
    written: bool,
}

/// What became of a dropped request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Abandoned {
    /// The server has it and must be told.
    Cancel,
    /// Nothing to do: it wasn't written, or may not be cancelled, or was already answered.
    Quiet,
}

/// The requests of one connection.
#[derive(Default)]
pub(super) struct Pending {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: BTreeMap<u64, Entry>,
    last_id: u64,
    closed: Option<CloseReason>,
}

impl Pending {
    /// A new slot: its id and where its outcome will come.
    pub(super) fn open(
        &self,
        method: &'static str,
        cancellable: bool,
    ) -> Result<(u64, oneshot::Receiver<Outcome>), RequestError> {
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
        table.entries.insert(id, Entry { sender, method, cancellable, written: false });
        Ok((id, receiver))
    }

    /// Requests that wait.
    pub(super) fn len(&self) -> usize {
        self.table.lock().entries.len()
    }

    /// Whether `id` was ever given out.
    pub(super) fn was_ours(&self, id: u64) -> bool {
        (1..=self.table.lock().last_id).contains(&id)
    }

    /// Notes that `id` goes to the server now; `false` if nobody waits for it any more.
    pub(super) fn mark_written(&self, id: u64) -> bool {
        self.table.lock().entries.get_mut(&id).map(|entry| entry.written = true).is_some()
    }

    /// Takes the slot of `id` to complete it: the method and where the outcome goes.
    pub(super) fn take(&self, id: u64) -> Option<(&'static str, oneshot::Sender<Outcome>)> {
        let entry = self.table.lock().entries.remove(&id)?;
        Some((entry.method, entry.sender))
    }

    /// Frees the slot of a dropped request.
    pub(super) fn abandon(&self, id: u64) -> Abandoned {
        match self.table.lock().entries.remove(&id) {
            Some(entry) if entry.written && entry.cancellable => Abandoned::Cancel,
            _ => Abandoned::Quiet,
        }
    }

    /// Completes everything with `reason` and refuses new requests.
    pub(super) fn close(&self, reason: CloseReason) {
        let entries = {
            let mut table = self.table.lock();
            table.closed.get_or_insert(reason);
            std::mem::take(&mut table.entries)
        };
        for entry in entries.into_values() {
            // A receiver that is gone has nobody waiting.
            let _ = entry.sender.send(Err(RequestError::Closed(reason)));
        }
    }
}

/// A request on its way. Await it for the reply; drop it to give it up: the slot is free at once and, unless the server
/// doesn't bear it, `$/cancelRequest` is sent. A request dropped before it was written is not sent at all.
#[must_use = "dropping a pending reply cancels the request"]
pub struct PendingReply {
    id: u64,
    receiver: oneshot::Receiver<Outcome>,
    shared: Arc<Shared>,
    done: bool,
}

impl PendingReply {
    pub(super) fn new(id: u64, receiver: oneshot::Receiver<Outcome>, shared: Arc<Shared>) -> Self {
        Self { id, receiver, shared, done: false }
    }

    /// The JSON-RPC id of the request.
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl Future for PendingReply {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        Pin::new(&mut self.receiver).poll(cx).map(|received| {
            self.done = true;
            received.unwrap_or_else(|_| Err(RequestError::Closed(self.shared.close_reason())))
        })
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        if !self.done {
            self.shared.abandon(self.id);
        }
    }
}
