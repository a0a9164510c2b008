//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Most words of a line that are told to who points at none of them.
pub const MAX_LISTED_IDENTIFIERS: usize = 40;

/// Most functions at one position whose callers or callees are asked for.
pub const MAX_CALL_ITEMS: usize = 64;

/// So long before a call's deadline a linter that hasn't answered yet is left behind if another server has, in milliseconds.
pub const LATE_SERVER_MS: u64 = 150;

/// Replies of a language server up to this many bytes are decoded on the actor's thread.
pub const INLINE_DECODE_BYTES: usize = 64 * 1024;

/// Documents kept open at one language server.
pub const MAX_OPEN_DOCUMENTS: usize = 256;

/// Files with diagnostics kept for one language server.
pub const MAX_DIAGNOSTIC_FILES: usize = 20_000;

/// Diagnostics of one file that are kept at all.
pub const MAX_DIAGNOSTICS_PER_FILE: usize = 10_000;

/// Calls in flight in one workspace.
pub const MAX_CALLS_PER_WORKSPACE: usize = 256;

/// An operator's question waits this long for an actor, in milliseconds; then it is reported as not answering.
pub const OPERATOR_PATIENCE_MS: u64 = 1_000;

/// Workspaces on their way out while operators may change more.
pub const MAX_WORKSPACES_DRAINING: usize = 256;

/// Questions of the code index at work at once in the process; further ones wait for their turn.
pub const MAX_CODE_QUERIES: usize = 16;

/// So long after the last edit the index is brought up to date, in milliseconds.
pub const EDIT_QUIET_MS: u64 = 60;

/// Edits that go on don't put it off for longer than this, in milliseconds.
pub const EDIT_DELAY_MS: u64 = 250;

/// After a job that took long the next one that nobody asked for waits about as long, and no longer than this, in milliseconds.
pub const MAX_INDEX_REST_MS: u64 = 10_000;

/// After a job that failed the next one that nobody asked for waits so long, in milliseconds.
pub const FAILED_INDEX_REST_MS: u64 = 15_000;

/// Files from which on a job that brings an index up to date makes `health_check` say `indexing`.
pub const LARGE_SYNC_FILES: u64 = 200;
