//! The limits of the command line and of the processes that it starts.

/// Most threads that workspaces and their connections run on; fewer where there are fewer processors.
pub const MAX_WORKSPACE_THREADS: usize = 32;

/// Longest time that the MCP client of `call` and `quickstart` waits for one answer, in milliseconds.
pub const CLIENT_TIMEOUT_MS: u64 = 15_000;

/// Time after which `codeyard call` says that it waits, in milliseconds.
pub const SILENT_CALL_MS: u64 = 2_000;

/// Most matches that `codeyard search` reads to list or count files.
pub const MAX_LISTED_MATCHES: usize = 1_000_000;

/// Time between two looks at the folders of `[[workspaces_from]]`, in milliseconds.
pub const FOLDER_SCAN_INTERVAL_MS: u64 = 3_000;
/// Time of the clone of one repository of a launch run, in seconds.
pub(crate) const CLONE_LIMIT_S: u64 = 600;
/// Time of one request of a launch run to a service, in seconds.
pub(crate) const SERVICE_REQUEST_LIMIT_S: u64 = 60;
