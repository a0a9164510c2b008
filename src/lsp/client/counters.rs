//! Counters of one connection: bytes, frames, ignored messages, and when the server last wrote.
//!
//! They only count; nothing is decided here. Invariant: counters never decrease.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use codeyard_base::clock::Instant;

/// A snapshot of a connection's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ConnectionCounters {
    /// Bytes read from the server.
    pub bytes_read: u64,
    /// Whole frames read.
    pub frames_read: u64,
    /// Bytes of text that the server printed between its frames.
    pub stray_bytes: u64,
    /// Bytes written to the server.
    pub bytes_written: u64,
    /// Whole frames written.
    pub frames_written: u64,
    /// Replies whose request was dropped before they arrived, and second replies to one request.
    pub late_replies: u64,
    /// Replies to an id that was never sent, and errors without an id.
    pub unknown_replies: u64,
    /// Notifications that nothing subscribes to.
    pub ignored_notifications: u64,
    /// Frames that are not a JSON-RPC message.
    pub malformed: u64,
    /// Events dropped because the consumer was too slow.
    pub lost_events: u64,
    /// Requests of the server that were answered.
    pub answered: u64,
    /// Cancellations sent.
    pub cancels: u64,
}

macro_rules! counters {
    ($($name:ident),*) => {
        /// The live counters, shared by the reader, the writer and the handles.
        #[derive(Debug)]
        pub(super) struct LiveCounters { started: Instant, last_byte: AtomicU64, is_waiting: AtomicBool, $(pub(super) $name: AtomicU64),* }

        impl LiveCounters {
            pub(super) fn new() -> Self {
                Self { started: Instant::now(), last_byte: AtomicU64::new(0), is_waiting: AtomicBool::new(false), $($name: AtomicU64::new(0)),* }
            }

            pub(super) fn snapshot(&self) -> ConnectionCounters {
                ConnectionCounters { $($name: self.$name.load(Relaxed)),* }
            }
        }
    };
}

counters!(
    bytes_read, frames_read, stray_bytes, bytes_written, frames_written, late_replies, unknown_replies,
    ignored_notifications, malformed, lost_events, answered, cancels
);

impl LiveCounters {
    /// Records that the server wrote `bytes` just now.
    pub(super) fn received(&self, bytes: usize) {
        self.bytes_read.fetch_add(bytes as u64, Relaxed);
        let since = Instant::now().saturating_duration_since(self.started);
        self.last_byte.store(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// The reader waits for room and reads nothing, or has ended its wait. The silence meanwhile is not the server's.
    pub(super) fn set_waiting(&self, is_waiting: bool) {
        self.is_waiting.store(is_waiting, Relaxed);
        self.received(0);
    }

    /// When the server last wrote; before its first byte, when the connection was opened. Now, while the reader waits.
    pub(super) fn last_byte_at(&self) -> Instant {
        if self.is_waiting.load(Relaxed) {
            return Instant::now();
        }
        self.started + Duration::from_nanos(self.last_byte.load(Relaxed))
    }
}

/// Adds one to a counter and returns the new value.
pub(super) fn increment(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, Relaxed) + 1
}
