//! Every span, attribute and metric name, on one page. Attributes follow OpenTelemetry's conventions where they have one.

/// The instrumentation scope.
pub const SCOPE: &str = "codeyard";
/// The span of a tool call is named by this and the tool's name.
pub const SPAN_TOOL_CALL_PREFIX: &str = "tools/call ";

/// The tool's name.
pub const TOOL: &str = "gen_ai.tool.name";
/// The MCP method.
pub const METHOD: &str = "mcp.method.name";
/// The workspace's name.
pub const WORKSPACE: &str = "codeyard.workspace";
/// The catalog's name.
pub const CATALOG: &str = "codeyard.catalog";
/// How the call ended: `ok` or an error code without its catalog's prefix.
pub const OUTCOME: &str = "codeyard.outcome";
/// Whether a retained result answered.
pub const RETAINED: &str = "codeyard.retained";
/// OpenTelemetry's name for the class of an error; absent when the call succeeded.
pub const ERROR_TYPE: &str = "error.type";

/// Counter: calls by tool and outcome.
pub const CALLS: &str = "codeyard.calls";
/// Counter: language servers started anew, by reason.
pub const RESTARTS: &str = "codeyard.restarts";
/// Counter: answers from a retained result.
pub const RETAINED_HITS: &str = "codeyard.retained_hits";
/// Counter: calls cancelled by their client.
pub const CANCELS: &str = "codeyard.cancels";
