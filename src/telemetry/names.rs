//! All names of spans, attributes and metrics. Attributes follow OpenTelemetry's conventions where there is one.

pub mod instruments;

/// The instrumentation scope.
pub const SCOPE: &str = "codeyard";
/// The MCP method of every call. A span's name is this and the tool's name.
pub const TOOLS_CALL: &str = "tools/call";
/// The span of the wait until the workspace starts with a call.
pub const SPAN_QUEUE: &str = "queue";
/// The span of a wait for a person's permission.
pub const SPAN_PERSON: &str = "wait for permission";
/// The span of a wait for language servers.
pub const SPAN_WAIT: &str = "wait for language server";
/// The span of building the canonical answer.
pub const SPAN_CANONICALISE: &str = "canonicalise";
/// The span of a wait for the first index of a workspace.
pub const SPAN_INDEX_WAIT: &str = "wait for index";
/// The span of a query to the code index.
pub const SPAN_INDEX: &str = "index";
/// The span of a work item of a run; the worker follows.
pub const SPAN_WORK_ITEM: &str = "work item";
/// The span of a gate of a run; its name follows.
pub const SPAN_GATE: &str = "gate";
/// The span of a process of a run; the program follows.
pub const SPAN_PROCESS: &str = "process";

/// The MCP method.
pub const METHOD: &str = "mcp.method.name";
/// The revision of MCP.
pub const PROTOCOL_VERSION: &str = "mcp.protocol.version";
/// The MCP session's id.
pub const SESSION: &str = "mcp.session.id";
/// The operation, in the conventions for generative AI; always [`EXECUTE_TOOL`].
pub const OPERATION: &str = "gen_ai.operation.name";
/// The value of [`OPERATION`].
pub const EXECUTE_TOOL: &str = "execute_tool";
/// The tool's name.
pub const TOOL: &str = "gen_ai.tool.name";
/// The id of the JSON-RPC request.
pub const REQUEST_ID: &str = "jsonrpc.request.id";
/// `pipe` or `tcp`.
pub const TRANSPORT: &str = "network.transport";
/// The class of an error; absent when there was none.
pub const ERROR_TYPE: &str = "error.type";
/// The number of a JSON-RPC error.
pub const RPC_STATUS: &str = "rpc.response.status_code";
/// The remote procedure call system of a request to a language server; always [`JSON_RPC`].
pub const RPC_SYSTEM: &str = "rpc.system.name";
/// The value of [`RPC_SYSTEM`].
pub const JSON_RPC: &str = "jsonrpc";
/// The LSP method.
pub const RPC_METHOD: &str = "rpc.method";

/// The workspace's name, or `@` and the name of a group.
pub const WORKSPACE: &str = "codeyard.workspace";
/// The catalog's name.
pub const CATALOG: &str = "codeyard.catalog";
/// The principal's hash.
pub const PRINCIPAL: &str = "codeyard.principal";
/// The operation of a call of the tool `lsp`.
pub const LSP_OPERATION: &str = "codeyard.lsp.operation";
/// The language of the document asked about.
pub const LANGUAGE: &str = "codeyard.language";
/// The kind of the language server; several are joined with commas.
pub const SERVER_KIND: &str = "codeyard.server.kind";
/// The epochs roots, text, fs and diagnostics, joined with commas.
pub const EPOCHS: &str = "codeyard.epochs";
/// Where the result came from: `retained`, `shared` or `fresh`.
pub const CACHE: &str = "codeyard.cache";
/// Whether the result was retained or shared.
pub const CACHE_HIT: &str = "codeyard.cache.hit";
/// The outcome of the cursor.
pub const CURSOR: &str = "codeyard.cursor";
/// The outcome of the permission check; absent if the tool needs no permission.
pub const PERMISSION: &str = "codeyard.permission";
/// The freshness of the code index that answered: `fresh`, `stale` or `syncing`.
pub const INDEX_FRESHNESS: &str = "codeyard.index.freshness";
/// Whether an answer from the code index is complete: `complete`, `partial` or `truncated`.
pub const INDEX_COMPLETENESS: &str = "codeyard.index.completeness";
/// A run.
pub const RUN_ID: &str = "codeyard.run_id";
/// Who does a work item of a run.
pub const RUN_WORKER: &str = "codeyard.run.worker";
/// The file name of the program of a process.
pub const PROCESS_NAME: &str = "process.executable.name";
/// Milliseconds of the query to the code index.
pub const INDEX_MS: &str = "codeyard.index_ms";
/// The readiness of the language servers: `ready`, or the state that the call waited for, `starting` or `indexing`.
pub const READINESS: &str = "codeyard.readiness";
/// How often the query was repeated because the workspace changed.
pub const REPEATS: &str = "codeyard.repeats";
/// Entries in the answer.
pub const ITEMS: &str = "codeyard.items";
/// Entries of the whole list.
pub const ITEMS_TOTAL: &str = "codeyard.items.total";
/// Bytes of the result, or of the error's data.
pub const BYTES: &str = "codeyard.bytes";
/// Milliseconds until the workspace started with the call.
pub const QUEUE_MS: &str = "codeyard.queue_ms";
/// Milliseconds with a request in flight to a language server.
pub const SERVER_MS: &str = "codeyard.server_ms";
/// How the call ended: `ok`, `CANCELLED`, or an error code without its catalog's prefix.
pub const OUTCOME: &str = "codeyard.outcome";
/// The error's `details.reason`.
pub const REASON: &str = "codeyard.reason";
/// The cap that was hit.
pub const CAP: &str = "codeyard.cap";

/// The resource's version.
pub const SERVICE_VERSION: &str = "service.version";

/// All attributes that a span may have.
pub const SPAN_ATTRIBUTES: &[&str] = &[
    METHOD, PROTOCOL_VERSION, SESSION, OPERATION, TOOL, REQUEST_ID, TRANSPORT, ERROR_TYPE, RPC_STATUS, RPC_SYSTEM,
    RPC_METHOD, WORKSPACE, CATALOG, PRINCIPAL, LSP_OPERATION, LANGUAGE, SERVER_KIND, EPOCHS, CACHE, CACHE_HIT, CURSOR,
    PERMISSION, INDEX_FRESHNESS, INDEX_COMPLETENESS, INDEX_MS, RUN_ID, RUN_WORKER, PROCESS_NAME, READINESS, REPEATS,
    ITEMS, ITEMS_TOTAL, BYTES, QUEUE_MS, SERVER_MS, OUTCOME, REASON, CAP,
];

/// The tool of a call that no catalog has. The caller's text is never exported.
pub const UNKNOWN_TOOL: &str = "unknown";
/// The values of `details.reason` of a failed call. Any other counts as [`OTHER`].
pub const REASONS: &[&str] = &[
    "allowed_paths_violation", "ambiguous_symbol", "audit_unavailable", "cancelled", "commit_service_error", "crashed",
    "diagnostics_not_kept", "document_too_large", "draining", "duplicate", "empty", "file_not_found", "fix_exhausted",
    "forbidden_character", "forbidden_escape", "fragment", "host", "illegal_state", "index_failed",
    "index_in_progress", "index_incompatible", "index_not_ready", "index_stale", "internal", "internal_error",
    "invalid_input", "invalid_url", "malformed", "malformed_escape", "missing", "needs_context", "needs_mode",
    "no_identifier", "no_path", "no_server", "not_absolute", "not_installed", "not_utf8", "offset",
    "operation_not_allowed", "overloaded", "permission_cancelled", "permission_declined", "permission_denied",
    "permission_not_asked", "permission_unanswered", "position_beyond", "project_not_found", "quarantined", "query",
    "quota_exceeded", "range", "real_path", "ref_not_indexed", "repo_not_found", "request_key", "response_too_large",
    "restricted", "result_not_found", "run_not_found", "schema_validation_failed", "scheme", "server_error", "several",
    "stopped", "sweep", "symbol_not_found", "sync_in_progress", "timeout", "too_long", "too_many_functions",
    "too_many_raw_items", "too_many_results", "too_much_text", "toolchain_missing", "type", "undecodable", "unknown",
    "unknown_operation", "unknown_tool", "unknown_word", "unsupported", "unsupported_site", "version",
    "workspace_not_allowed", "workspace_not_registered",
];

/// The reason as a constant.
pub fn reason(text: &str) -> &'static str {
    REASONS.binary_search(&text).map_or(OTHER, |at| REASONS[at])
}

/// The value for a reason that isn't in [`REASONS`].
pub const OTHER: &str = "other";
/// The cap of a result that is too large to be retained.
pub const CAP_SNAPSHOT: &str = "snapshot_too_large";
/// The cap of a list that is answered in part.
pub const CAP_ITEMS: &str = "items_nonpaged";
