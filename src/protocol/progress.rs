//! A call's progress as numbers that only grow.
//!
//! MCP wants each notification's `progress` above the one before; a service tells what it knows, which may repeat, fall
//! back, or be nothing at all. Invariants: two readings of one meter are strictly increasing and finite; a reading
//! never passes the total it names.

/// Where progress stood at the last notification.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    last: Option<f64>,
    total: Option<f64>,
}

/// The numbers of one notification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Above every earlier one.
    pub progress: f64,
    /// How much there is, if known.
    pub total: Option<f64>,
}

/// A sign of life moves progress by this much where no total is known.
const CREEP: f64 = 0.001;
/// Where a total is known, a sign of life takes this share of what is left.
const SHARE: f64 = 1.0 / 64.0;

impl Meter {
    /// The next reading; `told` is what the service said since the last one, as progress and total.
    pub fn read(&mut self, told: Option<(f64, Option<f64>)>) -> Reading {
        let told = told.filter(|(progress, _)| progress.is_finite());
        if let Some((_, total)) = told {
            self.total = total.filter(|total| total.is_finite());
        }
        let progress = match (told, self.last) {
            (Some((progress, _)), None) => progress,
            (Some((progress, _)), Some(last)) if progress > last => progress,
            (_, None) => 0.0,
            (_, Some(last)) => self.creep(last),
        };
        self.last = Some(progress);
        Reading { progress, total: self.total.filter(|total| *total >= progress) }
    }

    fn creep(&self, last: f64) -> f64 {
        let step = match self.total {
            Some(total) if total > last => (total - last) * SHARE,
            _ => CREEP,
        };
        (last + step).max(last.next_up()).min(f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_told_is_passed_on_while_it_grows() {
        let mut meter = Meter::default();
        assert_eq!(meter.read(None), Reading { progress: 0.0, total: None });
        assert_eq!(meter.read(Some((10.0, Some(100.0)))), Reading { progress: 10.0, total: Some(100.0) });
        let crept = meter.read(Some((5.0, Some(100.0))));
        assert!(crept.progress > 10.0 && crept.progress < 100.0 && crept.total == Some(100.0));
        assert_eq!(meter.read(Some((100.0, Some(100.0)))), Reading { progress: 100.0, total: Some(100.0) });
        assert_eq!(meter.read(None).total, None);
    }

    proptest! {
        #[test]
        fn readings_grow(told in proptest::collection::vec(proptest::option::of((-1e9..1e9f64, proptest::option::of(-1e9..1e9f64))), 1..40)) {
            let mut meter = Meter::default();
            let mut last = f64::NEG_INFINITY;
            for told in told {
                let reading = meter.read(told);
                prop_assert!(reading.progress > last && reading.progress.is_finite());
                prop_assert!(reading.total.is_none_or(|total| total >= reading.progress));
                last = reading.progress;
            }
        }
    }
}
