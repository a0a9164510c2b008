//! Messages of the catalog `code`: the gateway's errors, and notes on omitted rows (`docs/internals/reference/contract-code.md#errors`).
//!
//! Invariant: every message names the next step.

use serde_json::Value;

use crate::arguments::HIDDEN_NAME;
use codeyard_model::code::{CodeError, CodeRefusal, DetailLevel, NextAction, ResultRows, ResultType, tools};
use codeyard_model::error::{ErrorCode, ToolError};

/// Translates `error` into an error of this catalog. The details stay in `data`.
pub(super) fn refusal(error: &ToolError) -> CodeRefusal {
    let reason = text(error, "reason");
    let (code, message) = match (error.code, reason) {
        (ErrorCode::InvalidParams, _) => (CodeError::InvalidInput, argument(error, reason)),
        (ErrorCode::CapExceeded, "overloaded") => (CodeError::Overloaded, "Too much is going on here.".to_owned()),
        (ErrorCode::CapExceeded, "audit_unavailable" | "quota_exceeded") => {
            (CodeError::Overloaded, sentence(&error.message))
        }
        (ErrorCode::CapExceeded, "timeout") => (CodeError::Timeout, timeout(error)),
        (ErrorCode::WorkspaceDenied, _)
            if ["setting", "operation"].iter().any(|key| error.details.contains_key(*key)) =>
        {
            (CodeError::WorkspaceNotAllowed, sentence(&error.message))
        }
        (code, _) => (code_of(code), sentence(&error.message)),
    };
    let mut refusal = CodeRefusal::new(code, message);
    for (key, value) in &error.details {
        refusal = refusal.with(if key == "path" { "argument" } else { key }, value.clone());
    }
    refusal
}

fn code_of(code: ErrorCode) -> CodeError {
    match code {
        ErrorCode::WorkspaceDenied => CodeError::ProjectNotFound,
        ErrorCode::NotFound => CodeError::FileNotFound,
        ErrorCode::ProviderUnavailable => CodeError::IndexNotReady,
        ErrorCode::Internal => CodeError::InternalError,
        ErrorCode::InvalidParams
        | ErrorCode::UriInvalid
        | ErrorCode::CursorInvalid
        | ErrorCode::CursorStale
        | ErrorCode::CursorExpired
        | ErrorCode::SnapshotTooLarge
        | ErrorCode::CapExceeded => CodeError::InvalidInput,
    }
}

fn argument(error: &ToolError, reason: &str) -> String {
    let name = text(error, "path");
    let allowed = text(error, "allowed");
    match (name, reason) {
        (_, "unknown_tool") => sentence(&error.message),
        ("", _) => "The arguments must be an object.".to_owned(),
        ("query", "language") => allowed.to_owned(),
        ("name", "missing" | "several") => format!("Give {allowed}."),
        (_, "missing") => format!("`{name}` is missing; it must be {allowed}."),
        (name, "unknown") if name.ends_with(HIDDEN_NAME) => {
            format!("An argument has an unknown name; {} takes {allowed}.", text(error, "tool"))
        }
        (_, "unknown") => format!("There is no argument `{name}`; {} takes {allowed}.", text(error, "tool")),
        (_, "duplicate") => format!("`{name}` is given twice; give it once."),
        (_, "needs_context") => format!("`{name}` goes with `detail_level` \"context\" only."),
        ("offset", "needs_mode") => "`offset` goes with `mode` \"text\" or \"regex\" only.".to_owned(),
        (_, "needs_mode") => format!("`{name}` is about lines and doesn't go with `mode` \"symbol\"."),
        _ => format!("`{name}` must be {allowed}."),
    }
}

fn timeout(error: &ToolError) -> String {
    match (text(error, "phase"), text(error, "progress")) {
        ("queued", "") => "The call waited for a free place until its time was up.".to_owned(),
        (_, "") => "The time was up before the answer was there; a narrower question may be answered.".to_owned(),
        (_, why) => sentence(why),
    }
}

/// `message` with a capital first and a full stop.
fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let rest = characters.as_str();
    let end = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{end}")
}

fn text<'e>(error: &'e ToolError, key: &str) -> &'e str {
    error.details.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The error if not even one row fits.
pub(super) fn nothing_fits(cap: usize) -> CodeRefusal {
    let message =
        "The answer doesn't fit into a response of this server. Ask with `detail_level` \"location\" or for one file.";
    CodeRefusal::new(CodeError::InvalidInput, message).with("reason", "response_too_large").with("limit", cap)
}

/// The warning that the answer only has the first `shown` rows, with a way to get the others.
pub(super) fn rows_left_out(found: &ResultRows, shown: usize) -> String {
    let narrower = if found.rows.first().is_some_and(|row| row.result_type == ResultType::Line) {
        "narrow the query, or ask with a smaller `context_lines`"
    } else if found.detail != DetailLevel::Location {
        "ask with `detail_level` \"location\", or with `compact`"
    } else {
        "narrow the query"
    };
    format!("Only {shown} of {} rows fit into the answer: {narrower}.", found.rows.len())
}

/// The call that returns the rows behind the first `shown`; `None` if the arguments of this call are unknown.
pub(super) fn narrower(found: &ResultRows, shown: usize) -> Option<NextAction> {
    let mut arguments = found.asked.arguments.clone();
    if arguments.is_empty() {
        return None;
    }
    let is_of_lines = found.rows.first().is_some_and(|row| row.result_type == ResultType::Line);
    let all = found.rows.len();
    let reason = if is_of_lines {
        let offset = arguments.get("offset").and_then(Value::as_u64).unwrap_or_default();
        arguments.insert("offset".into(), (offset + shown as u64).into());
        let mode = arguments.get("mode").and_then(Value::as_str);
        if !matches!(mode, Some("text" | "regex")) {
            arguments.insert("mode".into(), "text".into());
        }
        format!("only {shown} of {all} lines fit; these come next")
    } else if found.detail == DetailLevel::Context && !found.compact {
        arguments.insert("compact".into(), true.into());
        format!("only {shown} of {all} rows fit; without bodies there is room for more")
    } else if found.detail != DetailLevel::Location {
        arguments.insert("detail_level".into(), DetailLevel::Location.as_str().into());
        arguments.remove("confirm");
        format!("only {shown} of {all} rows fit; places alone take less room")
    } else {
        arguments.insert("limit".into(), shown.max(1).into());
        format!("only {shown} of {all} rows fit; name a language or paths for others")
    };
    Some(NextAction { tool: tools::SEARCH, arguments: arguments.into(), reason })
}

/// The warning that the answer only has the first symbols of an outline, with a way to get the others.
pub(super) fn symbols_left_out(shown: usize, total: usize, last_line: u32, is_top: bool) -> String {
    let top = if is_top { "" } else { "`depth` \"top\" lists what stands at the top; " };
    format!(
        "Only the first {shown} of {total} symbols are shown, up to line {last_line}: {top}`locate_symbol` finds the others by name."
    )
}

/// The warning that a list of `total` entries was truncated.
pub(super) fn list_cut(what: &str, shown: usize, total: usize) -> String {
    format!("Only the first {shown} of {total} {what} fit into the answer.")
}
