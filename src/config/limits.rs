//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Workspaces in one configuration.
pub const MAX_WORKSPACES: usize = 10_000;

/// Groups of workspaces in one configuration.
pub const MAX_GROUPS: usize = 1_000;

/// Names and patterns of one group, or of one filter of workspaces.
pub const MAX_NAME_PATTERNS: usize = 1_000;

/// Principals of one `[permission]` section.
pub const MAX_PERMISSION_PRINCIPALS: usize = 1_024;

/// The highest niceness of language servers, which is the lowest priority.
pub const MAX_NICENESS: u8 = 19;

/// Threads of a job or a search that a configuration can set.
pub const MAX_INDEX_THREADS: u64 = 64;

/// The smallest payload that a configuration can set, in bytes.
pub const MIN_CODE_PAYLOAD_BYTES: u64 = 1_024;

/// Folders that one pattern of `[[workspaces_from]]` may list.
pub const MAX_LISTED_FOLDERS: usize = 10_000;

/// The most processes that `supervision.server_processes` may allow: a larger tree isn't counted.
pub const MAX_SERVER_PROCESSES: u64 = 4_000;

/// The fewest open files that `supervision.server_open_files` may allow.
pub const MIN_SERVER_OPEN_FILES: u64 = 256;
