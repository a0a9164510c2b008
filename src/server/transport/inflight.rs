//! The running calls of one session, so that the client can cancel them by request id.
//!
//! It owns no call. Invariants: it never holds more calls than its cap; two calls may have the same id; an entry is removed when
//! its ticket is dropped.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{AbortHandle, AbortRegistration};
use parking_lot::Mutex;

use codeyard_protocol::id::RequestId;

/// The running calls of one session.
#[derive(Debug)]
pub struct InFlightCalls {
    cap: usize,
    table: Mutex<CallTable>,
}

/// The entry of one running call. Dropping it removes the entry.
#[derive(Debug)]
pub struct CallTicket {
    calls: Arc<InFlightCalls>,
    key: u64,
}

#[derive(Debug, Default)]
struct CallTable {
    next: u64,
    running: HashMap<u64, (RequestId, AbortHandle)>,
}

impl InFlightCalls {
    /// An empty table for at most `cap` calls.
    pub fn new(cap: usize) -> Arc<Self> {
        Arc::new(Self { cap, table: Mutex::default() })
    }

    /// Adds a call with the request `id`; `None` at the cap.
    pub fn add(self: &Arc<Self>, id: &RequestId) -> Option<(CallTicket, AbortRegistration)> {
        let (handle, registration) = AbortHandle::new_pair();
        let mut table = self.table.lock();
        if table.running.len() >= self.cap {
            return None;
        }
        let key = table.next;
        table.next += 1;
        table.running.insert(key, (id.clone(), handle));
        Some((CallTicket { calls: Arc::clone(self), key }, registration))
    }

    /// Cancels every running call with this id, and returns their number.
    pub fn cancel(&self, id: &RequestId) -> usize {
        let table = self.table.lock();
        let same = table.running.values().filter(|(known, _)| known == id);
        same.map(|(_, handle)| handle.abort()).count()
    }

    /// Cancels every running call.
    pub fn cancel_all(&self) {
        self.table.lock().running.values().for_each(|(_, handle)| handle.abort());
    }

    /// The number of running calls.
    pub fn len(&self) -> usize {
        self.table.lock().running.len()
    }

    /// Whether no call is running.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for CallTicket {
    fn drop(&mut self) {
        self.calls.table.lock().running.remove(&self.key);
    }
}
