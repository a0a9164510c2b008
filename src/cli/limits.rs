//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Threads that workspaces and their connections live on; fewer where there are fewer processors.
pub const MAX_WORKSPACE_THREADS: usize = 32;

/// Longest time our own client waits for one answer, in milliseconds.
pub const CLIENT_TIMEOUT_MS: u64 = 15_000;
