//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Levels of an outline that are shown.
pub const MAX_OUTLINE_LEVELS: usize = 32;

/// Longest message of an error, in code points.
pub const MAX_ERROR_MESSAGE_CHARS: usize = 512;

/// Largest `data` of an error, in bytes; beyond it the details are left out.
pub const MAX_ERROR_DATA_BYTES: usize = 16 * 1024;

/// Most rows of an answer of the catalog `code` (decisions §5).
pub const MAX_CODE_ROWS: usize = 200;

/// Most lines shown on each side of a found line.
pub const MAX_CODE_CONTEXT_LINES: usize = 10;

/// Most globs of one search.
pub const MAX_CODE_GLOBS: usize = 64;

/// Longest text in an argument of the catalog `code`, in code points.
pub const MAX_CODE_TEXT_CHARS: usize = 4_096;
