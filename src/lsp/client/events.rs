//! The queue of events that a server causes: bounded, with a fixed overflow policy.
//!
//! The queue doesn't interpret events. It is full by messages, by bytes, or because all queues together are full by bytes. When it is full, log messages are dropped.
//! For any other event the reader waits once, `EVENT_WAIT_MS` at most. If there is still no room, it drops and counts
//! events until there is, and then puts [`ServerEvent::Lost`] in their place. Invariants: the reader never waits
//! longer than that for a consumer; dynamic registrations are never lost (the capabilities hold them);
//! [`ServerEvent::Closed`] always comes, once, as the last event.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::frame::{FrameBudget, FrameError};
use crate::limits;

/// Places that an empty queue keeps.
const KEPT_CAPACITY: usize = 64;
/// How often the reader checks whether other queues have made room.
const SHARED_ROOM_POLL: Duration = Duration::from_millis(50);

/// Something that a server did on its own.
#[derive(Debug)]
pub enum ServerEvent {
    /// A notification: diagnostics, progress, status, or a method that
    /// [`ClientHost::wants`](super::server_requests::ClientHost::wants).
    Notification {
        method: String,
        /// Its params, not decoded.
        params: Option<Box<RawValue>>,
    },
    /// The server wants its answers requested again, such as with `workspace/diagnostic/refresh`.
    Refresh {
        /// The method of that request, which has been answered.
        method: String,
    },
    /// The server registered capabilities; [`LspClient::capabilities`](super::LspClient::capabilities) already
    /// has them.
    Registered { methods: Vec<String> },
    /// The server unregistered capabilities; [`LspClient::capabilities`](super::LspClient::capabilities)
    /// already dropped them.
    Unregistered { methods: Vec<String> },
    /// Events were dropped at this point, not counting log messages: what was derived from events may be stale.
    Lost {
        /// How many were dropped.
        count: u64,
    },
    /// The connection is closed. Nothing follows.
    Closed(CloseReason),
}

/// Why a connection closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CloseReason {
    /// The server closed its output, so it exited.
    #[error("the server closed its output")]
    EndOfOutput,
    /// The stream of frames is invalid.
    #[error("{0}")]
    Frame(FrameError),
    /// Too many frames were not JSON-RPC messages.
    #[error("too many malformed messages")]
    Malformed,
    /// The server sends requests and doesn't read the answers.
    #[error("the server does not read its input")]
    NotReading,
    /// Writing to the server failed.
    #[error("writing failed: {0}")]
    Write(std::io::ErrorKind),
    /// This side closed it.
    #[error("closed by the client")]
    Ours,
    /// The reader task stopped because of a bug on this side.
    #[error("internal error")]
    Internal,
}

impl CloseReason {
    /// Whether this side closed the connection because the server broke a rule of the protocol or a limit. Otherwise the
    /// server closed it, or it was closed on purpose.
    pub fn is_violation(self) -> bool {
        match self {
            Self::Frame(error) => !matches!(error, FrameError::Truncated | FrameError::Io(_)),
            Self::Malformed | Self::NotReading => true,
            Self::EndOfOutput | Self::Write(_) | Self::Ours | Self::Internal => false,
        }
    }
}

impl ServerEvent {
    /// Its memory.
    pub(super) fn bytes(&self) -> usize {
        let texts = |texts: &[String]| texts.iter().map(|text| size_of::<String>() + text.len()).sum();
        size_of::<Self>()
            + match self {
                Self::Notification { method, params } => {
                    method.len() + params.as_ref().map_or(0, |raw| raw.get().len())
                }
                Self::Refresh { method } => method.len(),
                Self::Registered { methods } | Self::Unregistered { methods } => texts(methods),
                Self::Lost { .. } | Self::Closed(_) => 0,
            }
    }
}

#[derive(Default)]
struct QueuedEvents {
    events: VecDeque<(ServerEvent, usize)>,
    bytes: usize,
    lost: u64,
    closed: Option<CloseReason>,
    finished: bool,
    receiver_gone: bool,
    /// Events ever put in, ever taken out, and the part of the taken ones that the consumer has finished with.
    pushed: u64,
    taken: u64,
    handled: u64,
}

struct EventChannel {
    /// Bounds the queues of all connections.
    budget: Arc<FrameBudget>,
    queue: Mutex<QueuedEvents>,
    readable: Notify,
    writable: Notify,
    handled: Notify,
}

impl std::fmt::Debug for EventPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventPosition").field("after", &self.after).finish_non_exhaustive()
    }
}

/// A point in the stream of events: after everything that arrived before something else, such as a reply.
#[derive(Clone)]
pub(super) struct EventPosition {
    channel: Arc<EventChannel>,
    after: u64,
}

impl EventPosition {
    /// Waits until the consumer has finished with all events before this point, or takes no more events.
    pub(super) async fn reached(&self) {
        loop {
            let mut handled = pin!(self.channel.handled.notified());
            handled.as_mut().enable();
            {
                let queue = self.channel.queue.lock();
                if queue.handled >= self.after || queue.finished || queue.receiver_gone {
                    return;
                }
            }
            handled.await;
        }
    }
}

/// The reader's end of the queue.
pub(super) struct EventSender {
    channel: Arc<EventChannel>,
    /// A full wait brought no room: until there is room again, the reader doesn't wait.
    lagging: bool,
}

/// Closes the queue from anywhere.
#[derive(Clone)]
pub(super) struct EventCloser(Arc<EventChannel>);

/// The consumer's end of the queue.
pub struct ServerEvents {
    channel: Arc<EventChannel>,
}

/// A new queue; `budget` bounds the queues of all connections together.
pub(super) fn channel(budget: Arc<FrameBudget>) -> (EventSender, EventCloser, ServerEvents) {
    let (queue, [readable, writable, handled]) = Default::default();
    let channel = Arc::new(EventChannel { budget, queue, readable, writable, handled });
    (EventSender { channel: channel.clone(), lagging: false }, EventCloser(channel.clone()), ServerEvents { channel })
}

impl QueuedEvents {
    fn has_room(&self, size: usize, budget: &FrameBudget) -> bool {
        let has_own = self.events.is_empty()
            || self.events.len() < limits::MAX_EVENT_QUEUE && self.bytes + size <= limits::MAX_EVENT_QUEUE_BYTES;
        has_own && budget.has_event_room(self.bytes, size)
    }

    fn push(&mut self, event: ServerEvent, size: usize) {
        if self.lost > 0 {
            self.events.push_back((ServerEvent::Lost { count: std::mem::take(&mut self.lost) }, 0));
            self.pushed += 1;
        }
        self.bytes += size;
        self.pushed += 1;
        self.events.push_back((event, size));
    }
}

impl EventChannel {
    /// Puts the event in, or gives it back if there is no room.
    fn offer(&self, event: ServerEvent, size: usize) -> Result<(), ServerEvent> {
        let mut queue = self.queue.lock();
        if queue.receiver_gone {
            return Ok(());
        }
        if !queue.has_room(size, &self.budget) {
            return Err(event);
        }
        queue.push(event, size);
        self.budget.event_queued(size);
        drop(queue);
        self.readable.notify_one();
        Ok(())
    }
}

impl EventSender {
    /// Puts in an event of about `size` bytes; `false` if it was dropped.
    pub(super) async fn send(&mut self, event: ServerEvent, size: usize, droppable: bool) -> bool {
        let Err(mut event) = self.channel.offer(event, size) else {
            self.lagging = false;
            return true;
        };
        if !droppable && !self.lagging {
            let wait = tokio::time::sleep(Duration::from_millis(limits::EVENT_WAIT_MS));
            let mut wait = pin!(wait);
            loop {
                let room = self.channel.writable.notified();
                event = match self.channel.offer(event, size) {
                    Ok(()) => return true,
                    Err(event) => event,
                };
                tokio::select! {
                    biased;
                    () = room => {}
                    // Other queues that get shorter don't wake this one.
                    () = tokio::time::sleep(SHARED_ROOM_POLL) => {}
                    () = &mut wait => break,
                }
            }
            self.lagging = true;
        }
        if !droppable {
            self.channel.queue.lock().lost += 1;
        }
        false
    }
}

impl EventSender {
    /// An event was lost before it could be put in.
    pub(super) fn lose(&self) {
        self.channel.queue.lock().lost += 1;
        self.channel.readable.notify_one();
    }
}

impl EventCloser {
    /// The point after everything that arrived so far.
    pub(super) fn position(&self) -> EventPosition {
        EventPosition { after: self.0.queue.lock().pushed, channel: self.0.clone() }
    }

    pub(super) fn close(&self, reason: CloseReason) {
        self.0.queue.lock().closed.get_or_insert(reason);
        self.0.readable.notify_one();
    }
}

impl ServerEvents {
    /// The next event; `None` after [`ServerEvent::Closed`]. Safe to cancel.
    pub async fn recv(&mut self) -> Option<ServerEvent> {
        self.finish_taken();
        loop {
            if let Some(taken) = self.take() {
                return taken;
            }
            // The notifier keeps a wake-up that falls between these two lines.
            self.channel.readable.notified().await;
        }
    }

    /// The next event if there is one now; `None` when there is none, or after the end.
    pub fn try_recv(&mut self) -> Option<ServerEvent> {
        self.finish_taken();
        self.take().flatten()
    }

    /// A consumer that asks for another event has finished with those before.
    fn finish_taken(&mut self) {
        let mut queue = self.channel.queue.lock();
        if queue.handled != queue.taken {
            queue.handled = queue.taken;
            drop(queue);
            self.channel.handled.notify_waiters();
        }
    }

    /// `None`: nothing now. `Some(None)`: the end.
    fn take(&mut self) -> Option<Option<ServerEvent>> {
        let mut queue = self.channel.queue.lock();
        if let Some((event, size)) = queue.events.pop_front() {
            queue.bytes -= size;
            queue.taken += 1;
            if queue.events.is_empty() {
                // A flood must not leave its capacity behind.
                queue.events.shrink_to(KEPT_CAPACITY);
            }
            self.channel.budget.event_taken(size);
            drop(queue);
            self.channel.writable.notify_one();
            return Some(Some(event));
        }
        if queue.lost > 0 {
            return Some(Some(ServerEvent::Lost { count: std::mem::take(&mut queue.lost) }));
        }
        match queue.closed {
            Some(_) if queue.finished => Some(None),
            Some(reason) => {
                queue.finished = true;
                self.channel.handled.notify_waiters();
                Some(Some(ServerEvent::Closed(reason)))
            }
            None => None,
        }
    }
}

impl Drop for ServerEvents {
    fn drop(&mut self) {
        let mut queue = self.channel.queue.lock();
        queue.receiver_gone = true;
        queue.events = VecDeque::new();
        self.channel.budget.event_taken(std::mem::take(&mut queue.bytes));
        drop(queue);
        self.channel.writable.notify_one();
        self.channel.handled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn event(method: &str) -> ServerEvent {
        ServerEvent::Refresh { method: method.into() }
    }

    #[test]
    fn a_position_is_reached_when_earlier_events_are_handled() {
        let (mut sender, closer, mut events) = channel(Arc::default());
        let mut send = |method: &str| sender.send(event(method), 1, false).now_or_never();
        assert!(closer.position().reached().now_or_never().is_some(), "nothing came before");
        assert_eq!(send("one"), Some(true));
        let position = closer.position();
        assert_eq!(send("two"), Some(true));
        assert!(position.reached().now_or_never().is_none(), "not taken");
        assert!(events.recv().now_or_never().is_some());
        assert!(position.reached().now_or_never().is_none(), "taken, but perhaps not handled");
        assert!(events.recv().now_or_never().is_some());
        assert!(position.reached().now_or_never().is_some(), "taking the next event finishes the first");
        let last = closer.position();
        assert!(last.reached().now_or_never().is_none());
        drop(events);
        assert!(last.reached().now_or_never().is_some(), "the consumer is gone");
    }
}
