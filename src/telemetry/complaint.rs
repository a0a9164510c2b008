//! Says that exports fail, but not every time.

use std::time::Duration;

use crate::base::clock::Instant;
use crate::base::limits;

/// Longest part of a failure's text that is logged, in characters.
const MAX_REASON: usize = 200;

/// Complains about one kind of export, at most once per `TELEMETRY_COMPLAINT_MS`.
pub(super) struct Complaint {
    what: &'static str,
    last: Option<Instant>,
    failures: u64,
    lost: usize,
}

impl Complaint {
    /// About exports of `what`.
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, last: None, failures: 0, lost: 0 }
    }

    /// An export failed, and `lost` spans with it. Returns whether that was said.
    pub(super) fn about(&mut self, why: &str, lost: usize) -> bool {
        (self.failures, self.lost) = (self.failures + 1, self.lost + lost);
        let pause = Duration::from_millis(limits::TELEMETRY_COMPLAINT_MS);
        if self.last.is_some_and(|last| last.elapsed() < pause) {
            return false;
        }
        self.last = Some(Instant::now());
        let why: String = why.chars().take(MAX_REASON).collect();
        tracing::warn!(
            what = self.what, failures = self.failures, lost_spans = self.lost, error = %why,
            "telemetry isn't taken by its receiver; check OTEL_EXPORTER_OTLP_ENDPOINT, and that the collector runs"
        );
        (self.failures, self.lost) = (0, 0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn once_a_minute() {
        let mut complaint = Complaint::new("spans");
        assert!(complaint.about("no", 1));
        assert!(!complaint.about("no", 1));
        tokio::time::advance(Duration::from_millis(limits::TELEMETRY_COMPLAINT_MS)).await;
        assert!(complaint.about("no", 1));
        assert_eq!((complaint.failures, complaint.lost), (0, 0));
    }
}
