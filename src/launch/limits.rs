//! The limits of this crate: sizes, counts and times that bound what callers, files and other processes can cost.

/// Length of the front matter of a page, in bytes.
pub const MAX_FRONT_MATTER_BYTES: usize = 64 * 1024;
