//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Workspaces in one configuration.
pub const MAX_WORKSPACES: usize = 10_000;

/// Principals that one `[permission]` may name.
pub const MAX_PERMISSION_PRINCIPALS: usize = 1_024;

/// Threads of a job or a search that a configuration may ask for.
pub const MAX_INDEX_THREADS: u64 = 64;

/// The smallest payload that a configuration may ask for, in bytes.
pub const MIN_CODE_PAYLOAD_BYTES: u64 = 1_024;
