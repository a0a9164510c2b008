//! Limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Largest frame from a language server, in bytes.
pub const MAX_FRAME_BYTES: usize = 32 * 1024 * 1024;

/// Notifications and requests of one language server that are read as fast as they come, in bytes.
pub const UNASKED_BURST_BYTES: usize = 32 * 1024 * 1024;

/// What one language server may write after that without having been asked, in bytes a second.
pub const UNASKED_BYTES_PER_S: usize = 8 * 1024 * 1024;

/// Largest header block of a frame, in bytes.
pub const MAX_FRAME_HEADER_BYTES: usize = 8 * 1024;

/// Text that a language server may print to its standard output between two messages, in bytes. It is skipped. Some servers
/// print a line for each file of a project.
pub const MAX_STRAY_TEXT_BYTES: usize = 1024 * 1024;

/// Messages that may wait to be written to one language server.
pub const MAX_OUTGOING_QUEUE: usize = 1_024;

/// Requests that may be pending at one language server.
pub const MAX_PENDING_REQUESTS: usize = 256;

/// Messages that may wait to be written to one language server, in bytes. One message alone may be larger.
pub const MAX_OUTGOING_QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// Read buffer of one language server, in bytes. Frames that fit into it are not charged to the frames in flight.
pub const FRAME_BUFFER_BYTES: usize = 64 * 1024;

/// A frame larger than the read buffer must be complete within this many milliseconds of its header.
pub const FRAME_TIME_LIMIT_MS: u64 = 30_000;

/// The longest time, in milliseconds, that a frame waits for room in the budget of frames in flight. Nothing is read
/// meanwhile. Then the frame is skipped, and the connection goes on.
pub const FRAME_BUDGET_WAIT_MS: u64 = 60_000;

/// A frame that holds room which others wait for must receive `MIN_FRAME_PROGRESS_BYTES` in this time, in milliseconds.
pub const FRAME_PROGRESS_MS: u64 = 5_000;

/// Bytes that such a frame must receive in `FRAME_PROGRESS_MS`.
pub const MIN_FRAME_PROGRESS_BYTES: usize = 16 * 1024;

/// Frames of one language server that are not a JSON-RPC message, before the connection is closed.
pub const MAX_MALFORMED_MESSAGES: u64 = 64;

/// The part of a language server's error message that is kept, in bytes.
pub const MAX_SERVER_ERROR_BYTES: usize = 4 * 1024;

/// Events of one language server that may wait for their consumer.
pub const MAX_EVENT_QUEUE: usize = 4_096;

/// Events of one language server that may wait for their consumer, in bytes. One event alone may be larger.
pub const MAX_EVENT_QUEUE_BYTES: usize = 16 * 1024 * 1024;

/// Events of one language server that may always wait, in bytes, however many events of others wait.
pub const EVENT_QUEUE_SHARE_BYTES: usize = 256 * 1024;

/// Events of all language servers that may wait for their consumers, in bytes, besides that share.
pub const MAX_QUEUED_EVENTS_BYTES: usize = 64 * 1024 * 1024;

/// How long, in milliseconds, the reader waits once for a slow consumer of events before it drops and counts events.
pub const EVENT_WAIT_MS: u64 = 1_000;

/// Items of one `workspace/configuration` request.
pub const MAX_CONFIGURATION_ITEMS: usize = 1_024;

/// All dynamic registrations of one language server, in bytes: ids, methods and options.
pub const MAX_REGISTRATION_BYTES: usize = 2 * 1024 * 1024;

/// Globs of watched files of one language server, in bytes. A server with more globs or longer ones is sent all changes.
pub const MAX_WATCH_PATTERN_BYTES: usize = 512 * 1024;

/// Globs of watched files of one language server. A server with more is sent all changes.
pub const MAX_WATCH_PATTERNS: usize = 4_096;

/// The times of the same four steps when codeyard itself ends, in milliseconds: `shutdown`, `exit`, SIGTERM, SIGKILL.
pub const PROMPT_STOP_MS: [u64; 4] = [1_000, 500, 500, 1_000];

/// Largest document sent to a language server, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

/// Texts of the documents that one workspace keeps, in bytes.
pub const MAX_DOCUMENT_TEXTS_BYTES: usize = 64 * 1024 * 1024;

/// Progress tokens tracked for one language server.
pub const MAX_PROGRESS_TOKENS: usize = 1_024;

/// Capabilities that a language server may register dynamically.
pub const MAX_REGISTRATIONS: usize = 1_024;

/// Bytes read of a file that may mark a project root (`Cargo.toml` with `[workspace]`).
pub const MAX_MARKER_BYTES: u64 = 1024 * 1024;

/// Names read of a folder that is searched for a marker with a glob.
pub const MAX_MARKER_ENTRIES: usize = 10_000;

/// Scripts of one workspace that are known by their first lines.
pub const MAX_SCRIPTS: usize = 10_000;

/// TypeScript configurations reached by following the references of one `tsconfig.json`.
pub const MAX_PROJECT_REFERENCES: usize = 1_000;
