//! Errors as JSON-RPC errors whose `data` has a namespaced code (`docs/internals/reference/contract-lsp-v1.md#errors`).
//!
//! Invariants: `data` always has the code, however small the cap; messages and details are bounded; the members come in the
//! order code, message, details, and the details in the order of their keys.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::limits::{MAX_ERROR_DATA_BYTES, MAX_ERROR_MESSAGE_CHARS};
use codeyard_base::budget::to_json_bounded;
use codeyard_base::similar::{ending_in, nearest};
use codeyard_base::stable_json::stringify;
use codeyard_model::error::{ErrorCode, ToolError};

use super::EncodedReply;

/// The namespace in front of each code.
pub const CODE_PREFIX: &str = "MCP_LSP_GATEWAY/";

/// JSON-RPC "Invalid params".
pub(crate) const INVALID_PARAMS: i32 = -32602;
/// JSON-RPC "Internal error".
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// The JSON-RPC number of `code` (`docs/internals/reference/contract-lsp-v1.md#errors`).
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

/// INVALID_PARAMS for an unknown tool. The error repeats at most 64 characters of the caller's `tool`.
pub fn unknown_tool(tool: &str) -> ToolError {
    let tool: String = tool.chars().take(64).collect();
    ToolError::new(ErrorCode::InvalidParams, "there is no such tool here; tools/list names those there are")
        .with("reason", "unknown_tool")
        .with("tool", tool)
}

/// The same, with the name among the tools that there are that the caller is likely to mean.
pub(super) fn unknown_tool_among<'n>(tool: &str, known: impl Iterator<Item = &'n str> + Clone) -> ToolError {
    let error = unknown_tool(tool);
    match nearest(tool, known.clone()).or_else(|| ending_in(tool, known)) {
        Some(nearest) => {
            ToolError { message: format!("there is no such tool here; did you mean `{nearest}`?"), ..error }
                .with("nearest", nearest)
        }
        None => error,
    }
}

/// The reply for an error of [`unknown_tool`].
pub fn unknown_tool_reply(error: &ToolError) -> EncodedReply {
    error_reply(error, MAX_ERROR_DATA_BYTES)
}

/// Encodes `error` with at most `cap_bytes` bytes, and at most [`MAX_ERROR_DATA_BYTES`], of `data`. Details that don't fit are
/// reduced to their `reason`, then omitted. The code always remains.
pub fn error_reply(error: &ToolError, cap_bytes: usize) -> EncodedReply {
    let code = format!("{CODE_PREFIX}{}", error.code.as_str());
    let sentence = error.message_with_steps(MAX_ERROR_MESSAGE_CHARS);
    let cap = cap_bytes.min(MAX_ERROR_DATA_BYTES);
    let data = [Some(error.details_value()), reason_only(error), Some(serde_json::json!({}))]
        .into_iter()
        .flatten()
        .find_map(|details| write(&code, &sentence, &stringify(&details), cap))
        .unwrap_or_else(|| format!("{{\"code\":\"{code}\"}}").into_bytes());
    let message = format!("{code}: {sentence}");
    EncodedReply::Error { code: json_rpc_number(error.code), message, data, tool_code: error.code }
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
            EncodedReply::Error { data, .. } => String::from_utf8(data).unwrap(),
            EncodedReply::Result(_) | EncodedReply::Refusal { .. } => unreachable!(),
        }
    }

    #[test]
    fn members_are_ordered_and_details_sorted() {
        let error = ToolError::new(ErrorCode::CursorStale, "m").with("z", 1).with("a", "x");
        let expected = r#"{"code":"MCP_LSP_GATEWAY/CURSOR_STALE","message":"m","details":{"a":"x","z":1}}"#;
        assert_eq!(data(&error, 1_000), expected);
        let EncodedReply::Error { code, message, tool_code, .. } = error_reply(&error, 1_000) else { unreachable!() };
        assert_eq!((code, message.as_str()), (-32602, "MCP_LSP_GATEWAY/CURSOR_STALE: m"));
        assert_eq!(tool_code, ErrorCode::CursorStale);
    }

    #[test]
    fn large_errors_keep_their_code_and_reason() {
        let error = ToolError::new(ErrorCode::Internal, "m".repeat(10_000))
            .with("reason", "timeout")
            .with("progress", "p".repeat(100_000));
        let text = data(&error, usize::MAX);
        assert!(text.len() <= MAX_ERROR_DATA_BYTES && text.contains(r#""details":{"reason":"timeout"}"#));
        assert_eq!(data(&error, 0), r#"{"code":"MCP_LSP_GATEWAY/INTERNAL"}"#);
    }

    #[test]
    fn an_unknown_tool_is_invalid_params_with_a_bounded_name() {
        let EncodedReply::Error { code, data, .. } = unknown_tool_reply(&unknown_tool(&"x".repeat(1_000))) else {
            unreachable!()
        };
        assert_eq!(code, -32602);
        assert!(data.len() < 400);
    }
}
