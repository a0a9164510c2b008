//! Counts the requests of a language server that expired without an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use codeyard_base::clock::Deadline;

/// A request is under way.
const TRACE_OPEN: u8 = 0;

/// It was answered, or its caller went away.
pub(super) const TRACE_OVER: u8 = 1;

/// The server went away first.
const TRACE_DIED: u8 = 2;

/// Counts a request as expired if it is dropped unanswered after its deadline.
pub struct ExpiryGuard {
    deadline: Deadline,
    expired: Option<Arc<AtomicU32>>,
    trace: Arc<AtomicU8>,
}

impl ExpiryGuard {
    pub(super) fn new(deadline: Deadline, expired: Arc<AtomicU32>) -> Self {
        Self { deadline, expired: Some(expired), trace: Arc::new(AtomicU8::new(TRACE_OPEN)) }
    }

    /// The request was answered.
    pub fn answered(mut self) {
        if let Some(expired) = self.expired.take() {
            expired.store(0, Ordering::Relaxed);
        }
        self.trace.store(TRACE_OVER, Ordering::Relaxed);
    }

    pub(super) fn trace(&self) -> Arc<AtomicU8> {
        self.trace.clone()
    }

    /// The server went away before it answered: the document counts as a crash suspect.
    pub fn closed(mut self) {
        self.expired = None;
        self.trace.store(TRACE_DIED, Ordering::Relaxed);
    }
}

impl Drop for ExpiryGuard {
    fn drop(&mut self) {
        if let Some(expired) = self.expired.take()
            && self.deadline.passed()
        {
            expired.fetch_add(1, Ordering::Relaxed);
        }
        self.trace.compare_exchange(TRACE_OPEN, TRACE_OVER, Ordering::Relaxed, Ordering::Relaxed).ok();
    }
}
