//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Longest JSON text of a request id or progress token, in bytes.
pub const MAX_REQUEST_ID_BYTES: usize = 512;

/// Longest trace parent taken from a request, in bytes.
pub const MAX_TRACEPARENT_BYTES: usize = 128;

/// Longest trace state taken from a request, in bytes.
pub const MAX_TRACESTATE_BYTES: usize = 512;
