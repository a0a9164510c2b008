//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// MCP sessions remembered; the oldest is forgotten first.
pub const MAX_SESSIONS: usize = 4_096;

/// Requests of one stdio connection in flight.
pub const MAX_STDIO_IN_FLIGHT: usize = 256;

/// Connections to the local attach socket.
pub const MAX_ATTACHED: usize = 256;

/// A call that asked for progress gets its first notification after this time, in milliseconds.
pub const PROGRESS_AFTER_MS: u64 = 1_000;

/// Time between two progress notifications of a call, in milliseconds.
pub const PROGRESS_INTERVAL_MS: u64 = 750;

/// HTTP connections open at a time.
pub const MAX_HTTP_CONNECTIONS: usize = 1_024;

/// Connections beyond the cap that are still told so, at a time; any further one is closed unanswered.
pub const MAX_HTTP_TURNED_AWAY: usize = 32;

/// Header fields of an HTTP request.
pub const MAX_HTTP_HEADERS: usize = 64;

/// Request line and header fields of an HTTP request together, in bytes.
pub const MAX_HTTP_HEAD_BYTES: usize = 32 * 1024;

/// A connection without a whole request head is closed after this time, in milliseconds; an idle one too.
pub const HTTP_HEAD_TIMEOUT_MS: u64 = 30_000;

/// Longest time a request's body may take to arrive, in milliseconds.
pub const HTTP_BODY_TIMEOUT_MS: u64 = 10_000;

/// A client that takes no byte of its answer for this long is closed, in milliseconds.
pub const HTTP_WRITE_TIMEOUT_MS: u64 = 30_000;

/// After an answer to a request that wasn't read to its end, this much more is read and thrown away, in bytes.
pub const HTTP_LINGER_BYTES: usize = 4 * codeyard_model::limits::MAX_REQUEST_BYTES;

/// The longest that takes, in milliseconds.
pub const HTTP_LINGER_MS: u64 = 1_000;

/// What is in flight may finish for this long after the stop was asked for, in milliseconds.
pub const DRAIN_MS: u64 = 5_000;

/// Answers waiting for a slow reader of one stdio connection, in bytes; beyond it nothing more is read or answered.
pub const MAX_STDIO_QUEUED_BYTES: usize = 4 * codeyard_model::limits::MAX_RESPONSE_BYTES;

/// At the end of a stdio connection answers already made may be written for this long, in milliseconds.
pub const STDIO_FLUSH_MS: u64 = 2_000;

/// First line on the local attach socket, in bytes.
pub const MAX_ATTACH_HELLO_BYTES: usize = 64 * 1024;

/// Time for the handshake on the local attach socket, in milliseconds.
pub const ATTACH_HELLO_TIMEOUT_MS: u64 = 2_000;

/// Operators' connections to the local socket, and as many over TCP.
pub const MAX_ADMIN_CONNECTIONS: usize = 64;

/// An operator's connection without a whole request head is closed after this time, in milliseconds; an idle one too. Short,
/// because who has no token can hold a place for this long.
pub const ADMIN_HEAD_TIMEOUT_MS: u64 = 2_000;

/// Largest answer of the admin API that our own commands take, in bytes.
pub const MAX_ADMIN_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Longest time one request of an operator may take, in milliseconds.
pub const ADMIN_REQUEST_TIMEOUT_MS: u64 = 15_000;

/// Longest time our own commands wait for an answer about how things are, in milliseconds.
pub const ADMIN_LOOK_TIMEOUT_MS: u64 = 5_000;

/// An operator who removes a workspace waits this long for its end, in milliseconds; the removal goes on without him.
pub const ADMIN_REMOVAL_WAIT_MS: u64 = 12_000;

/// Standard error of a language server in a list of all, in bytes.
pub const MAX_LISTED_STDERR_BYTES: usize = 2 * 1024;
