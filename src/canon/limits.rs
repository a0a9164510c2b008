//! Limits of canonical answers.

/// All names in one list of document symbols, in bytes. Each nested symbol repeats its container's name.
pub const MAX_CANONICAL_TEXT_BYTES: usize = 32 * 1024 * 1024;

/// Most hover fragments.
pub const MAX_HOVER_FRAGMENTS: usize = 8;

/// Longest hover fragment, in code points.
pub const MAX_HOVER_FRAGMENT_CHARS: usize = 8_192;
