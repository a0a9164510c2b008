//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Series of one metric. Further ones are summed up in one more.
pub const MAX_SERIES: usize = 1_024;

/// Child spans of one call. Further ones are dropped and counted.
pub const MAX_CHILD_SPANS: usize = 128;

/// Spans in the queue of exports, unless the environment sets another number. Further ones are dropped and counted.
pub const SPAN_QUEUE: usize = 8_192;

/// The largest queue of spans that the environment can set.
pub const MAX_SPAN_QUEUE: usize = 262_144;

/// Bytes of the spans in the queue, whatever the environment sets. Further spans are dropped and counted.
pub const MAX_SPAN_QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// Spans of one export, unless the environment sets another number.
pub const SPAN_BATCH: usize = 512;

/// The most spans of one export that the environment can set.
pub const MAX_SPAN_BATCH: usize = 8_192;

/// A span waits this long for others, in milliseconds, unless the environment sets another time.
pub const SPAN_BATCH_DELAY_MS: u64 = 5_000;

/// Time of one export of spans, in milliseconds, unless the environment sets another one.
pub const SPAN_EXPORT_TIMEOUT_MS: u64 = 30_000;

/// Time of one OTLP request with its retries, in milliseconds, unless the environment sets another one.
pub const OTLP_TIMEOUT_MS: u64 = 10_000;

/// Time between two exports of metrics, in milliseconds, unless the environment sets another one.
pub const METRIC_INTERVAL_MS: u64 = 60_000;

/// Time of one export of metrics, in milliseconds, unless the environment sets another one.
pub const METRIC_EXPORT_TIMEOUT_MS: u64 = 30_000;

/// The longest time that the environment can set, in milliseconds.
pub const MAX_TELEMETRY_MS: u64 = 3_600_000;

/// Time to export the rest of the queues when the process ends, in milliseconds.
pub const TELEMETRY_FLUSH_MS: u64 = 1_500;

/// Time that the telemetry thread has to end after that, in milliseconds.
pub const TELEMETRY_END_MS: u64 = 500;

/// Lines in the log queue. Further ones are dropped and counted.
pub const MAX_LOG_QUEUE: usize = 8_192;

/// Bytes of the lines in the log queue. Further lines are dropped and counted.
pub const MAX_LOG_QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// A log line waits this long for others that are written with it, in milliseconds.
pub const LOG_GATHER_MS: u64 = 5;

/// Time to write the rest of the log queue when the process ends, in milliseconds.
pub const LOG_FLUSH_MS: u64 = 500;

/// At most one warning about failed exports in this time, in milliseconds.
pub const TELEMETRY_WARNING_MS: u64 = 60_000;

/// Members of a trace state. One with more counts as malformed.
pub const MAX_TRACESTATE_MEMBERS: usize = 32;

/// Length of a request's id in its span and log line, in bytes. A longer one is cut.
pub const MAX_REQUEST_ID_BYTES: usize = 128;
