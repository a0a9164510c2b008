//! Log lines about tokens that were refused, for an operator who looks why a caller isn't let in.
//!
//! Invariants: no line has a part of a token but claims of one whose signature is right; there is at most one line in [`INTERVAL`], and it
//! says how many there were.

use std::time::Duration;

use parking_lot::Mutex;

use crate::issuer::TokenProblem;
use codeyard_base::clock::Instant;

/// Shortest time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);
/// Longest text of claims in a line, in characters.
const MAX_DETAIL_CHARS: usize = 300;

#[derive(Debug, Default)]
pub(crate) struct RefusalLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    unlogged: u64,
}

impl RefusalLog {
    /// Logs a refusal, unless one was logged just now. `issuer` is the name of the issuer's table; `detail` says what was found.
    pub(crate) fn refused(&self, issuer: Option<&str>, problem: &TokenProblem, detail: impl FnOnce() -> String) {
        let mut state = self.0.lock();
        let now = Instant::now();
        if state.last.is_some_and(|last| now.saturating_duration_since(last) < INTERVAL) {
            state.unlogged += 1;
            return;
        }
        let unlogged = std::mem::take(&mut state.unlogged);
        state.last = Some(now);
        drop(state);
        let found: String = detail().chars().take(MAX_DETAIL_CHARS).collect();
        tracing::warn!(
            issuer = issuer.unwrap_or("unknown"), why = %problem, found, unlogged,
            "an access token was refused; the tables of `[issuers]` say which count"
        );
    }
}
