//! Values that others keep, read whenever metrics are exported.
//!
//! The functions given here run on the thread that exports: they read atomics and short lists, and wait for nothing.

use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;

use crate::names::instruments::{Instrument, Kind};

/// Where functions are registered that tell the values of an instrument.
pub struct Observers<'a>(&'a Meter);

/// Takes the values of one instrument.
pub struct Sink<'a> {
    labels: &'static [&'static str],
    emit: &'a mut dyn FnMut(Value, &[KeyValue]),
}

enum Value {
    Whole(u64),
    Real(f64),
}

impl Sink<'_> {
    /// Tells a value; `labels` are those of the instrument, in its order.
    pub fn tell(&mut self, value: u64, labels: &[&str]) {
        (self.emit)(Value::Whole(value), &pairs(self.labels, labels));
    }

    /// Tells a value that is no whole number.
    pub fn tell_real(&mut self, value: f64, labels: &[&str]) {
        (self.emit)(Value::Real(value), &pairs(self.labels, labels));
    }
}

impl Value {
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
    /// Registers at this meter.
    pub fn new(meter: &'a Meter) -> Self {
        Self(meter)
    }

    /// Has `read` tell the values of `instrument` at each export.
    pub fn observe(&self, instrument: &'static Instrument, read: impl Fn(&mut Sink<'_>) + Send + Sync + 'static) {
        macro_rules! register {
            ($make:ident, $convert:ident) => {
                self.0
                    .$make(instrument.name)
                    .with_unit(instrument.unit)
                    .with_description(instrument.about)
                    .with_callback(move |observer| {
                        let mut emit = |value: Value, labels: &[KeyValue]| observer.observe(value.$convert(), labels);
                        read(&mut Sink { labels: instrument.labels, emit: &mut emit });
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
