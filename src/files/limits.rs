//! Limits of the path gate and the file watcher.

/// Threads of the blocking pool that work with the files of one workspace at a time, for its calls and its language servers. A pool has 512,
/// so a workspace whose file system hangs leaves enough to the others.
pub const MAX_GATE_WORK: usize = 32;

/// Files that the watcher of one workspace follows.
pub const MAX_WATCHED_FILES: usize = 500_000;

/// Entries of one directory that a walk reads.
pub const MAX_DIR_ENTRIES: usize = 1_000_000;

/// Files that the walk of the code index lists, before its own limit applies.
pub const MAX_WALKED_FILES: usize = 4_000_000;

/// Ignored directories that the watcher of one workspace follows for the sources and configuration files in them.
pub const MAX_WATCHED_IGNORED_DIRS: usize = 2_000;

/// Directories that the watcher of one workspace follows only because the code index lists them.
pub const MAX_WATCHED_INDEXED_DIRS: usize = 20_000;

/// Changes kept between two calls of `Subscription::take`. Beyond it they become one bulk change.
pub const MAX_PENDING_CHANGES: usize = 8_192;

/// Events kept for one subscription between two barriers. Beyond it the next barrier compares everything with the disk.
pub const MAX_WATCH_INBOX: usize = 65_536;

/// Longest time of one barrier, in milliseconds. Beyond it the changes become one bulk change.
pub const WATCH_BARRIER_MS: u64 = 250;

/// First walks that run at once without waiting: sixty together would take the processors from the searches of a moment after a start.
pub const MAX_WALKS: usize = 4;

/// Longest time that a first walk waits for others, in milliseconds. Then it runs beside them, so that walks of huge trees delay no
/// workspace for longer.
pub const WALK_WAIT_MS: u64 = 500;

/// Largest ignore file that is read, in bytes.
pub const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// Longest line of an ignore file that counts, in bytes.
pub const MAX_IGNORE_LINE_BYTES: usize = 4_096;

/// Cost of the ignore rules of a directory and all above it: bytes of plain names, and eight times the bytes of patterns that are compiled
/// to an automaton. The rules of a file that goes beyond it don't apply.
pub const MAX_IGNORE_COST: u64 = 256 * 1024;

/// The same cost for all directories of a root whose rules are kept at the same time.
pub const MAX_IGNORE_TOTAL_COST: u64 = 1024 * 1024;

/// Largest file in a `.git` directory that is read to resolve `HEAD`, in bytes.
pub const MAX_GIT_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// Longest path that the gate accepts, in bytes.
pub const MAX_PATH_BYTES: usize = 4_096;

/// Longest URI that the gate accepts, in bytes: the longest path with every byte escaped, the scheme and the host.
pub const MAX_URI_BYTES: usize = 3 * MAX_PATH_BYTES + 64;

/// Symbolic links followed to resolve one path, as many as Linux follows.
pub const MAX_LINKS_FOLLOWED: usize = 40;

/// Times that the gate retries when a path changes while it is checked.
pub const MAX_GATE_RETRIES: usize = 16;

/// Time for which a path counts as a former symbolic link, in milliseconds.
pub const RECENT_LINK_MS: u64 = 60_000;

/// Former symbolic links that are remembered; with more, every path counts as one.
pub const MAX_RECENT_LINKS: usize = 1_024;

/// A file that changed less than this many milliseconds ago may change again without a new stamp.
pub const FRESH_STAMP_MS: u32 = 2_000;

/// Largest `.git`, `commondir` or `gitdir` file that is read, in bytes: one path and a line break.
pub const MAX_GIT_LINK_BYTES: u64 = 8 * 1024;

/// Largest configuration of a repository that is searched for `core.worktree`, in bytes.
pub const MAX_GIT_CONFIG_BYTES: u64 = 1024 * 1024;

/// Largest list of alternate object directories that is read, in bytes.
pub const MAX_ALTERNATES_BYTES: u64 = 256 * 1024;
