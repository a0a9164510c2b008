//! The limit of a cursor's text. Sizes of pages are in `model/limits.rs`.

/// Longest accepted cursor text, in bytes: far more than a cursor of this service has.
pub const MAX_CURSOR_BYTES: usize = 1_024;
