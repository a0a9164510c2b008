//! The limits of the command line and of the processes that it starts.

/// Most threads that workspaces and their connections run on; fewer where there are fewer processors.
pub const MAX_WORKSPACE_THREADS: usize = 32;

/// Fewest open files that a process must be allowed to have. Threads, listeners and the state directory take most of them.
pub const MIN_OPEN_FILES: u64 = 256;

/// Time between two checks that this process still holds the lock of its state directory, in milliseconds.
pub const LOCK_CHECK_MS: u64 = 2_000;

/// Longest time that a serving process takes to end after SIGTERM, in milliseconds. Then it ends its children and exits, whatever still
/// runs.
pub const EXIT_LIMIT_MS: u64 = 20_000;

/// Longest time that a stopping process waits for the tasks of a listener, in milliseconds.
pub const LISTENER_END_MS: u64 = 4_000;

/// Longest time in which a stopping process removes temporary files and exports telemetry, in milliseconds.
pub const LAST_EXPORT_MS: u64 = 3_000;

/// Longest time that the MCP client of `call` and `quickstart` waits for one answer, in milliseconds.
pub const CLIENT_TIMEOUT_MS: u64 = 15_000;

/// Time after which `codeyard call` says that it waits, in milliseconds.
pub const SILENT_CALL_MS: u64 = 2_000;

/// Most matches that `codeyard search` reads to list or count files.
pub const MAX_LISTED_MATCHES: usize = 1_000_000;

/// Files of a folder that is no repository. With more, commands index it only with `--force`.
pub const MAX_UNFORCED_FILES: usize = 100_000;

/// Time between two looks at the folders of `[[workspaces_from]]`, in milliseconds.
pub const FOLDER_SCAN_INTERVAL_MS: u64 = 3_000;
/// Time of the clone of one repository of a launch run, in seconds.
pub(crate) const CLONE_LIMIT_S: u64 = 600;
/// Time of one request of a launch run to a service, in seconds.
pub(crate) const SERVICE_REQUEST_LIMIT_S: u64 = 60;

/// The longest time after which a rotated token is removed by itself, in seconds: ten years.
pub const MAX_REMOVAL_DELAY_S: u64 = 3_650 * 86_400;
