//! Callbacks that read values of other owners whenever metrics are exported.
//!
//! Invariant: a callback runs on the exporting thread, reads atomics and short lists, and doesn't wait.

use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;

use crate::names::instruments::{Instrument, Kind};

/// Registers callbacks for instruments.
pub struct Observers<'a>(&'a Meter);

/// Receives the values of one instrument.
pub struct MetricSink<'a> {
    labels: &'static [&'static str],
    emit: &'a mut dyn FnMut(Observed, &[KeyValue]),
}

enum Observed {
    Whole(u64),
    Real(f64),
}

impl MetricSink<'_> {
    /// Records a value. `labels` are the values of the instrument's labels, in their order.
    pub fn record(&mut self, value: u64, labels: &[&str]) {
        (self.emit)(Observed::Whole(value), &pairs(self.labels, labels));
    }

    /// Records a value that isn't a whole number.
    pub fn record_real(&mut self, value: f64, labels: &[&str]) {
        (self.emit)(Observed::Real(value), &pairs(self.labels, labels));
    }
}

impl Observed {
    fn whole(self) -> u64 {
        match self {
            Self::Whole(value) => value,
            Self::Real(value) => value as u64,
        }
    }

    fn signed(self) -> i64 {
        i64::try_from(self.whole()).unwrap_or(i64::MAX)
    }

    fn real(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}

fn pairs(keys: &'static [&'static str], values: &[&str]) -> Vec<KeyValue> {
    debug_assert_eq!(keys.len(), values.len());
    keys.iter().zip(values).map(|(key, value)| KeyValue::new(*key, (*value).to_owned())).collect()
}

impl<'a> Observers<'a> {
    /// Registers callbacks at this meter.
    pub fn new(meter: &'a Meter) -> Self {
        Self(meter)
    }

    /// Calls `read` for the values of `instrument` at each export.
    pub fn observe(&self, instrument: &'static Instrument, read: impl Fn(&mut MetricSink<'_>) + Send + Sync + 'static) {
        macro_rules! register {
            ($make:ident, $convert:ident) => {
                self.0
                    .$make(instrument.name)
                    .with_unit(instrument.unit)
                    .with_description(instrument.about)
                    .with_callback(move |observer| {
                        let mut emit =
                            |value: Observed, labels: &[KeyValue]| observer.observe(value.$convert(), labels);
                        read(&mut MetricSink { labels: instrument.labels, emit: &mut emit });
                    })
                    .build();
            };
        }
        match instrument.kind {
            Kind::Counter => {
                register!(u64_observable_counter, whole);
            }
            Kind::RealCounter => {
                register!(f64_observable_counter, real);
            }
            Kind::UpDown => {
                register!(i64_observable_up_down_counter, signed);
            }
            Kind::Gauge | Kind::Histogram(_) => {
                register!(f64_observable_gauge, real);
            }
        }
    }
}
