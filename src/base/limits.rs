//! Every hard limit of the service on one page, and the configurable set that may only tighten them.
//!
//! Invariant: no value of [`Limits`] is ever weaker than its `*_MAX` constant (contract §5.1); larger values are
//! clamped, never refused, as the contract asks. A limit that is not about answers stands here too, so that each
//! queue, map, frame and retry loop has a name.

use serde::{Deserialize, Serialize};

pub use super::index_limits::*;

/// Largest request body or stdio line, in bytes (contract §5.1).
pub const MAX_REQUEST_BYTES: usize = 1_048_576;
/// Largest response body, in bytes (contract §5.1).
pub const MAX_RESPONSE_BYTES: usize = 524_288;
/// Longest time one tool call may take, in milliseconds (contract §5.1).
pub const REQUEST_TIMEOUT_MS: u64 = 2_000;
/// Most entries in a list that is not paged (contract §5.1).
pub const MAX_ITEMS_NONPAGED: usize = 200;
/// Most entries on one page (contract §5.1).
pub const MAX_PAGE_SIZE: usize = 200;
/// Entries on a page when the call names no size.
pub const DEFAULT_PAGE_SIZE: usize = 100;
/// Most files with diagnostics in one workspace answer (contract §5.1, §7.7).
pub const MAX_WORKSPACE_DIAGNOSTICS_ITEMS_TOTAL: usize = 5_000;
/// Most workspace symbols in one answer before paging (contract §5.1).
pub const MAX_WORKSPACE_SYMBOLS_ITEMS_TOTAL: usize = 20_000;
/// Most references in one answer before paging (contract §5.1).
pub const MAX_REFERENCES_ITEMS_TOTAL: usize = 20_000;
/// Most raw symbols or locations looked at for a list that is not paged.
pub const MAX_RAW_ITEMS: usize = 20_000;
/// Most distinct raw entries looked at for a paged list, before the gate sorts out what lies outside.
pub const MAX_RAW_ITEMS_PAGED: usize = 200_000;
/// Names in one list of document symbols, in bytes; each nested symbol repeats its container's.
pub const MAX_CANONICAL_TEXT_BYTES: usize = 32 * 1024 * 1024;
/// Most hover fragments (contract §7.3).
pub const MAX_HOVER_FRAGMENTS: usize = 8;
/// Longest hover fragment, in code points (contract §7.3).
pub const MAX_HOVER_FRAGMENT_CHARS: usize = 8_192;
/// Longest text of a page of the tool `lsp`, in code points (decisions §4).
pub const MAX_OUTPUT_CHARS: usize = 40_000;
/// Most words of a line that are told to who points at none of them.
pub const MAX_IDENTIFIERS_TOLD: usize = 40;
/// Most functions at one position whose callers or callees are asked for.
pub const MAX_CALL_ITEMS: usize = 64;
/// So long before a call's deadline a linter that hasn't answered yet is left behind if another server has, in milliseconds.
pub const LATE_SERVER_MS: u64 = 150;

/// Levels of an outline that are shown.
pub const MAX_OUTLINE_LEVELS: usize = 32;

/// Largest retained snapshot, in bytes.
pub const MAX_SNAPSHOT_BYTES: usize = 8 * 1024 * 1024;
/// All retained snapshots of one workspace and tenant, in bytes.
pub const MAX_SNAPSHOTS_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// A snapshot is dropped this many seconds after its last use.
pub const SNAPSHOT_TTL_S: u64 = 600;
/// Longest cursor text accepted, in bytes: far above what we mint.
pub const MAX_CURSOR_BYTES: usize = 1_024;

/// Longest message of an error, in code points.
pub const MAX_ERROR_MESSAGE_CHARS: usize = 512;
/// Largest `data` of an error, in bytes; beyond it the details are left out.
pub const MAX_ERROR_DATA_BYTES: usize = 16 * 1024;
/// Providers a summary names; the rest is counted.
pub const MAX_PROVIDERS_NAMED: usize = 4;

/// Largest frame from a language server, in bytes.
pub const MAX_FRAME_BYTES: usize = 32 * 1024 * 1024;
/// All frames being read from all language servers together, in bytes.
pub const MAX_FRAMES_IN_FLIGHT_BYTES: usize = 48 * 1024 * 1024;
/// Largest header block of a frame, in bytes.
pub const MAX_FRAME_HEADER_BYTES: usize = 8 * 1024;
/// Replies of a language server up to this many bytes are decoded on the actor's thread.
pub const INLINE_DECODE_BYTES: usize = 64 * 1024;
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
/// A frame waits at most this long, in milliseconds, for other frames in flight to leave it room.
pub const FRAME_BUDGET_WAIT_MS: u64 = 2_000;
/// Frames of one language server that are no JSON-RPC message, before the connection is closed.
pub const MAX_MALFORMED_MESSAGES: u64 = 64;
/// Longest id of a language server's request, in bytes.
pub const MAX_SERVER_REQUEST_ID_BYTES: usize = 256;
/// Kept text of a language server's error message, in bytes.
pub const MAX_SERVER_ERROR_BYTES: usize = 4 * 1024;
/// Events of one language server that may wait for the engine.
pub const MAX_EVENT_QUEUE: usize = 4_096;
/// Events of one language server that may wait for the engine, in bytes. One event alone may be larger.
pub const MAX_EVENT_QUEUE_BYTES: usize = 16 * 1024 * 1024;
/// How long, in milliseconds, reading waits once for a slow consumer of events before events are dropped and counted.
pub const EVENT_PATIENCE_MS: u64 = 1_000;
/// Items of one `workspace/configuration` request.
pub const MAX_CONFIGURATION_ITEMS: usize = 1_024;
/// Options of all late registrations of one language server, in bytes.
pub const MAX_REGISTRATION_BYTES: usize = 8 * 1024 * 1024;
/// Globs of files to watch of one language server.
pub const MAX_WATCH_PATTERNS: usize = 4_096;
/// Stopping a language server: how long `shutdown` may take, in milliseconds.
pub const STOP_SHUTDOWN_MS: u64 = 2_000;
/// Stopping a language server: how long it may take to leave after `exit`, in milliseconds.
pub const STOP_EXIT_MS: u64 = 1_000;
/// Stopping a language server: how long its processes may take to leave after SIGTERM, in milliseconds.
pub const STOP_TERM_MS: u64 = 2_000;
/// Stopping a language server: how long is waited for its processes to be gone after SIGKILL, in milliseconds.
pub const STOP_KILL_MS: u64 = 1_000;
/// The guard process: time between SIGTERM and SIGKILL to the server's processes, in milliseconds.
pub const GUARD_TERM_MS: u64 = 1_000;
/// The guard process: how long it goes on killing, in milliseconds.
pub const GUARD_KILL_MS: u64 = 700;
/// The guard process: time for the processes a server leaves behind, between SIGTERM and SIGKILL, in milliseconds.
pub const GUARD_LINGER_MS: u64 = 200;
/// Processes of one language server's tree that are looked at.
pub const MAX_PROCESS_TREE: usize = 4_096;
/// Children that one ledger file may name.
pub const MAX_LEDGER_ENTRIES: usize = 4_096;
/// Kept tail of a language server's standard error, in bytes.
pub const STDERR_TAIL_BYTES: usize = 64 * 1024;
/// Largest document handed to a language server, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
/// Documents kept open at one language server.
pub const MAX_OPEN_DOCUMENTS: usize = 256;
/// Texts of documents kept by one workspace, in bytes.
pub const MAX_DOCUMENT_TEXTS_BYTES: usize = 64 * 1024 * 1024;
/// Progress tokens followed at one language server.
pub const MAX_PROGRESS_TOKENS: usize = 1_024;
/// Capabilities a language server may register late.
pub const MAX_REGISTRATIONS: usize = 1_024;
/// Files with diagnostics kept for one language server.
pub const MAX_DIAGNOSTIC_FILES: usize = 20_000;
/// Diagnostics of one file that are kept at all.
pub const MAX_DIAGNOSTICS_PER_FILE: usize = 10_000;

/// Bytes read of a file that may mark a project root (`Cargo.toml` with `[workspace]`).
pub const MAX_MARKER_BYTES: u64 = 1024 * 1024;
/// Names read of a folder in which a marker is looked for by glob.
pub const MAX_MARKER_ENTRIES: usize = 10_000;
/// Configurations of TypeScript that one solution's references are followed to.
pub const MAX_PROJECT_REFERENCES: usize = 1_000;
/// Largest compile database that is copied to a cache folder, in bytes.
pub const MAX_COPIED_BYTES: u64 = 256 * 1024 * 1024;
/// Longest time a program may take to say its version, in milliseconds.
pub const PROBE_TIMEOUT_MS: u64 = 10_000;
/// Programs whose version is remembered.
pub const MAX_PROBES: usize = 1_024;
/// Longest time the installation of one language server may take, in milliseconds: a build from source takes half an hour.
pub const INSTALL_TIMEOUT_MS: u64 = 3_600_000;
/// Kept tail of an installing tool's output, in bytes.
pub const INSTALL_TAIL_BYTES: usize = 16 * 1024;

/// Calls in flight in the whole process.
pub const MAX_CALLS_IN_FLIGHT: usize = 1_024;
/// Calls in flight in one workspace.
pub const MAX_CALLS_PER_WORKSPACE: usize = 256;
/// MCP sessions remembered; the oldest is forgotten first.
pub const MAX_SESSIONS: usize = 4_096;
/// Requests of one stdio connection in flight.
pub const MAX_STDIO_IN_FLIGHT: usize = 256;
/// Connections to the local attach socket.
pub const MAX_ATTACHED: usize = 256;
/// Threads that workspaces and their connections live on; fewer where there are fewer processors.
pub const MAX_WORKSPACE_THREADS: usize = 32;
/// Workspaces in one configuration.
pub const MAX_WORKSPACES: usize = 10_000;
/// Roots (with extra roots) of one workspace.
pub const MAX_ROOTS: usize = 64;
/// Files one workspace's watcher follows.
pub const MAX_WATCHED_FILES: usize = 500_000;
/// Ignored directories one workspace's watcher follows for the sources and configuration in them.
pub const MAX_WATCHED_IGNORED_DIRS: usize = 2_000;
/// Directories one workspace's watcher follows because the code index lists what language servers ignore.
pub const MAX_WATCHED_INDEXED_DIRS: usize = 20_000;
/// Changes kept between two looks at the watcher; beyond it they count as one bulk change.
pub const MAX_PENDING_CHANGES: usize = 8_192;
/// Longest JSON text of a request id or progress token, in bytes.
pub const MAX_REQUEST_ID_BYTES: usize = 512;
/// Room a JSON-RPC envelope takes around a result, in bytes: what a payload must leave free below the response cap.
pub const RESPONSE_ENVELOPE_BYTES: usize = 1_024;
/// Longest message of a progress notification, in bytes.
pub const MAX_PROGRESS_MESSAGE_BYTES: usize = 512;
/// A call that asked for progress gets its first notification after this time, in milliseconds.
pub const PROGRESS_AFTER_MS: u64 = 1_000;
/// Time between two progress notifications of a call, in milliseconds.
pub const PROGRESS_INTERVAL_MS: u64 = 750;
/// Series of one metric; what comes beyond them is summed up in one more.
pub const MAX_SERIES: usize = 1_024;
/// Spans below the one of a call; further ones are left out and counted.
pub const MAX_CHILD_SPANS: usize = 128;
/// Spans that may wait to be exported, unless the environment says otherwise; further ones are dropped and counted.
pub const SPAN_QUEUE: usize = 8_192;
/// The largest queue of spans that the environment may ask for.
pub const MAX_SPAN_QUEUE: usize = 262_144;
/// What the spans that wait hold, in bytes, whatever the environment says; further ones are dropped and counted.
pub const MAX_SPAN_QUEUE_BYTES: usize = 64 * 1024 * 1024;
/// Spans that are exported at once, unless the environment says otherwise.
pub const SPAN_BATCH: usize = 512;
/// The most spans at once that the environment may ask for.
pub const MAX_SPAN_BATCH: usize = 8_192;
/// A span waits this long for others, in milliseconds, unless the environment says otherwise.
pub const SPAN_BATCH_DELAY_MS: u64 = 5_000;
/// One export of spans may take this long, in milliseconds, unless the environment says otherwise.
pub const SPAN_EXPORT_TIMEOUT_MS: u64 = 30_000;
/// One request by OTLP may take this long with its retries, in milliseconds, unless the environment says otherwise.
pub const OTLP_TIMEOUT_MS: u64 = 10_000;
/// Metrics are exported this often, in milliseconds, unless the environment says otherwise.
pub const METRIC_INTERVAL_MS: u64 = 60_000;
/// One export of metrics may take this long, in milliseconds, unless the environment says otherwise.
pub const METRIC_EXPORT_TIMEOUT_MS: u64 = 30_000;
/// The longest time that the environment may ask for in telemetry, in milliseconds.
pub const MAX_TELEMETRY_MS: u64 = 3_600_000;
/// At the end what waits may be exported for this long, in milliseconds.
pub const TELEMETRY_FLUSH_MS: u64 = 1_500;
/// The telemetry thread may take this long to end after that, in milliseconds.
pub const TELEMETRY_END_MS: u64 = 500;
/// Log lines that may wait to be written; further ones are dropped and counted.
pub const MAX_LOG_QUEUE: usize = 8_192;
/// The same, in bytes that they hold.
pub const MAX_LOG_QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// A log line waits this long for others, in milliseconds, to be written with them.
pub const LOG_GATHER_MS: u64 = 5;
/// At the end what is left of the log may be written for this long, in milliseconds.
pub const LOG_FLUSH_MS: u64 = 500;
/// Failing exports are complained of at most this often, in milliseconds.
pub const TELEMETRY_COMPLAINT_MS: u64 = 60_000;
/// Longest trace parent taken from a request, in bytes.
pub const MAX_TRACEPARENT_BYTES: usize = 128;
/// Longest trace state taken from a request, in bytes.
pub const MAX_TRACESTATE_BYTES: usize = 512;
/// Members of a trace state; one with more counts as malformed.
pub const MAX_TRACESTATE_MEMBERS: usize = 32;
/// What is kept of a request's id for its span, in bytes.
pub const MAX_TOLD_ID_BYTES: usize = 128;
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
pub const HTTP_LINGER_BYTES: usize = 4 * MAX_REQUEST_BYTES;
/// The longest that takes, in milliseconds.
pub const HTTP_LINGER_MS: u64 = 1_000;
/// What is in flight may finish for this long after the stop was asked for, in milliseconds.
pub const DRAIN_MS: u64 = 5_000;
/// Answers waiting for a slow reader of one stdio connection, in bytes; beyond it nothing more is read or answered.
pub const MAX_STDIO_QUEUED_BYTES: usize = 4 * MAX_RESPONSE_BYTES;
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
/// An operator's question waits this long for an actor, in milliseconds; then it is reported as not answering.
pub const OPERATOR_PATIENCE_MS: u64 = 1_000;
/// Workspaces on their way out while operators may change more.
pub const MAX_WORKSPACES_LEAVING: usize = 256;
/// Longest time our own client waits for one answer, in milliseconds.
pub const CLIENT_TIMEOUT_MS: u64 = 15_000;
/// Bearer tokens in one token file.
pub const MAX_TOKENS: usize = 1_024;
/// Size of a token file, in bytes.
pub const MAX_TOKEN_FILE_BYTES: u64 = 1024 * 1024;
/// A changed token file is noticed within this time, in milliseconds.
pub const TOKEN_RELOAD_MS: u64 = 1_000;
/// Principals that one `[permission]` may name.
pub const MAX_PERMISSION_PRINCIPALS: usize = 1_024;
/// Remembered permissions in one state directory; the oldest is forgotten first.
pub const MAX_PERMISSIONS: usize = 1_024;
/// Size of the file of remembered permissions, in bytes.
pub const MAX_PERMISSION_FILE_BYTES: u64 = 1024 * 1024;
/// A person may take this long to answer the question for a permission, in milliseconds.
pub const PERMISSION_WAIT_MS: u64 = 120_000;
/// Questions to the person behind one session that wait for an answer.
pub const MAX_QUESTIONS: usize = 8;
/// Questions of one session that went unanswered in time and whose late answer is still listened for.
pub const MAX_OVERDUE_QUESTIONS: usize = 8;
/// Events kept for one subscription until it looks; beyond it everything is compared with disk anew.
pub const MAX_WATCH_INBOX: usize = 65_536;
/// How long a look at the watcher may take, in milliseconds; beyond it the changes count as one bulk change.
pub const WATCH_BARRIER_MS: u64 = 250;
/// Largest ignore file that is heeded, in bytes.
pub const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;
/// Largest file of git that is read to know where `HEAD` is, in bytes.
pub const MAX_GIT_FILE_BYTES: u64 = 32 * 1024 * 1024;
/// Longest path the gate looks at, in bytes.
pub const MAX_PATH_BYTES: usize = 4_096;
/// Longest URI the gate looks at, in bytes: the longest path with every byte escaped, and the scheme and host.
pub const MAX_URI_BYTES: usize = 3 * MAX_PATH_BYTES + 64;
/// Links followed on the way to one file, as many as Linux does.
pub const MAX_LINKS_FOLLOWED: usize = 40;
/// Times the gate starts anew when a path changes under its hands.
pub const MAX_GATE_RETRIES: usize = 16;
/// A file changed less than this many milliseconds ago may change again behind the same stamp.
pub const FRESH_STAMP_MS: u32 = 2_000;
/// Retry hint, in milliseconds, on an answer that asks to come back.
pub const RETRY_AFTER_MS: u64 = 500;

/// The configurable limits of answers. Defaults are the maxima.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Largest request in bytes, at most 1048576.
    pub max_request_bytes: usize,
    /// Largest response in bytes, at most 524288.
    pub max_response_bytes: usize,
    /// Deadline of a call in milliseconds, at most 2000.
    pub request_timeout_ms: u64,
    /// Entries in an unpaged list, at most 200.
    pub max_items_nonpaged: usize,
    /// Entries on a page, at most 200.
    pub max_page_size: usize,
    /// Files in a workspace's diagnostics, at most 5000.
    pub max_workspace_diagnostics_items_total: usize,
    /// Workspace symbols in total, at most 20000.
    pub max_workspace_symbols_items_total: usize,
    /// References in total, at most 20000.
    pub max_references_items_total: usize,
    /// One retained snapshot in bytes, at most 8388608.
    pub max_snapshot_bytes: usize,
    /// All retained snapshots of a workspace in bytes, at most 67108864.
    pub max_snapshots_total_bytes: usize,
    /// Life of an unused snapshot in seconds, at most 600.
    pub snapshot_ttl_s: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_request_bytes: MAX_REQUEST_BYTES,
            max_response_bytes: MAX_RESPONSE_BYTES,
            request_timeout_ms: REQUEST_TIMEOUT_MS,
            max_items_nonpaged: MAX_ITEMS_NONPAGED,
            max_page_size: MAX_PAGE_SIZE,
            max_workspace_diagnostics_items_total: MAX_WORKSPACE_DIAGNOSTICS_ITEMS_TOTAL,
            max_workspace_symbols_items_total: MAX_WORKSPACE_SYMBOLS_ITEMS_TOTAL,
            max_references_items_total: MAX_REFERENCES_ITEMS_TOTAL,
            max_snapshot_bytes: MAX_SNAPSHOT_BYTES,
            max_snapshots_total_bytes: MAX_SNAPSHOTS_TOTAL_BYTES,
            snapshot_ttl_s: SNAPSHOT_TTL_S,
        }
    }
}

impl Limits {
    /// The same limits, each lowered to its maximum where it was above (contract §5.1, last note).
    pub fn clamped(self) -> Self {
        let mut limits = self.tightest(&Self::default());
        limits.max_page_size = limits.max_page_size.max(1);
        limits
    }

    /// Of each limit the smaller of the two.
    pub fn tightest(mut self, other: &Self) -> Self {
        macro_rules! smaller {
            ($($field:ident),*) => { $(self.$field = self.$field.min(other.$field);)* };
        }
        smaller!(max_request_bytes, max_response_bytes, request_timeout_ms, max_items_nonpaged, max_page_size);
        smaller!(max_workspace_diagnostics_items_total, max_workspace_symbols_items_total, max_references_items_total);
        smaller!(max_snapshot_bytes, max_snapshots_total_bytes, snapshot_ttl_s);
        self
    }
}

#[cfg(test)]
mod tests;
