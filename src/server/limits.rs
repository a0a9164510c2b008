//! The limits of this crate: connections, requests and waits of the transports and the admin API.

/// Remembered MCP sessions. For a new one, the least recently used one of the principal with the most sessions is removed.
pub const MAX_SESSIONS: usize = 4_096;

/// Remembered MCP sessions of one principal. For a new one, its least recently used one is removed.
pub const MAX_SESSIONS_PER_PRINCIPAL: usize = 1_024;

/// Requests of one stdio connection in flight.
pub const MAX_STDIO_IN_FLIGHT: usize = 256;

/// Connections to the local attach socket.
pub const MAX_ATTACHED: usize = 256;

/// A call that asked for progress gets its first notification after this time, in milliseconds.
pub const PROGRESS_AFTER_MS: u64 = 1_000;

/// Time between two progress notifications of a call, in milliseconds.
pub const PROGRESS_INTERVAL_MS: u64 = 750;

/// HTTP connections with a valid token open at a time. Without tokens, those that have sent a request.
pub const MAX_HTTP_CONNECTIONS: usize = 1_024;

/// HTTP connections open at a time that have sent no valid token yet. For a new one, the oldest idle one of them is closed.
pub const MAX_UNAUTHENTICATED_CONNECTIONS: usize = 256;

/// The same, of one client: an IPv4 address, or a /64 network of IPv6.
pub const MAX_UNAUTHENTICATED_PER_CLIENT: usize = 128;

/// A connection without a valid token isn't closed for a new one before it had this time to send one, in milliseconds.
pub const UNAUTHENTICATED_GRACE_MS: u64 = 250;

/// New HTTP connections that wait until others had that time. For a further one, the oldest idle one is closed at once.
pub const MAX_WAITING_CONNECTIONS: usize = 256;

/// A connection that has sent no valid token for this time is closed, in milliseconds.
pub const UNAUTHENTICATED_LIFE_MS: u64 = 10_000;

/// HTTP connections of permitted probes that keep their place while many clients connect.
pub const MAX_PROBE_CONNECTIONS: usize = 32;

/// Header fields of an HTTP request.
pub const MAX_HTTP_HEADERS: usize = 64;

/// Subscriptions (`subscriptions/listen`) over HTTP that are open at a time.
pub const MAX_SUBSCRIPTIONS: usize = 256;

/// The same, of one principal.
pub const MAX_SUBSCRIPTIONS_PER_PRINCIPAL: usize = 16;

/// Time between two comments on the stream of a subscription, which keep its connection open, in milliseconds.
pub const SUBSCRIPTION_KEEP_ALIVE_MS: u64 = 15_000;

/// Subscriptions of one stdio connection.
pub const MAX_STDIO_SUBSCRIPTIONS: usize = 16;

/// Request line and header fields of an HTTP request together, in bytes.
pub const MAX_HTTP_HEAD_BYTES: usize = 32 * 1024;

/// A connection without a whole request head is closed after this time, in milliseconds; an idle one too.
pub const HTTP_HEAD_TIMEOUT_MS: u64 = 30_000;

/// Longest time a request's body may take to arrive, in milliseconds.
pub const HTTP_BODY_TIMEOUT_MS: u64 = 10_000;

/// A connection whose client reads no byte of an answer for this time is closed, in milliseconds.
pub const HTTP_WRITE_TIMEOUT_MS: u64 = 30_000;

/// Bytes of an unread request that are read and discarded after the answer.
pub const HTTP_LINGER_BYTES: usize = 4 * codeyard_model::limits::MAX_REQUEST_BYTES;

/// Longest time for that, in milliseconds.
pub const HTTP_LINGER_MS: u64 = 1_000;

/// Time for requests in flight to end at shutdown, in milliseconds.
pub const DRAIN_MS: u64 = 5_000;

/// Answers that wait for a slow stdio client, in bytes. Beyond it nothing more is read or answered.
pub const MAX_STDIO_QUEUED_BYTES: usize = 4 * codeyard_model::limits::MAX_RESPONSE_BYTES;

/// Time to write the remaining answers at the end of a stdio connection, in milliseconds.
pub const STDIO_FLUSH_MS: u64 = 2_000;

/// First line on the local attach socket, in bytes.
pub const MAX_ATTACH_HELLO_BYTES: usize = 64 * 1024;

/// Time for the handshake on the local attach socket, in milliseconds.
pub const ATTACH_HELLO_TIMEOUT_MS: u64 = 2_000;

/// Connections to the admin socket, and as many to the admin TCP listener.
pub const MAX_ADMIN_CONNECTIONS: usize = 64;

/// An admin connection without a whole request head is closed after this time, in milliseconds; an idle one too. Short, because a
/// client without a token can occupy a connection for this time.
pub const ADMIN_HEAD_TIMEOUT_MS: u64 = 2_000;

/// Largest response of the admin API that our own commands accept, in bytes.
pub const MAX_ADMIN_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Longest time of an admin request, in milliseconds.
pub const ADMIN_REQUEST_TIMEOUT_MS: u64 = 15_000;

/// Longest time that our own commands wait for the response to a GET, in milliseconds.
pub const ADMIN_GET_TIMEOUT_MS: u64 = 5_000;

/// Longest wait of a DELETE for the end of the workspace, in milliseconds. Then it is answered with 202 and the removal continues.
pub const ADMIN_REMOVAL_WAIT_MS: u64 = 12_000;

/// Standard error of each language server in a list of all, in bytes.
pub const MAX_LISTED_STDERR_BYTES: usize = 2 * 1024;
