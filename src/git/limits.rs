//! Limits of reading git repositories.

/// Longest time of one request in a reader process, in milliseconds.
pub const READER_REQUEST_MS: u64 = 120_000;

/// A reader process that got no request for this long ends, in milliseconds.
pub const READER_IDLE_MS: u64 = 20_000;

/// Files of one commit that are listed.
pub const MAX_COMMIT_FILES: usize = 1_000_000;

/// Bytes of all paths of one commit.
pub const MAX_TREE_PATH_BYTES: usize = 256 * 1024 * 1024;

/// Largest request to a reader process, in bytes.
pub const MAX_REQUEST_BYTES: usize = 64 * 1024;
