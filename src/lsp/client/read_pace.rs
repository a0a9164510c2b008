//! Bounds how fast a language server's notifications and requests are read, so that one that writes without a pause costs its neighbours no
//! processor.
//!
//! A server starts with a credit of [`limits::UNASKED_BURST_BYTES`] and regains [`limits::UNASKED_BYTES_PER_S`]; without credit, the reader waits
//! and the server with it, since its pipe fills up. Replies that someone waits for cost nothing. Invariants: a wait lasts at most
//! [`MAX_READ_PAUSE_MS`]; nothing is dropped.

use std::time::Duration;

use crate::limits;
use codeyard_base::clock::Instant;

/// The longest pause between two messages of a language server that writes more, in milliseconds.
const MAX_READ_PAUSE_MS: u64 = 500;

/// The credit of one server.
#[derive(Debug)]
pub(super) struct ReadPace {
    /// Bytes; negative: more was read than the server had.
    credit: f64,
    at: Instant,
}

impl ReadPace {
    /// The full credit.
    pub(super) fn new() -> Self {
        Self { credit: limits::UNASKED_BURST_BYTES as f64, at: Instant::now() }
    }

    /// A message of `bytes` was read that nobody asked for. Returns how long to wait before the next one.
    pub(super) fn spend(&mut self, bytes: usize) -> Duration {
        let now = Instant::now();
        let per_s = limits::UNASKED_BYTES_PER_S as f64;
        let regained = now.saturating_duration_since(self.at).as_secs_f64() * per_s;
        self.at = now;
        self.credit = (self.credit + regained).min(limits::UNASKED_BURST_BYTES as f64) - bytes as f64;
        if self.credit >= 0.0 {
            return Duration::ZERO;
        }
        let most = MAX_READ_PAUSE_MS as f64 / 1_000.0;
        // What a longer wait would have paid for is forgiven.
        self.credit = self.credit.max(-most * per_s);
        Duration::from_secs_f64(-self.credit / per_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_read_at_once_and_more_at_the_pace() {
        let mut pace = ReadPace::new();
        let message = 100_000;
        let mut burst = 0;
        while pace.spend(message).is_zero() {
            burst += message;
        }
        assert!((limits::UNASKED_BURST_BYTES - message..=limits::UNASKED_BURST_BYTES).contains(&burst), "{burst}");
        let began = Instant::now();
        let mut read = 0;
        while began.elapsed() < Duration::from_secs(10) {
            let wait = pace.spend(message);
            tokio::time::sleep(wait).await;
            read += message;
        }
        let expected = 10 * limits::UNASKED_BYTES_PER_S;
        assert!(read.abs_diff(expected) < expected / 50, "{read} of {expected}");
        // A rest gives the burst back, and no more.
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert_eq!(pace.spend(limits::UNASKED_BURST_BYTES), Duration::ZERO);
        assert!(pace.spend(message) > Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_is_long() {
        let mut pace = ReadPace::new();
        pace.spend(limits::UNASKED_BURST_BYTES);
        for _ in 0..3 {
            assert_eq!(pace.spend(limits::MAX_FRAME_BYTES), Duration::from_millis(MAX_READ_PAUSE_MS));
        }
        assert!(pace.spend(1) <= Duration::from_millis(MAX_READ_PAUSE_MS));
    }
}
