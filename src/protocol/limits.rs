//! The limits of this crate: sizes of the parts of a request that are kept.

/// Longest JSON text of a request id or progress token, in bytes.
pub const MAX_REQUEST_ID_BYTES: usize = 512;

/// Longest `traceparent` of a request, in bytes. A longer one is ignored.
pub const MAX_TRACEPARENT_BYTES: usize = 128;

/// Longest `tracestate` of a request, in bytes. A longer one is ignored.
pub const MAX_TRACESTATE_BYTES: usize = 512;

/// Most messages in one array. Only revision 2025-03-26 has arrays.
pub const MAX_BATCH_MESSAGES: usize = 64;
