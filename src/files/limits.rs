//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Files one workspace's watcher follows.
pub const MAX_WATCHED_FILES: usize = 500_000;

/// Ignored directories one workspace's watcher follows for the sources and configuration in them.
pub const MAX_WATCHED_IGNORED_DIRS: usize = 2_000;

/// Directories one workspace's watcher follows because the code index lists what language servers ignore.
pub const MAX_WATCHED_INDEXED_DIRS: usize = 20_000;

/// Changes kept between two looks at the watcher; beyond it they count as one bulk change.
pub const MAX_PENDING_CHANGES: usize = 8_192;

/// Events kept for one subscription until it looks; beyond it everything is compared with disk anew.
pub const MAX_WATCH_INBOX: usize = 65_536;

/// How long a look at the watcher may take, in milliseconds; beyond it the changes count as one bulk change.
pub const WATCH_BARRIER_MS: u64 = 250;

/// Largest ignore file that is heeded, in bytes.
pub const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// Largest file of git that is read to know where `HEAD` is, in bytes.
pub const MAX_GIT_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Longest path the gate looks at, in bytes.
pub const MAX_PATH_BYTES: usize = 4_096;

/// Longest URI the gate looks at, in bytes: the longest path with every byte escaped, and the scheme and host.
pub const MAX_URI_BYTES: usize = 3 * MAX_PATH_BYTES + 64;

/// Links followed on the way to one file, as many as Linux does.
pub const MAX_LINKS_FOLLOWED: usize = 40;

/// Times the gate starts anew when a path changes under its hands.
pub const MAX_GATE_RETRIES: usize = 16;

/// A file changed less than this many milliseconds ago may change again behind the same stamp.
pub const FRESH_STAMP_MS: u32 = 2_000;
