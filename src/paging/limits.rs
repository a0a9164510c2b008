//! Limits of paging.

/// Longest accepted cursor text, in bytes: far more than a cursor of this service has.
pub const MAX_CURSOR_BYTES: usize = 1_024;
