//! What a server says by itself, on its way to the engine: a bounded queue with a stated overflow policy.
//!
//! It doesn't interpret events. Policy when the queue is full (messages or bytes): log messages are dropped; for anything
//! else the reader waits `EVENT_PATIENCE_MS` once, and if there is still no room drops and counts events until there is,
//! then [`Event::Lost`] stands in their place. Invariants: reading never waits for a consumer longer than that; late
//! registrations are never lost (the capabilities hold them); [`Event::Closed`] always comes, once, last.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::frame::FrameError;
use crate::limits;

/// Something that happened at the server.
#[derive(Debug)]
pub enum Event {
    /// A notification: diagnostics, progress, status, and what [`Host::wants`](super::inbound::Host::wants) names.
    Notification {
        /// Its method.
        method: String,
        /// Its params, not decoded.
        params: Option<Box<RawValue>>,
    },
    /// The server asks to ask again, such as `workspace/diagnostic/refresh`.
    Refresh {
        /// The method of the request, which was answered.
        method: String,
    },
    /// Capabilities came; [`Client::capabilities`](super::client::Client::capabilities) has them already.
    Registered {
        /// The methods.
        methods: Vec<String>,
    },
    /// Capabilities went; [`Client::capabilities`](super::client::Client::capabilities) knows already.
    Unregistered {
        /// The methods.
        methods: Vec<String>,
    },
    /// So many events (log messages aside) were dropped here: what was derived from events may be stale.
    Lost {
        /// How many.
        count: u64,
    },
    /// The connection is closed. Nothing follows.
    Closed(CloseReason),
}

/// Why a connection closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CloseReason {
    /// The server closed its output: it exited.
    #[error("output ended")]
    EndOfOutput,
    /// The stream of frames broke.
    #[error("{0}")]
    Frame(FrameError),
    /// Too many frames were no JSON-RPC messages.
    #[error("too many malformed messages")]
    Malformed,
    /// The server asks much and doesn't read the answers.
    #[error("server does not read")]
    NotReading,
    /// Writing to the server failed.
    #[error("writing failed: {0}")]
    Write(std::io::ErrorKind),
    /// We closed it.
    #[error("closed by us")]
    Ours,
    /// The reader stopped by a fault of ours.
    #[error("internal error")]
    Internal,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<(Event, usize)>,
    bytes: usize,
    lost: u64,
    closed: Option<CloseReason>,
    finished: bool,
    receiver_gone: bool,
    /// Events ever put in, ever taken out, and those of the latter that their consumer is done with.
    pushed: u64,
    taken: u64,
    handled: u64,
}

#[derive(Default)]
struct Inner {
    queue: Mutex<Queue>,
    readable: Notify,
    writable: Notify,
    handled: Notify,
}

impl std::fmt::Debug for EventMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventMark").field("after", &self.after).finish_non_exhaustive()
    }
}

/// A point in the stream of events: after all that came before something else, such as a reply.
#[derive(Clone)]
pub(super) struct EventMark {
    inner: Arc<Inner>,
    after: u64,
}

impl EventMark {
    /// Waits until the consumer is done with all events before this point, or takes none any more.
    pub(super) async fn reached(&self) {
        loop {
            let mut handled = pin!(self.inner.handled.notified());
            handled.as_mut().enable();
            {
                let queue = self.inner.queue.lock();
                if queue.handled >= self.after || queue.finished || queue.receiver_gone {
                    return;
                }
            }
            handled.await;
        }
    }
}

/// The reader's end.
pub(super) struct EventSender {
    inner: Arc<Inner>,
    /// No room after a full wait: until there is room again, nothing is waited for.
    lagging: bool,
}

/// Closes the queue from anywhere.
#[derive(Clone)]
pub(super) struct EventCloser(Arc<Inner>);

/// The consumer's end.
pub struct Events {
    inner: Arc<Inner>,
}

/// A new queue.
pub(super) fn channel() -> (EventSender, EventCloser, Events) {
    let inner = Arc::new(Inner::default());
    (EventSender { inner: inner.clone(), lagging: false }, EventCloser(inner.clone()), Events { inner })
}

impl Queue {
    fn has_room(&self, size: usize) -> bool {
        self.events.is_empty()
            || self.events.len() < limits::MAX_EVENT_QUEUE && self.bytes + size <= limits::MAX_EVENT_QUEUE_BYTES
    }

    fn push(&mut self, event: Event, size: usize) {
        if self.lost > 0 {
            self.events.push_back((Event::Lost { count: std::mem::take(&mut self.lost) }, 0));
            self.pushed += 1;
        }
        self.bytes += size;
        self.pushed += 1;
        self.events.push_back((event, size));
    }
}

impl Inner {
    /// The event back if there is no room.
    fn offer(&self, event: Event, size: usize) -> Result<(), Event> {
        let mut queue = self.queue.lock();
        if queue.receiver_gone {
            return Ok(());
        }
        if !queue.has_room(size) {
            return Err(event);
        }
        queue.push(event, size);
        drop(queue);
        self.readable.notify_one();
        Ok(())
    }
}

impl EventSender {
    /// Hands over an event of about `size` bytes; `false` if it was dropped.
    pub(super) async fn send(&mut self, event: Event, size: usize, disposable: bool) -> bool {
        let Err(mut event) = self.inner.offer(event, size) else {
            self.lagging = false;
            return true;
        };
        if !disposable && !self.lagging {
            let patience = tokio::time::sleep(Duration::from_millis(limits::EVENT_PATIENCE_MS));
            let mut patience = pin!(patience);
            loop {
                let room = self.inner.writable.notified();
                event = match self.inner.offer(event, size) {
                    Ok(()) => return true,
                    Err(event) => event,
                };
                tokio::select! {
                    biased;
                    () = room => {}
                    () = &mut patience => break,
                }
            }
            self.lagging = true;
        }
        if !disposable {
            self.inner.queue.lock().lost += 1;
        }
        false
    }
}

impl EventCloser {
    /// The point behind everything that came so far.
    pub(super) fn mark(&self) -> EventMark {
        EventMark { after: self.0.queue.lock().pushed, inner: self.0.clone() }
    }

    pub(super) fn close(&self, reason: CloseReason) {
        self.0.queue.lock().closed.get_or_insert(reason);
        self.0.readable.notify_one();
    }
}

impl Events {
    /// The next event; `None` after [`Event::Closed`]. Safe to cancel.
    pub async fn recv(&mut self) -> Option<Event> {
        self.done_with_taken();
        loop {
            if let Some(taken) = self.take() {
                return taken;
            }
            // A wake-up between the two lines is kept by the notifier.
            self.inner.readable.notified().await;
        }
    }

    /// The next event if there is one now; `None` when there is none, or after the end.
    pub fn try_recv(&mut self) -> Option<Event> {
        self.done_with_taken();
        self.take().flatten()
    }

    /// Who asks for another event is done with the ones before.
    fn done_with_taken(&mut self) {
        let mut queue = self.inner.queue.lock();
        if queue.handled != queue.taken {
            queue.handled = queue.taken;
            drop(queue);
            self.inner.handled.notify_waiters();
        }
    }

    /// `None`: nothing now. `Some(None)`: the end.
    fn take(&mut self) -> Option<Option<Event>> {
        let mut queue = self.inner.queue.lock();
        if let Some((event, size)) = queue.events.pop_front() {
            queue.bytes -= size;
            queue.taken += 1;
            drop(queue);
            self.inner.writable.notify_one();
            return Some(Some(event));
        }
        if queue.lost > 0 {
            return Some(Some(Event::Lost { count: std::mem::take(&mut queue.lost) }));
        }
        match queue.closed {
            Some(_) if queue.finished => Some(None),
            Some(reason) => {
                queue.finished = true;
                self.inner.handled.notify_waiters();
                Some(Some(Event::Closed(reason)))
            }
            None => None,
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut queue = self.inner.queue.lock();
        queue.receiver_gone = true;
        queue.events.clear();
        queue.bytes = 0;
        drop(queue);
        self.inner.writable.notify_one();
        self.inner.handled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn event(method: &str) -> Event {
        Event::Refresh { method: method.into() }
    }

    #[test]
    fn a_mark_is_reached_once_the_events_before_it_are_done_with() {
        let (mut sender, closer, mut events) = channel();
        let mut send = |method: &str| sender.send(event(method), 1, false).now_or_never();
        assert!(closer.mark().reached().now_or_never().is_some(), "nothing came before");
        assert_eq!(send("one"), Some(true));
        let mark = closer.mark();
        assert_eq!(send("two"), Some(true));
        assert!(mark.reached().now_or_never().is_none(), "not taken");
        assert!(events.recv().now_or_never().is_some());
        assert!(mark.reached().now_or_never().is_none(), "taken, but perhaps not done with");
        assert!(events.recv().now_or_never().is_some());
        assert!(mark.reached().now_or_never().is_some(), "who takes the next is done with the first");
        let last = closer.mark();
        assert!(last.reached().now_or_never().is_none());
        drop(events);
        assert!(last.reached().now_or_never().is_some(), "nobody takes any more");
    }
}
