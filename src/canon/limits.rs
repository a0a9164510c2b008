//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Names in one list of document symbols, in bytes; each nested symbol repeats its container's.
pub const MAX_CANONICAL_TEXT_BYTES: usize = 32 * 1024 * 1024;

/// Most hover fragments (contract §7.3).
pub const MAX_HOVER_FRAGMENTS: usize = 8;

/// Longest hover fragment, in code points (contract §7.3).
pub const MAX_HOVER_FRAGMENT_CHARS: usize = 8_192;
