//! From a call's outcome to its reply and its telemetry record (row 12 of `docs/internals/architecture.md`).
//!
//! Invariant: a reply stays below the response cap of the tool's policy by the size of the JSON-RPC envelope.

use bytes::Bytes;

use super::service::{Operation, ShedBy, ToolReply};
use crate::limits::RESPONSE_ENVELOPE_BYTES;
use codeyard_catalog::{CallPolicy, Catalog, EncodedReply};
use codeyard_model::answer::Answer;
use codeyard_model::code::CodeAnswer;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::launch::LaunchAnswer;
use codeyard_telemetry::OpenCall;

/// When to ask again after an audit line couldn't be written, in milliseconds.
const UNAUDITED_RETRY_MS: u64 = 1_000;

/// Encodes the outcome of a call with `catalog`.
pub(super) fn encode(catalog: &dyn Catalog, result: Result<&Answer, &ToolError>, policy: &CallPolicy) -> ToolReply {
    let cap = policy.max_response_bytes.saturating_sub(RESPONSE_ENVELOPE_BYTES);
    let reply = to_tool_reply(catalog.encode(result, cap));
    match result {
        Ok(_) => reply,
        Err(error) => with_shed(reply, error),
    }
}

/// The reply to a call that failed, with why it was turned away for now, if it was.
pub(super) fn with_shed(mut reply: ToolReply, error: &ToolError) -> ToolReply {
    if let ToolReply::Error { retry_after_ms, shed, .. } | ToolReply::Refusal { retry_after_ms, shed, .. } = &mut reply
    {
        *retry_after_ms = error.details.get("retryAfterMs").and_then(serde_json::Value::as_u64);
        let reason = error.details.get("reason").and_then(serde_json::Value::as_str);
        *shed = match reason {
            Some("overloaded") => Some(ShedBy::Overload),
            Some("quota_exceeded") => Some(ShedBy::Quota),
            Some("insufficient_scope") => {
                let operation = error.details.get("operation").and_then(serde_json::Value::as_str);
                operation.and_then(Operation::parse).map(ShedBy::Scope)
            }
            _ => None,
        };
    }
    reply
}

/// The reply of a catalog as transports take it, without a retry hint.
pub(super) fn to_tool_reply(reply: EncodedReply) -> ToolReply {
    match reply {
        EncodedReply::Result(json) => ToolReply::Result(Bytes::from(json)),
        EncodedReply::Refusal { result, .. } => {
            ToolReply::Refusal { result: Bytes::from(result), retry_after_ms: None, shed: None }
        }
        EncodedReply::Error { code, message, data, .. } => {
            ToolReply::Error { code, message, data: Some(Bytes::from(data)), retry_after_ms: None, shed: None }
        }
    }
}

/// The error of a call that can't be recorded in the audit log.
pub(super) fn unaudited(policy: &CallPolicy) -> ToolError {
    policy.outcomes.overloaded.apply(ToolError::audit_unavailable(UNAUDITED_RETRY_MS))
}

/// Closes the record of a call whose result asks a person for permission. Returns whether the result may be given.
pub(super) fn close_requested(open: OpenCall, reply: &ToolReply) -> bool {
    let (bytes, rpc_code, _) = summary(reply);
    open.end(Ok(()), codeyard_telemetry::CallReply { bytes, rpc_code, ..codeyard_telemetry::CallReply::default() })
}

/// Closes the record of a call that failed before it ran.
pub(super) fn close_failed(open: OpenCall, error: &ToolError, reply: &ToolReply) {
    let (bytes, rpc_code, _) = summary(reply);
    let reply = codeyard_telemetry::CallReply { bytes, rpc_code, ..codeyard_telemetry::CallReply::default() };
    // The error shows nothing of the workspace, so it may be given without a line.
    let _ = open.end(Err(error), reply);
}

/// Closes the record of a call. An answer that exceeded the response cap is recorded as the error that was sent. Returns whether the reply
/// may be given.
pub(super) fn close(
    open: OpenCall,
    result: Result<&Answer, &ToolError>,
    policy: &CallPolicy,
    reply: &ToolReply,
) -> bool {
    let (bytes, rpc_code, is_failure) = summary(reply);
    let too_large;
    let refused;
    let (outcome, counts) = match result {
        Ok(Answer::Code(CodeAnswer::Refused(refusal))) => {
            refused = ToolError::new(refusal.code.tool_code(), "").with("reason", refusal.code.as_str());
            (Err(&refused), None)
        }
        Ok(Answer::Launch(LaunchAnswer::Refused(refusal))) => {
            let reason = refusal.code.to_ascii_lowercase();
            refused = ToolError::new(launch_error_code(refusal.code), "").with("reason", reason);
            (Err(&refused), None)
        }
        Ok(_) if is_failure => {
            too_large = ToolError::new(policy.outcomes.too_large.code, "").with("reason", "response_too_large");
            (Err(&too_large), None)
        }
        Ok(answer) => (Ok(()), count(answer)),
        Err(error) => (Err(error), None),
    };
    let is_cut = counts.is_some_and(|(items, total, is_paged)| items < total && !is_paged);
    let items = counts.map(|(items, total, _)| (items, total));
    open.end(outcome, codeyard_telemetry::CallReply { bytes, rpc_code, items, is_cut })
}

/// The bytes of a reply, its JSON-RPC error number, and whether it is a failure.
fn summary(reply: &ToolReply) -> (usize, Option<i32>, bool) {
    let (rpc_code, is_failure) = match reply {
        ToolReply::Result(_) | ToolReply::InputRequired(_) => (None, false),
        ToolReply::Refusal { .. } => (None, true),
        ToolReply::Error { code, .. } => (Some(*code), true),
    };
    (reply.bytes(), rpc_code, is_failure)
}

/// The number of entries in an answer, the number in the whole list, and whether the list is paged.
fn count(answer: &Answer) -> Option<(usize, usize, bool)> {
    Some(match answer {
        Answer::Definition(list) => (list.items.len(), list.total, false),
        Answer::References(page) => (page.items.len(), page.total, true),
        Answer::Hover(..) | Answer::Declarations(..) => return None,
        Answer::DocumentSymbols(list) => (list.items.len(), list.total, false),
        Answer::WorkspaceSymbols(page) => (page.items.len(), page.total, true),
        Answer::DocumentDiagnostics(_, list) => (list.items.len(), list.total, false),
        Answer::WorkspaceDiagnostics(page) => (page.items.len(), page.total, true),
        Answer::Lsp(answer) => (answer.found.len(), answer.total, true),
        Answer::Code(CodeAnswer::Rows(found)) => (found.rows.len(), found.total, true),
        Answer::Code(_) | Answer::Launch(_) => return None,
    })
}

/// What a code of the launch contract counts as in telemetry.
fn launch_error_code(code: &str) -> ErrorCode {
    match code {
        "INVALID_INPUT" | "SCHEMA_VALIDATION_FAILED" | "INVALID_URL" | "UNSUPPORTED_SITE" | "ILLEGAL_STATE" => {
            ErrorCode::InvalidParams
        }
        "RUN_NOT_FOUND" | "REPO_NOT_FOUND" => ErrorCode::NotFound,
        "ALLOWED_PATHS_VIOLATION" => ErrorCode::WorkspaceDenied,
        "CANCELLED" | "TOOLCHAIN_MISSING" | "COMMIT_SERVICE_ERROR" => ErrorCode::ProviderUnavailable,
        "FIX_EXHAUSTED" => ErrorCode::CapExceeded,
        _ => ErrorCode::Internal,
    }
}
