use crate::gauge::{mean_level, Gauge};

/// One line for the harbour master.
pub fn summary(gauges: &[Box<dyn Gauge>]) -> String {
    let mut highest = f64::MIN;
    for gauge in gauges {
        highest = highest.max(mean_level(gauge.as_ref()));
    }
    format!("{} gauges, the highest mean is {highest:.1} m", gauges.len())
}
