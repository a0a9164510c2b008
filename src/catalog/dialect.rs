//! The gateway's dialect of errors: JSON-RPC errors whose data holds a namespaced code (contract §6, decisions §3).
//!
//! Invariants: every error has its code in `data`, however small the cap; messages and details are bounded; members come
//! in the order code, message, details, and the details in order of their keys.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::limits::{MAX_ERROR_DATA_BYTES, MAX_ERROR_MESSAGE_CHARS};
use codeyard_base::budget::to_json_bounded;
use codeyard_base::stable_json::stringify;
use codeyard_model::error::{ErrorCode, ToolError};

use super::Reply;

/// What stands before each code.
pub const CODE_PREFIX: &str = "MCP_LSP_GATEWAY/";

/// JSON-RPC "Invalid params".
const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC "Internal error".
const INTERNAL_ERROR: i32 = -32603;

/// The JSON-RPC number of `code` (decisions §3).
pub fn json_rpc_number(code: ErrorCode) -> i32 {
    match code {
        ErrorCode::InvalidParams
        | ErrorCode::UriInvalid
        | ErrorCode::WorkspaceDenied
        | ErrorCode::CursorInvalid
        | ErrorCode::CursorStale
        | ErrorCode::CursorExpired
        | ErrorCode::SnapshotTooLarge => INVALID_PARAMS,
        ErrorCode::NotFound | ErrorCode::ProviderUnavailable | ErrorCode::CapExceeded | ErrorCode::Internal => {
            INTERNAL_ERROR
        }
    }
}

/// The reply to a call of a tool that no catalog of the endpoint holds.
pub fn catalog_error(tool: &str) -> Reply {
    error_reply(&unknown_tool(tool), MAX_ERROR_DATA_BYTES)
}

/// INVALID_PARAMS: there is no such tool. The name is the caller's text, so it is cut.
pub fn unknown_tool(tool: &str) -> ToolError {
    let tool: String = tool.chars().take(64).collect();
    ToolError::new(ErrorCode::InvalidParams, "there is no such tool here; tools/list names those there are")
        .with("reason", "unknown_tool")
        .with("tool", tool)
}

/// `error` as a reply whose data is at most `cap_bytes` and [`MAX_ERROR_DATA_BYTES`] long. Details that don't fit shrink
/// to their `reason`, then go; the code always stays.
pub fn error_reply(error: &ToolError, cap_bytes: usize) -> Reply {
    let code = format!("{CODE_PREFIX}{}", error.code.as_str());
    let sentence: String = error.message.chars().take(MAX_ERROR_MESSAGE_CHARS).collect();
    let cap = cap_bytes.min(MAX_ERROR_DATA_BYTES);
    let data = [Some(error.details_value()), reason_only(error), Some(serde_json::json!({}))]
        .into_iter()
        .flatten()
        .find_map(|details| write(&code, &sentence, &stringify(&details), cap))
        .unwrap_or_else(|| format!("{{\"code\":\"{code}\"}}").into_bytes());
    let message = format!("{code}: {sentence}");
    Reply::Error { code: json_rpc_number(error.code), message, data, tool_code: error.code }
}

#[derive(Serialize)]
struct Data<'a> {
    code: &'a str,
    message: &'a str,
    details: &'a RawValue,
}

fn write(code: &str, message: &str, details: &str, cap: usize) -> Option<Vec<u8>> {
    let details: &RawValue = serde_json::from_str(details).ok()?;
    to_json_bounded(&Data { code, message, details }, cap).ok()
}

fn reason_only(error: &ToolError) -> Option<serde_json::Value> {
    error.details.get("reason").map(|reason| serde_json::json!({ "reason": reason }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(error: &ToolError, cap: usize) -> String {
        match error_reply(error, cap) {
            Reply::Error { data, .. } => String::from_utf8(data).unwrap(),
            Reply::Result(_) | Reply::Refusal { .. } => unreachable!(),
        }
    }

    #[test]
    fn members_come_in_order_and_details_sorted() {
        let error = ToolError::new(ErrorCode::CursorStale, "m").with("z", 1).with("a", "x");
        let expected = r#"{"code":"MCP_LSP_GATEWAY/CURSOR_STALE","message":"m","details":{"a":"x","z":1}}"#;
        assert_eq!(data(&error, 1_000), expected);
        let Reply::Error { code, message, tool_code, .. } = error_reply(&error, 1_000) else { unreachable!() };
        assert_eq!((code, message.as_str()), (-32602, "MCP_LSP_GATEWAY/CURSOR_STALE: m"));
        assert_eq!(tool_code, ErrorCode::CursorStale);
    }

    #[test]
    fn errors_are_bounded_and_keep_what_matters_most() {
        let error = ToolError::new(ErrorCode::Internal, "m".repeat(10_000))
            .with("reason", "timeout")
            .with("progress", "p".repeat(100_000));
        let text = data(&error, usize::MAX);
        assert!(text.len() <= MAX_ERROR_DATA_BYTES && text.contains(r#""details":{"reason":"timeout"}"#));
        assert_eq!(data(&error, 0), r#"{"code":"MCP_LSP_GATEWAY/INTERNAL"}"#);
    }

    #[test]
    fn an_unknown_tool_is_invalid_params_and_its_name_is_cut() {
        let Reply::Error { code, data, .. } = catalog_error(&"x".repeat(1_000)) else { unreachable!() };
        assert_eq!(code, -32602);
        assert!(data.len() < 400);
    }
}
