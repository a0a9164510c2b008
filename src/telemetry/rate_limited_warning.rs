//! Warnings about failed exports and lost spans, at a limited rate.
//!
//! Invariant: at most one warning per `TELEMETRY_WARNING_MS`. It counts what happened since the last one.

use std::time::Duration;

use codeyard_base::clock::Instant;

/// At most one warning about failed exports in this time, in milliseconds.
const TELEMETRY_WARNING_MS: u64 = 60_000;

/// Longest part of a failure's text that is logged, in characters.
const MAX_REASON: usize = 200;

/// Warns about one kind of export.
pub(super) struct RateLimitedWarning {
    what: &'static str,
    last: Option<Instant>,
    failures: u64,
    /// Lost spans that earlier warnings reported.
    reported: u64,
}

impl RateLimitedWarning {
    /// For exports of `what`.
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, last: None, failures: 0, reported: 0 }
    }

    /// Reports that an export failed. `lost` is the number of all spans lost so far. Returns whether it was logged.
    pub(super) fn export_failed(&mut self, why: &str, lost: u64) -> bool {
        self.failures += 1;
        if !self.is_due() {
            return false;
        }
        let why: String = why.chars().take(MAX_REASON).collect();
        tracing::warn!(
            what = self.what, failures = self.failures, lost_spans = lost - self.reported, error = %why,
            "telemetry export failed; check OTEL_EXPORTER_OTLP_ENDPOINT and that the collector runs"
        );
        self.logged(lost);
        true
    }

    /// Reports the number of all spans lost so far. Returns whether it was logged.
    pub(super) fn spans_lost(&mut self, lost: u64) -> bool {
        if lost == self.reported || !self.is_due() {
            return false;
        }
        tracing::warn!(
            what = self.what,
            failures = self.failures,
            lost_spans = lost - self.reported,
            "spans were dropped: the receiver is too slow, or a call has too many; \
             raise OTEL_BSP_MAX_QUEUE_SIZE against bursts"
        );
        self.logged(lost);
        true
    }

    fn is_due(&self) -> bool {
        let pause = Duration::from_millis(TELEMETRY_WARNING_MS);
        self.last.is_none_or(|last| last.elapsed() >= pause)
    }

    fn logged(&mut self, lost: u64) {
        (self.last, self.failures, self.reported) = (Some(Instant::now()), 0, lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_warning_a_minute() {
        let mut warning = RateLimitedWarning::new("spans");
        assert!(warning.export_failed("no", 1));
        assert!(!warning.export_failed("no", 2));
        assert!(!warning.spans_lost(3), "both kinds share the limit");
        tokio::time::advance(Duration::from_millis(TELEMETRY_WARNING_MS)).await;
        assert!(warning.export_failed("no", 4));
        assert_eq!((warning.failures, warning.reported), (0, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn dropped_spans_are_reported_once() {
        let mut warning = RateLimitedWarning::new("spans");
        assert!(!warning.spans_lost(0));
        assert!(warning.spans_lost(5));
        tokio::time::advance(Duration::from_millis(TELEMETRY_WARNING_MS)).await;
        assert!(!warning.spans_lost(5), "nothing new");
        assert!(warning.spans_lost(6));
    }
}
