//! All instruments, with name, kind, unit, description and labels, and all words that a label can have.
//!
//! `docs/internals/reference/metrics.md` is generated from this table. Invariants: a label is a constant, or a name of a catalog, of the registry or of
//! a degraded workspace, never a caller's text; a word that isn't in its list counts as the last word of the list.

use super::{
    CACHE, CAP, CURSOR, ERROR_TYPE, INDEX_FRESHNESS, METHOD, PERMISSION, REASON, RPC_METHOD, RPC_STATUS, RPC_SYSTEM,
    SERVER_KIND, SERVICE_VERSION, TOOL, TRANSPORT, WORKSPACE,
};

/// One instrument.
#[derive(Debug, PartialEq)]
pub struct Instrument {
    /// Its name in OpenTelemetry.
    pub name: &'static str,
    pub kind: Kind,
    /// Its unit in UCUM. A unit in braces names what is counted.
    pub unit: &'static str,
    pub about: &'static str,
    /// Keys of its attributes, in the order of their values.
    pub labels: &'static [&'static str],
}

/// The kind of an instrument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A distribution, with the upper bounds of its buckets.
    Histogram(&'static [f64]),
    /// A sum that only grows.
    Counter,
    /// A sum of fractions that only grows.
    RealCounter,
    /// A sum that grows and shrinks.
    UpDown,
    /// The present value.
    Gauge,
}

/// The state of a workspace or language server.
pub const STATE: &str = "codeyard.state";
/// The mode of a job of the code index.
pub const JOB_MODE: &str = "codeyard.job.mode";
/// `codeyard` itself, or a language server's kind.
pub const COMPONENT: &str = "codeyard.component";
/// The source of a path: `call` or `server`.
pub const NAMED_BY: &str = "codeyard.named_by";
/// A kind of telemetry: `traces`, `metrics` or `logs`.
pub const SIGNAL: &str = "codeyard.signal";
/// The mode of processor time: `user` or `system`.
pub const CPU_MODE: &str = "cpu.mode";

/// From a tenth of a millisecond to ten seconds: most calls end below ten milliseconds, none after three seconds.
const CALL_BUCKETS: &[f64] = &[
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 2.5, 5.0,
    10.0,
];
const QUEUE_BUCKETS: &[f64] = &[0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.2, 1.0, 2.5];
const READY_BUCKETS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0];
/// From an edit's job to the first index of a very large repository.
const JOB_BUCKETS: &[f64] = &[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0];
const SESSION_BUCKETS: &[f64] =
    &[1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0, 86_400.0];

macro_rules! instruments {
    ($($id:ident = $name:literal, $kind:expr, $unit:literal, [$($label:expr),*], $about:literal;)*) => {
        $(#[doc = concat!("`", $name, "`: ", $about)]
        pub static $id: Instrument =
            Instrument { name: $name, kind: $kind, unit: $unit, about: $about, labels: &[$($label),*] };)*

        /// All of them, in the order of the page.
        pub static INSTRUMENTS: &[&Instrument] = &[$(&$id),*];
    };
}

instruments! {
    OPERATION = "mcp.server.operation.duration", Kind::Histogram(CALL_BUCKETS), "s",
        [METHOD, TOOL, ERROR_TYPE, RPC_STATUS, TRANSPORT],
        "Time from an MCP request's arrival to its reply, without waits for a person.";
    SESSION = "mcp.server.session.duration", Kind::Histogram(SESSION_BUCKETS), "s", [TRANSPORT],
        "Length of MCP sessions that have ended.";
    RPC_CALL = "rpc.client.call.duration", Kind::Histogram(CALL_BUCKETS), "s",
        [RPC_SYSTEM, RPC_METHOD, SERVER_KIND, ERROR_TYPE],
        "Time from sending a request to a language server to its reply.";
    IN_FLIGHT = "codeyard.calls.in_flight", Kind::UpDown, "{call}", [], "Tool calls without a reply.";
    SHED = "codeyard.calls.shed", Kind::Counter, "{call}", [REASON],
        "Tool calls and connections that were shed because a limit was reached, by limit.";
    QUEUE_DEPTH = "codeyard.queue.depth", Kind::UpDown, "{call}", [],
        "Tool calls that their workspace hasn't started with yet.";
    QUEUE_WAIT = "codeyard.queue.wait", Kind::Histogram(QUEUE_BUCKETS), "s", [],
        "Time until the workspace started with a tool call.";
    CAPS = "codeyard.caps.hit", Kind::Counter, "{hit}", [CAP], "Tool calls that hit a cap, by the cap.";
    ANSWERS = "codeyard.cache.answers", Kind::Counter, "{answer}", [CACHE],
        "Tool calls by the source of their result: retained, shared with another call, or fresh.";
    CURSORS = "codeyard.cursors", Kind::Counter, "{cursor}", [CURSOR],
        "Cursors of calls, by outcome.";
    PERMISSIONS = "codeyard.permissions", Kind::Counter, "{call}", [PERMISSION],
        "Tool calls that needed a permission, by outcome.";
    PATH_DENIALS = "codeyard.path.denials", Kind::Counter, "{path}", [NAMED_BY, REASON],
        "Paths of calls and of language servers' answers that the gate refused.";
    AUDIT_LINES = "codeyard.audit.lines", Kind::Counter, "{line}", [], "Lines written to the audit log.";
    AUDIT_LOST = "codeyard.audit.lost", Kind::Counter, "{line}", [],
        "Lines of the audit log that couldn't be written, because the disk was full for example.";
    AUDIT_UNCOPIED = "codeyard.audit.uncopied", Kind::Counter, "{line}", [],
        "Lines of the audit log that are in its file, and weren't copied to the system's log.";
    REQUESTS_REJECTED = "codeyard.requests.rejected", Kind::Counter, "{request}", [REASON],
        "Messages and connections of clients that were rejected before they were served.";
    TLS_EXPIRY = "codeyard.tls.certificate.expiry.timestamp", Kind::Gauge, "s", [],
        "When the certificate of the listeners ends, in seconds since 1970. Without TLS there is no series.";
    WORKSPACES = "codeyard.workspaces", Kind::UpDown, "{workspace}", [STATE], "Workspaces by state.";
    WORKSPACE_DEGRADED = "codeyard.workspace.degraded", Kind::Gauge, "", [WORKSPACE, REASON],
        "1 for each workspace that can't be opened, doesn't answer, isn't watched, or has a quarantined language server, by reason. Others have no series.";
    SERVERS = "codeyard.servers", Kind::UpDown, "{server}", [SERVER_KIND, STATE],
        "Language servers by kind and state.";
    RESTARTS = "codeyard.server.restarts", Kind::Counter, "{restart}", [SERVER_KIND, REASON],
        "Ends of language servers that require a restart, by reason.";
    SERVER_EVICTIONS = "codeyard.server.evictions", Kind::Counter, "{eviction}", [SERVER_KIND],
        "Language servers that were stopped to keep the memory budget. The next query starts them again.";
    READINESS = "codeyard.server.readiness.duration", Kind::Histogram(READY_BUCKETS), "s", [SERVER_KIND],
        "Time from a language server's start until it is ready.";
    STARTS = "codeyard.server.starts", Kind::UpDown, "{start}", [STATE],
        "Starts of language servers: queued until it is their turn, and running, which includes loading the project.";
    START_WAIT = "codeyard.server.start.wait", Kind::Histogram(READY_BUCKETS), "s", [],
        "Time that starts of language servers were queued.";
    FRAMES_REJECTED = "codeyard.frames.rejected", Kind::Counter, "{frame}", [REASON],
        "Frames of language servers that were rejected.";
    EVENTS_QUEUED = "codeyard.events.queued.size", Kind::UpDown, "By", [],
        "Bytes of events of language servers that wait to be handled.";
    DIAGNOSTICS_SIZE = "codeyard.diagnostics.size", Kind::UpDown, "By", [],
        "Bytes of the diagnostics that language servers have reported and that are kept.";
    DIAGNOSTICS_DROPPED = "codeyard.diagnostics.dropped", Kind::Counter, "{list}", [REASON],
        "Lists of diagnostics of files that are not kept, by reason. Queries for them fail.";
    MEMORY = "codeyard.memory.usage", Kind::UpDown, "By", [COMPONENT],
        "Memory of codeyard itself, and of the process trees of language servers by kind. A kind that was not measured yet is missing.";
    MEMORY_BUDGET = "codeyard.memory.budget", Kind::Gauge, "By", [],
        "Memory budget of all language servers together; 0 means none.";
    SNAPSHOTS = "codeyard.snapshots", Kind::UpDown, "{snapshot}", [], "Retained results.";
    SNAPSHOT_BYTES = "codeyard.snapshots.size", Kind::UpDown, "By", [], "Bytes of retained results.";
    EVICTED = "codeyard.snapshots.evicted", Kind::Counter, "{snapshot}", [REASON],
        "Retained results that were dropped, by reason.";
    WATCH_EVENTS = "codeyard.watch.events", Kind::Counter, "{event}", [], "File events read from the kernel.";
    WATCH_OVERFLOWS = "codeyard.watch.overflows", Kind::Counter, "{overflow}", [],
        "Times that file events were lost and everything was compared with the disk.";
    INDEX_FILES = "codeyard.index.files", Kind::UpDown, "{file}", [],
        "Files of working trees in the open code indexes.";
    INDEX_SYMBOLS = "codeyard.index.symbols", Kind::UpDown, "{symbol}", [], "Symbols in the files of the open code indexes.";
    INDEX_SIZE = "codeyard.index.size", Kind::UpDown, "By", [],
        "Bytes on disk of the open code indexes, with all their branches, after the last job.";
    INDEX_TEXT_SIZE = "codeyard.index.text.size", Kind::UpDown, "By", [],
        "Bytes on disk of the text indexes among them. `index.max_text_index_percent` bounds them.";
    INDEX_JOB = "codeyard.index.job.duration", Kind::Histogram(JOB_BUCKETS), "s", [JOB_MODE, STATE],
        "Duration of jobs of the code index, by mode and status.";
    INDEX_QUEUE = "codeyard.index.queue.depth", Kind::UpDown, "{call}", [],
        "Queries that wait for a free place at a code index.";
    INDEX_ANSWERS = "codeyard.index.answers", Kind::Counter, "{answer}", [INDEX_FRESHNESS],
        "Answers from code indexes, by freshness.";
    TELEMETRY_DROPPED = "codeyard.telemetry.dropped", Kind::Counter, "{item}", [SIGNAL],
        "Telemetry that was dropped so that no call waits.";
    BUILD = "codeyard.build.info", Kind::Gauge, "", [SERVICE_VERSION], "Always 1; the labels hold the version.";
    CPU = "process.cpu.time", Kind::RealCounter, "s", [CPU_MODE], "Processor time of codeyard itself.";
    RESIDENT = "process.memory.usage", Kind::UpDown, "By", [], "Resident memory of codeyard itself.";
    DESCRIPTORS = "process.unix.file_descriptors", Kind::UpDown, "{file_descriptor}", [],
        "File descriptors that codeyard itself has open.";
    THREADS = "process.threads", Kind::UpDown, "{thread}", [], "Threads of codeyard itself.";
    UPTIME = "process.uptime", Kind::Gauge, "s", [], "Time since codeyard was started.";
}

/// The limit that was reached when a call was shed.
pub const SHED_BY: &[&str] = &["connection", "process", "quota", "server", "session", "subscription", "workspace"];
/// What is wrong with a workspace.
pub const DEGRADED_WORDS: &[&str] =
    &["server_quarantined", "watcher_gone", "workspace_not_answering", "workspace_not_open"];
/// Caps that a call can hit.
pub const CAP_WORDS: &[&str] = &[
    "document_too_large", "items_nonpaged", "overloaded", "response_too_large", "snapshot_too_large", "timeout",
    "too_many_raw_items", "too_many_results", "too_much_text", "other",
];
/// Where results come from.
pub const CACHE_WORDS: &[&str] = &["fresh", "retained", "shared"];
/// What becomes of cursors.
pub const CURSOR_WORDS: &[&str] = &["continued", "expired", "invalid", "stale", "undecided"];
/// What becomes of permissions.
pub const PERMISSION_WORDS: &[&str] = &[
    "allowed", "always", "declined", "denied", "dismissed", "not_asked", "once", "remembered", "requested", "too_many",
    "unanswered", "withdrawn",
];
/// Why a call's path is denied: it lies outside, there is no root at all, or its text names no file.
pub const DENIAL_WORDS: &[&str] = &[
    "forbidden_character", "forbidden_escape", "fragment", "host", "malformed_escape", "no_path", "no_workspace",
    "not_absolute", "not_utf8", "outside", "query", "real_path", "scheme", "too_long", "other",
];
/// Why retained results are dropped: for lack of room, unused for too long, or because limits changed.
pub const EVICTION_WORDS: &[&str] = &["expired", "outdated", "reconfigured", "room"];
/// Why a client's message is refused.
pub const REJECTION_WORDS: &[&str] = &[
    "bad_id", "bad_meta", "bad_params", "batch", "batched_initialize", "bearer_required", "body_incomplete",
    "body_too_large", "body_too_slow", "foreign_cursor", "group_serves_code_only", "head_too_large", "header_mismatch",
    "host_not_allowed", "invalid_token_request", "long_batch", "long_id", "method_not_allowed",
    "missing_protocol_version", "no_tenant", "not_a_message", "not_a_proxy", "not_acceptable", "not_json",
    "origin_not_allowed", "path_not_served", "session_required", "sign_on_unavailable", "tls_handshake",
    "token_method_not_allowed", "tokens_unavailable", "too_long", "unknown_content", "unknown_endpoint",
    "unknown_method", "unknown_session", "unknown_token", "unsupported_content_type", "unsupported_version",
    "wrong_jsonrpc", "wrong_protocol_version", "other",
];
/// How fresh a code index is.
pub const FRESHNESS_WORDS: &[&str] = &["fresh", "stale", "syncing"];
/// The mode of a job of the code index.
pub const JOB_MODE_WORDS: &[&str] = &["full", "incremental"];
/// How a job of the code index ends.
pub const JOB_WORDS: &[&str] = &["failed", "interrupted", "published"];
/// Why a language server ended and is restarted.
pub const RESTART_WORDS: &[&str] = &[
    "broken", "configuration_changed", "crashed", "file_limit", "hung", "killed_outside", "memory_limit",
    "missed_change", "operator", "protocol_error", "process_limit", "queue_full", "start_failed", "other",
];
/// Why diagnostics of a file are not kept.
pub const DROP_WORDS: &[&str] = &["events_lost", "file_too_large", "server_budget", "too_many_files", "total_budget"];
/// Requests that clients make; any other is `_OTHER`.
pub const METHOD_WORDS: &[&str] =
    &["initialize", "ping", "server/discover", "subscriptions/listen", "tools/call", "tools/list", OTHER_METHOD];
/// A method that isn't served.
pub const OTHER_METHOD: &str = "_OTHER";
