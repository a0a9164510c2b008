//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// The guard process: time between SIGTERM and SIGKILL to the server's processes, in milliseconds.
pub const GUARD_TERM_MS: u64 = 1_000;

/// The guard process: how long it goes on killing, in milliseconds.
pub const GUARD_KILL_MS: u64 = 700;

/// The guard process: time for the processes a server leaves behind, between SIGTERM and SIGKILL, in milliseconds.
pub const GUARD_LINGER_MS: u64 = 200;

/// Processes of one language server's tree that are looked at.
pub const MAX_PROCESS_TREE: usize = 4_096;

/// Children that one ledger file may name.
pub const MAX_LEDGER_ENTRIES: usize = 4_096;

/// Kept tail of a language server's standard error, in bytes.
pub const STDERR_TAIL_BYTES: usize = 64 * 1024;

/// Kept tail of an installing tool's output, in bytes.
pub const INSTALL_TAIL_BYTES: usize = 16 * 1024;
