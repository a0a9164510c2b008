//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Calls in flight in the whole process.
pub const MAX_CALLS_IN_FLIGHT: usize = 1_024;

/// Room a JSON-RPC envelope takes around a result, in bytes: what a payload must leave free below the response cap.
pub const RESPONSE_ENVELOPE_BYTES: usize = 1_024;

/// Longest message of a progress notification, in bytes.
pub const MAX_PROGRESS_MESSAGE_BYTES: usize = 512;

/// A person may take this long to answer the question for a permission, in milliseconds.
pub const PERMISSION_WAIT_MS: u64 = 120_000;

/// Questions to the person behind one session that wait for an answer.
pub const MAX_QUESTIONS: usize = 8;

/// Questions of one session that went unanswered in time and whose late answer is still listened for.
pub const MAX_OVERDUE_QUESTIONS: usize = 8;

/// Symbols of an answer of the catalog `code` that language servers are asked to confirm, the first ones.
pub const MAX_CONFIRMED_ROWS: usize = 5;

/// How long a question waits for the first index of its workspace, in milliseconds; then it is answered from what there is.
pub const FIRST_INDEX_WAIT_MS: u64 = 1_500;

/// How long a question of the code index waits for the watcher's first walk, in milliseconds; then it says that it may be stale.
pub const CODE_WALK_WAIT_MS: u64 = 150;
