//! Counts the answers of a language server that came too late for a call, or not at all, and records which ones it exited on: their documents are
//! crash suspects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::server::lifecycle::crash_suspects::SuspectTurn;
use codeyard_base::clock::Deadline;

/// A request is under way.
const REQUEST_PENDING: u8 = 0;

/// It was answered, or its caller went away.
pub(in crate::server) const REQUEST_ENDED: u8 = 1;

/// The server went away first.
const REQUEST_LOST: u8 = 2;

/// Counts a request as expired whenever a call's deadline passes before its answer.
pub struct ExpiryGuard {
    deadline: Deadline,
    /// Whether a deadline has passed already.
    was_missed: bool,
    expired: Option<Arc<AtomicU32>>,
    state: Arc<AtomicU8>,
    /// Set if its document is a crash suspect.
    turn: Option<SuspectTurn>,
}

impl ExpiryGuard {
    pub(in crate::server) fn new(deadline: Deadline, expired: Arc<AtomicU32>, turn: Option<SuspectTurn>) -> Self {
        Self {
            deadline,
            was_missed: false,
            expired: Some(expired),
            state: Arc::new(AtomicU8::new(REQUEST_PENDING)),
            turn,
        }
    }

    /// The request was answered.
    pub fn answered(mut self) {
        if let Some(expired) = self.expired.take() {
            expired.store(0, Ordering::Relaxed);
        }
        self.state.store(REQUEST_ENDED, Ordering::Relaxed);
        if let Some(turn) = self.turn.take() {
            turn.survived();
        }
    }

    /// The deadline of a call has passed; the request goes on.
    pub fn missed(&mut self) {
        self.was_missed = true;
        if let Some(expired) = &self.expired {
            expired.fetch_add(1, Ordering::Relaxed);
        }
        // Others that wait for a turn must not wait for slow requests again and again.
        if let Some(turn) = self.turn.take() {
            turn.survived();
        }
    }

    pub(in crate::server) fn request_state(&self) -> Arc<AtomicU8> {
        self.state.clone()
    }

    /// The server went away before it answered: the document counts as a crash suspect.
    pub fn closed(mut self) {
        (self.expired, self.turn) = (None, None);
        self.state.store(REQUEST_LOST, Ordering::Relaxed);
    }
}

impl Drop for ExpiryGuard {
    fn drop(&mut self) {
        if self.expired.is_some() && !self.was_missed && self.deadline.passed() {
            self.missed();
        }
        self.state.compare_exchange(REQUEST_PENDING, REQUEST_ENDED, Ordering::Relaxed, Ordering::Relaxed).ok();
    }
}
