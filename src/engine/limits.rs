//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Most words of a line that an error lists when the position points at none of them.
pub const MAX_LISTED_IDENTIFIERS: usize = 40;

/// Most functions at one position for which callers or callees are requested.
pub const MAX_CALL_ITEMS: usize = 64;

/// Time before a call's deadline at which a linter without an answer is left out if another server has answered, in milliseconds.
pub const LATE_SERVER_MS: u64 = 150;

/// Replies of a language server up to this many bytes are decoded on the actor's thread.
pub const INLINE_DECODE_BYTES: usize = 64 * 1024;

/// Documents kept open at one language server.
pub const MAX_OPEN_DOCUMENTS: usize = 256;

/// Files with diagnostics kept for one language server.
pub const MAX_DIAGNOSTIC_FILES: usize = 20_000;

/// Diagnostics kept for one file.
pub const MAX_DIAGNOSTICS_PER_FILE: usize = 10_000;

/// Calls in flight in one workspace.
pub const MAX_CALLS_PER_WORKSPACE: usize = 256;

/// How long a request of an operator waits for an actor, in milliseconds; then the actor is reported as not answering.
pub const OPERATOR_PATIENCE_MS: u64 = 1_000;

/// Most workspaces that drain at once; while there are as many, operators can't change workspaces.
pub const MAX_WORKSPACES_DRAINING: usize = 256;

/// Queries of the code index that run at once in the process; further ones wait.
pub const MAX_CODE_QUERIES: usize = 16;

/// Time after the last edit until the index is updated, in milliseconds.
pub const EDIT_QUIET_MS: u64 = 60;

/// Longest time that repeated edits delay the update of the index, in milliseconds.
pub const EDIT_DELAY_MS: u64 = 250;

/// Longest wait of an automatic index job after a long job, in milliseconds. It waits about as long as that job took.
pub const MAX_INDEX_REST_MS: u64 = 10_000;

/// Wait of an automatic index job after a failed job, in milliseconds.
pub const FAILED_INDEX_REST_MS: u64 = 15_000;

/// Fewest changed files for which `health_check` reports an update of an index as `indexing`.
pub const LARGE_SYNC_FILES: u64 = 200;
