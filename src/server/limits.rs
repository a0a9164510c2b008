//! The limits of this crate: connections, requests and waits of the transports and the admin API.

/// Remembered MCP sessions of one principal. For a new one, its least recently used one is removed.
pub const MAX_SESSIONS_PER_PRINCIPAL: usize = 1_024;

/// Requests of one stdio connection in flight.
pub const MAX_STDIO_IN_FLIGHT: usize = 256;

/// HTTP connections with a valid token open at a time. Without tokens, those that have sent a request.
pub const MAX_HTTP_CONNECTIONS: usize = 1_024;

/// HTTP connections open at a time that have sent no valid token yet. For a new one, the oldest idle one of them is closed.
pub const MAX_UNAUTHENTICATED_CONNECTIONS: usize = 256;

/// The same, of one client: an IPv4 address, or a /64 network of IPv6.
pub const MAX_UNAUTHENTICATED_PER_CLIENT: usize = 128;

/// The same, of one principal.
pub const MAX_SUBSCRIPTIONS_PER_PRINCIPAL: usize = 16;

/// Subscriptions of one stdio connection.
pub const MAX_STDIO_SUBSCRIPTIONS: usize = 16;

/// Request line and header fields of an HTTP request together, in bytes.
pub const MAX_HTTP_HEAD_BYTES: usize = 32 * 1024;

/// Requests of one HTTP/2 connection in flight.
pub const MAX_HTTP2_STREAMS: u32 = 64;

/// Longest time a request's body may take to arrive, in milliseconds.
pub const HTTP_BODY_TIMEOUT_MS: u64 = 10_000;

/// Bytes of an unread request that are read and discarded after the answer.
pub const HTTP_LINGER_BYTES: usize = 4 * codeyard_model::limits::MAX_REQUEST_BYTES;

/// Time for requests in flight to end at shutdown, in milliseconds.
pub const DRAIN_MS: u64 = 5_000;

/// Answers that wait for a slow stdio client, in bytes. Beyond it nothing more is read or answered.
pub const MAX_STDIO_QUEUED_BYTES: usize = 4 * codeyard_model::limits::MAX_RESPONSE_BYTES;

/// Longest time of an admin request, in milliseconds.
pub const ADMIN_REQUEST_TIMEOUT_MS: u64 = 15_000;
