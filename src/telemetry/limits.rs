//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Series of one metric. Further ones are summed up in one more.
pub const MAX_SERIES: usize = 1_024;

/// Spans in the queue of exports, unless the environment sets another number. Further ones are dropped and counted.
pub const SPAN_QUEUE: usize = 8_192;

/// The largest queue of spans that the environment can set.
pub const MAX_SPAN_QUEUE: usize = 262_144;

/// Time to export the rest of the queues when the process ends, in milliseconds.
pub const TELEMETRY_FLUSH_MS: u64 = 1_500;

/// Length of a request's id in its span and log line, in bytes. A longer one is cut.
pub const MAX_REQUEST_ID_BYTES: usize = 128;
