//! The progress of a call as strictly increasing numbers.
//!
//! MCP requires that the `progress` of each notification is above the one before. The values of a service may repeat, decrease or be
//! missing. Invariants: the readings of one meter are finite and strictly increasing; a reading never exceeds its total.

/// The state of a call's progress notifications.
#[derive(Debug, Clone, Default)]
pub struct ProgressMeter {
    last: Option<f64>,
    total: Option<f64>,
}

/// The numbers of one notification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgressReading {
    /// The value, above every earlier one.
    pub progress: f64,
    /// The whole amount, if known.
    pub total: Option<f64>,
}

/// The increase without a new value, if no total is known.
const STEP_WITHOUT_TOTAL: f64 = 0.001;
/// The increase without a new value, as a share of the remaining amount.
const STEP_SHARE: f64 = 1.0 / 64.0;

impl ProgressMeter {
    /// The next reading. `reported` is the newest progress and total of the service, if there is a new one.
    pub fn read(&mut self, reported: Option<(f64, Option<f64>)>) -> ProgressReading {
        let reported = reported.filter(|(progress, _)| progress.is_finite());
        if let Some((_, total)) = reported {
            self.total = total.filter(|total| total.is_finite());
        }
        let progress = match (reported, self.last) {
            (Some((progress, _)), None) => progress,
            (Some((progress, _)), Some(last)) if progress > last => progress,
            (_, None) => 0.0,
            (_, Some(last)) => self.step_from(last),
        };
        self.last = Some(progress);
        ProgressReading { progress, total: self.total.filter(|total| *total >= progress) }
    }

    fn step_from(&self, last: f64) -> f64 {
        let step = match self.total {
            Some(total) if total > last => (total - last) * STEP_SHARE,
            _ => STEP_WITHOUT_TOTAL,
        };
        (last + step).max(last.next_up()).min(f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn increasing_values_are_passed_on() {
        let mut meter = ProgressMeter::default();
        assert_eq!(meter.read(None), ProgressReading { progress: 0.0, total: None });
        assert_eq!(meter.read(Some((10.0, Some(100.0)))), ProgressReading { progress: 10.0, total: Some(100.0) });
        let stepped = meter.read(Some((5.0, Some(100.0))));
        assert!(stepped.progress > 10.0 && stepped.progress < 100.0 && stepped.total == Some(100.0));
        assert_eq!(meter.read(Some((100.0, Some(100.0)))), ProgressReading { progress: 100.0, total: Some(100.0) });
        assert_eq!(meter.read(None).total, None);
    }

    proptest! {
        #[test]
        fn readings_increase(reported in proptest::collection::vec(proptest::option::of((-1e9..1e9f64, proptest::option::of(-1e9..1e9f64))), 1..40)) {
            let mut meter = ProgressMeter::default();
            let mut last = f64::NEG_INFINITY;
            for value in reported {
                let reading = meter.read(value);
                prop_assert!(reading.progress > last && reading.progress.is_finite());
                prop_assert!(reading.total.is_none_or(|total| total >= reading.progress));
                last = reading.progress;
            }
        }
    }
}
