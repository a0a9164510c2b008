//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Series of one metric; what comes beyond them is summed up in one more.
pub const MAX_SERIES: usize = 1_024;

/// Spans below the one of a call; further ones are left out and counted.
pub const MAX_CHILD_SPANS: usize = 128;

/// Spans that may wait to be exported, unless the environment says otherwise; further ones are dropped and counted.
pub const SPAN_QUEUE: usize = 8_192;

/// The largest queue of spans that the environment may ask for.
pub const MAX_SPAN_QUEUE: usize = 262_144;

/// What the spans that wait hold, in bytes, whatever the environment says; further ones are dropped and counted.
pub const MAX_SPAN_QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// Spans that are exported at once, unless the environment says otherwise.
pub const SPAN_BATCH: usize = 512;

/// The most spans at once that the environment may ask for.
pub const MAX_SPAN_BATCH: usize = 8_192;

/// A span waits this long for others, in milliseconds, unless the environment says otherwise.
pub const SPAN_BATCH_DELAY_MS: u64 = 5_000;

/// One export of spans may take this long, in milliseconds, unless the environment says otherwise.
pub const SPAN_EXPORT_TIMEOUT_MS: u64 = 30_000;

/// One request by OTLP may take this long with its retries, in milliseconds, unless the environment says otherwise.
pub const OTLP_TIMEOUT_MS: u64 = 10_000;

/// Metrics are exported this often, in milliseconds, unless the environment says otherwise.
pub const METRIC_INTERVAL_MS: u64 = 60_000;

/// One export of metrics may take this long, in milliseconds, unless the environment says otherwise.
pub const METRIC_EXPORT_TIMEOUT_MS: u64 = 30_000;

/// The longest time that the environment may ask for in telemetry, in milliseconds.
pub const MAX_TELEMETRY_MS: u64 = 3_600_000;

/// At the end what waits may be exported for this long, in milliseconds.
pub const TELEMETRY_FLUSH_MS: u64 = 1_500;

/// The telemetry thread may take this long to end after that, in milliseconds.
pub const TELEMETRY_END_MS: u64 = 500;

/// Log lines that may wait to be written; further ones are dropped and counted.
pub const MAX_LOG_QUEUE: usize = 8_192;

/// The same, in bytes that they hold.
pub const MAX_LOG_QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// A log line waits this long for others, in milliseconds, to be written with them.
pub const LOG_GATHER_MS: u64 = 5;

/// At the end what is left of the log may be written for this long, in milliseconds.
pub const LOG_FLUSH_MS: u64 = 500;

/// Failing exports are complained of at most this often, in milliseconds.
pub const TELEMETRY_COMPLAINT_MS: u64 = 60_000;

/// Members of a trace state; one with more counts as malformed.
pub const MAX_TRACESTATE_MEMBERS: usize = 32;

/// What is kept of a request's id for its span, in bytes.
pub const MAX_TOLD_ID_BYTES: usize = 128;
