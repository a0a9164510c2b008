//! The limits of this crate: slots, prompts and waits of calls. The limits of a single call are in its tool's policy
//! (`codeyard_catalog::CallPolicy`).

/// Calls in flight in the whole process.
pub const MAX_CALLS_IN_FLIGHT: usize = 1_024;

/// Time after the deadline of a call at which it is answered although the thread that it runs on is stuck, in milliseconds.
pub const STUCK_ANSWER_MS: u64 = 500;

/// Longest wait of a connection for the thread of its workspace, in milliseconds. Then it is served elsewhere.
pub const WORKSPACE_THREAD_START_MS: u64 = 1_000;

/// Bytes reserved for the JSON-RPC envelope: a payload stays this much below the response cap.
pub const RESPONSE_ENVELOPE_BYTES: usize = 1_024;

/// Longest message of a progress notification, in bytes.
pub const MAX_PROGRESS_MESSAGE_BYTES: usize = 512;

/// Longest time for a person to answer a permission prompt, in milliseconds (`docs/internals/protocol.md#questions-to-a-person`).
pub const PERMISSION_WAIT_MS: u64 = 120_000;

/// Open prompts of one session (`docs/internals/protocol.md#questions-to-a-person`).
pub const MAX_OPEN_PROMPTS: usize = 8;

/// Results that ask a person for permission and whose calls haven't come again yet, of all principals together. Beyond it, a call that needs
/// one more is answered as overloaded.
pub const MAX_REQUEST_STATES: usize = 4_096;

/// The same, of one principal.
pub const MAX_REQUEST_STATES_PER_PRINCIPAL: usize = 64;

/// Prompts of one session whose deadline has passed and whose late answer is still accepted.
pub const MAX_OVERDUE_PROMPTS: usize = 8;

/// Repositories that are read at once, in all workspaces, for starts of launch runs.
pub const MAX_REPOSITORY_READINGS: usize = 4;
