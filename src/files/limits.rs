//! Limits of the path gate and the file watcher.

/// Threads of the blocking pool that work with the files of one workspace at a time, for its calls and its language servers. A pool has 512,
/// so a workspace whose file system hangs leaves enough to the others.
pub const MAX_GATE_WORK: usize = 32;

/// Files that the watcher of one workspace follows.
pub const MAX_WATCHED_FILES: usize = 500_000;

/// Files whose content the watcher of one workspace looks at in one comparison of everything, because their names don't say what they are.
pub const MAX_LOOKS: usize = 20_000;

/// Ignored directories that the watcher of one workspace follows for the sources and configuration files in them.
pub const MAX_WATCHED_IGNORED_DIRS: usize = 2_000;

/// Folders inside dependencies that the watcher of one workspace follows, the higher ones first.
pub const MAX_WATCHED_DEPENDENCY_DIRS: usize = 8_192;

/// Changes kept between two calls of `Subscription::take`. Beyond it they become one bulk change.
pub const MAX_PENDING_CHANGES: usize = 8_192;

/// Events kept for one subscription between two barriers. Beyond it the next barrier compares everything with the disk.
pub const MAX_WATCH_INBOX: usize = 65_536;

/// Longest path that the gate accepts, in bytes.
pub const MAX_PATH_BYTES: usize = 4_096;

/// Longest URI that the gate accepts, in bytes: the longest path with every byte escaped, the scheme and the host.
pub const MAX_URI_BYTES: usize = 3 * MAX_PATH_BYTES + 64;

/// Times that the gate retries when a path changes while it is checked.
pub const MAX_GATE_RETRIES: usize = 16;

/// Former symbolic links that are remembered; with more, every path counts as one.
pub const MAX_RECENT_LINKS: usize = 1_024;

/// A file that changed less than this many milliseconds ago may change again without a new stamp.
pub const FRESH_STAMP_MS: u32 = 2_000;
