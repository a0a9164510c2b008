//! The limits of the command line and of the processes that it starts.

/// Most threads that workspaces and their connections run on; fewer where there are fewer processors.
pub const MAX_WORKSPACE_THREADS: usize = 32;

/// Longest time that the MCP client of `call` and `quickstart` waits for one answer, in milliseconds.
pub const CLIENT_TIMEOUT_MS: u64 = 15_000;
