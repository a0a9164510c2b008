//! The limits of the command line and of the processes that it starts.

/// Longest time that a serving process takes to end after SIGTERM, in milliseconds. Then it ends its children and exits, whatever still
/// runs.
pub const EXIT_LIMIT_MS: u64 = 20_000;

/// Longest time that the MCP client of `call` and `quickstart` waits for one answer, in milliseconds.
pub const CLIENT_TIMEOUT_MS: u64 = 15_000;

/// Files of a folder that is no repository. With more, commands index it only with `--force`.
pub const MAX_UNFORCED_FILES: usize = 100_000;
