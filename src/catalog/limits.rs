//! The limits of this crate: sizes and counts of arguments, answers and errors.

/// Levels of an outline in an answer (`docs/internals/reference/contract-code.md#what-doesnt-fit`).
pub const MAX_OUTLINE_LEVELS: usize = 32;

/// Longest message of an error, in code points.
pub const MAX_ERROR_MESSAGE_CHARS: usize = 512;

/// Largest `data` of a JSON-RPC error, in bytes. Larger details are omitted.
pub const MAX_ERROR_DATA_BYTES: usize = 16 * 1024;

/// Most rows of an answer of the catalog `code` (`docs/internals/reference/contract-code.md#arguments`).
pub const MAX_CODE_ROWS: usize = 200;

/// Most lines of context on each side of a matching line.
pub const MAX_CODE_CONTEXT_LINES: usize = 10;

/// Most globs in the argument `paths`.
pub const MAX_CODE_GLOBS: usize = 64;

/// Longest text in an argument of the catalog `code`, in code points.
pub const MAX_CODE_TEXT_CHARS: usize = 4_096;

/// Most runs of a list (`docs/internals/reference/contract-launch.md#lists`).
pub const MAX_LAUNCH_RUNS: usize = 200;

/// Longest time that a call waits for a run, in milliseconds. The run goes on.
pub const MAX_LAUNCH_CALL_MS: u64 = 30 * 60 * 1_000;
