//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Longest cursor text accepted, in bytes: far above what we mint.
pub const MAX_CURSOR_BYTES: usize = 1_024;
