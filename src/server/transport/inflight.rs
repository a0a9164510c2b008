//! The calls of one session that are running, so that the client can cancel them by id.
//!
//! It answers nothing and owns no call. Invariants: never more than its cap; two calls may carry one id; an entry goes
//! when its ticket is dropped.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{AbortHandle, AbortRegistration};
use parking_lot::Mutex;

use codeyard_protocol::id::RequestId;

/// The running calls of one session.
#[derive(Debug)]
pub struct InFlight {
    cap: usize,
    table: Mutex<Table>,
}

/// One running call's place; freed when dropped.
#[derive(Debug)]
pub struct Ticket {
    of: Arc<InFlight>,
    key: u64,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    running: HashMap<u64, (RequestId, AbortHandle)>,
}

impl InFlight {
    /// No calls yet, and never more than `cap`.
    pub fn new(cap: usize) -> Arc<Self> {
        Arc::new(Self { cap, table: Mutex::default() })
    }

    /// Takes a place for the request `id`; `None` if all are taken.
    pub fn enter(self: &Arc<Self>, id: &RequestId) -> Option<(Ticket, AbortRegistration)> {
        let (handle, registration) = AbortHandle::new_pair();
        let mut table = self.table.lock();
        if table.running.len() >= self.cap {
            return None;
        }
        let key = table.next;
        table.next += 1;
        table.running.insert(key, (id.clone(), handle));
        Some((Ticket { of: Arc::clone(self), key }, registration))
    }

    /// Cancels every running call with this id; how many there were.
    pub fn cancel(&self, id: &RequestId) -> usize {
        let table = self.table.lock();
        let same = table.running.values().filter(|(known, _)| known == id);
        same.map(|(_, handle)| handle.abort()).count()
    }

    /// Cancels every running call.
    pub fn cancel_all(&self) {
        self.table.lock().running.values().for_each(|(_, handle)| handle.abort());
    }

    /// How many calls are running.
    pub fn len(&self) -> usize {
        self.table.lock().running.len()
    }

    /// Whether none is running.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.of.table.lock().running.remove(&self.key);
    }
}
