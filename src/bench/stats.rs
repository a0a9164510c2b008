//! Durations of many calls, and their percentiles.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Longest recorded duration in nanoseconds; longer ones count as this.
const LONGEST_NS: u64 = 600_000_000_000;

/// The durations of the calls of one side.
#[derive(Debug, Clone)]
pub(crate) struct CallTimes {
    histogram: Histogram<u64>,
    /// Wall time in which the calls were made, sequentially or concurrently.
    pub span: Duration,
}

impl Default for CallTimes {
    fn default() -> Self {
        let Ok(histogram) = Histogram::new_with_bounds(1, LONGEST_NS, 3) else {
            unreachable!("the bounds are valid constants");
        };
        Self { histogram, span: Duration::ZERO }
    }
}

impl CallTimes {
    pub(crate) fn add(&mut self, took: Duration) {
        self.histogram.saturating_record(u64::try_from(took.as_nanos()).unwrap_or(LONGEST_NS).max(1));
    }

    /// Adds the durations of another part of the same figure.
    pub(crate) fn join(&mut self, other: &Self) {
        // Both histograms have the same bounds, so this cannot fail.
        self.histogram.add(&other.histogram).ok();
        self.span += other.span;
    }

    /// Number of durations.
    pub(crate) fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether there are no durations.
    pub(crate) fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// A percentile in milliseconds.
    pub(crate) fn ms(&self, percentile: f64) -> f64 {
        as_ms(self.histogram.value_at_percentile(percentile))
    }

    /// Calls per second.
    pub(crate) fn rate(&self) -> f64 {
        let seconds = self.span.as_secs_f64();
        if seconds > 0.0 { precise(self.len()) / seconds } else { 0.0 }
    }
}

/// The median; NaN without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A count as a floating point number.
pub(crate) fn precise(count: u64) -> f64 {
    // Counts here are far below 2^52, so the conversion is exact.
    count as f64
}

/// Bytes in MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    precise(bytes) / 1024.0 / 1024.0
}

fn as_ms(ns: u64) -> f64 {
    precise(ns) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_rates() {
        let mut times = CallTimes::default();
        for ms in 1..=100 {
            times.add(Duration::from_millis(ms));
        }
        times.span = Duration::from_secs(2);
        assert!((times.ms(50.0) - 50.0).abs() < 0.1 && (times.ms(99.0) - 99.0).abs() < 0.2, "{times:?}");
        assert!((times.rate() - 50.0).abs() < 1e-9);
        let mut twice = times.clone();
        twice.join(&times);
        assert!((twice.rate() - times.rate()).abs() < 1e-9 && twice.len() == 2 * times.len());
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!(CallTimes::default().is_empty() && CallTimes::default().rate() == 0.0);
    }
}
