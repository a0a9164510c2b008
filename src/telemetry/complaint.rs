//! Says that exports fail and that spans are lost, but not every time.

use std::time::Duration;

use crate::limits;
use codeyard_base::clock::Instant;

/// Longest part of a failure's text that is logged, in characters.
const MAX_REASON: usize = 200;

/// Complains about one kind of export, at most once per `TELEMETRY_COMPLAINT_MS`.
pub(super) struct Complaint {
    what: &'static str,
    last: Option<Instant>,
    failures: u64,
    /// Lost spans that were told already.
    told: u64,
}

impl Complaint {
    /// About exports of `what`.
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, last: None, failures: 0, told: 0 }
    }

    /// An export failed; `lost` spans are lost so far, all reasons together. Returns whether that was said.
    pub(super) fn about(&mut self, why: &str, lost: u64) -> bool {
        self.failures += 1;
        if !self.is_due() {
            return false;
        }
        let why: String = why.chars().take(MAX_REASON).collect();
        tracing::warn!(
            what = self.what, failures = self.failures, lost_spans = lost - self.told, error = %why,
            "telemetry isn't taken by its receiver; check OTEL_EXPORTER_OTLP_ENDPOINT, and that the collector runs"
        );
        self.said(lost);
        true
    }

    /// So many spans are lost so far, all reasons together. Returns whether that was said.
    pub(super) fn about_lost(&mut self, lost: u64) -> bool {
        if lost == self.told || !self.is_due() {
            return false;
        }
        tracing::warn!(
            what = self.what,
            failures = self.failures,
            lost_spans = lost - self.told,
            "spans are lost: more are made than their receiver takes, or a call has too many; \
             a larger OTEL_BSP_MAX_QUEUE_SIZE helps against bursts"
        );
        self.said(lost);
        true
    }

    fn is_due(&self) -> bool {
        let pause = Duration::from_millis(limits::TELEMETRY_COMPLAINT_MS);
        self.last.is_none_or(|last| last.elapsed() >= pause)
    }

    fn said(&mut self, lost: u64) {
        (self.last, self.failures, self.told) = (Some(Instant::now()), 0, lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn once_a_minute() {
        let mut complaint = Complaint::new("spans");
        assert!(complaint.about("no", 1));
        assert!(!complaint.about("no", 2));
        assert!(!complaint.about_lost(3), "both kinds share the minute");
        tokio::time::advance(Duration::from_millis(limits::TELEMETRY_COMPLAINT_MS)).await;
        assert!(complaint.about("no", 4));
        assert_eq!((complaint.failures, complaint.told), (0, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn spans_that_never_reach_an_export_are_told_too_once() {
        let mut complaint = Complaint::new("spans");
        assert!(!complaint.about_lost(0));
        assert!(complaint.about_lost(5));
        tokio::time::advance(Duration::from_millis(limits::TELEMETRY_COMPLAINT_MS)).await;
        assert!(!complaint.about_lost(5), "nothing new");
        assert!(complaint.about_lost(6));
    }
}
