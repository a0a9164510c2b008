//! The gateway's errors in the words of this catalog, and what is said of rows that were left out.
//!
//! Invariant: every sentence says what to do.

use serde_json::Value;

use codeyard_model::code::{CodeError, DetailLevel, NextAction, Refusal, ResultType, Rows, tools};
use codeyard_model::error::{ErrorCode, ToolError};

/// `error` as this catalog says it. Details that the sentence repeats for people stay in `data` for programs.
pub(super) fn refusal(error: &ToolError) -> Refusal {
    let reason = text(error, "reason");
    let (code, message) = match (error.code, reason) {
        (ErrorCode::InvalidParams, _) => (CodeError::InvalidInput, argument(error, reason)),
        (ErrorCode::CapExceeded, "overloaded") => (CodeError::Overloaded, overloaded(error)),
        (ErrorCode::CapExceeded, "timeout") => (CodeError::Timeout, late(error)),
        (code, _) => (code_of(code), sentence(&error.message)),
    };
    let mut refusal = Refusal::new(code, message);
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
    let (name, allowed) = (text(error, "path"), text(error, "allowed"));
    match (name, reason) {
        (_, "unknown_tool") => sentence(&error.message),
        ("", _) => "The arguments must be an object.".to_owned(),
        ("name", "missing" | "several") => format!("Give {allowed}."),
        (_, "missing") => format!("`{name}` is missing; it must be {allowed}."),
        (_, "unknown") => format!("There is no argument `{name}`; {} takes {allowed}.", text(error, "tool")),
        (_, "duplicate") => format!("`{name}` is given twice; give it once."),
        (_, "needs_context") => format!("`{name}` goes with `detail_level` \"context\" only."),
        ("offset", "needs_mode") => "`offset` goes with `mode` \"text\" or \"regex\" only.".to_owned(),
        (_, "needs_mode") => format!("`{name}` is about lines and doesn't go with `mode` \"symbol\"."),
        _ => format!("`{name}` must be {allowed}."),
    }
}

fn overloaded(error: &ToolError) -> String {
    format!("Too much is going on here. Ask again in {} ms.", again_in(error))
}

fn late(error: &ToolError) -> String {
    let state = match text(error, "phase") {
        "queued" => "The call waited for a free place until its time was up.",
        _ => "The time was up before the answer was there.",
    };
    format!("{state} Ask again in {} ms, or ask a narrower question.", again_in(error))
}

fn again_in(error: &ToolError) -> u64 {
    error.details.get("retryAfterMs").and_then(Value::as_u64).unwrap_or(codeyard_model::limits::RETRY_AFTER_MS)
}

/// With a capital and a full stop.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>()).unwrap_or_default();
    let rest = letters.as_str();
    let end = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{end}")
}

fn text<'e>(error: &'e ToolError, key: &str) -> &'e str {
    error.details.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Not even one row fits.
pub(super) fn nothing_fits(cap: usize) -> Refusal {
    let message =
        "The answer doesn't fit into a response of this server. Ask with `detail_level` \"location\" or for one file.";
    Refusal::new(CodeError::InvalidInput, message).with("reason", "response_too_large").with("limit", cap)
}

/// That only the first `shown` rows of `found` are there, and how to get the others.
pub(super) fn rows_left_out(found: &Rows, shown: usize) -> String {
    let narrower = if found.rows.first().is_some_and(|row| row.result_type == ResultType::Line) {
        "narrow the query, or ask with a smaller `context_lines`"
    } else if found.detail != DetailLevel::Location {
        "ask with `detail_level` \"location\", or with `compact`"
    } else {
        "narrow the query"
    };
    format!("Only {shown} of {} rows fit into the answer: {narrower}.", found.rows.len())
}

/// The call that gives what was left out behind the first `shown` rows; none if it isn't known what was asked, or if no other call
/// would give more.
pub(super) fn narrower(found: &Rows, shown: usize) -> Option<NextAction> {
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

/// That only the first symbols of an outline are there, and how to get the others.
pub(super) fn symbols_left_out(shown: usize, total: usize, last_line: u32, is_top: bool) -> String {
    let top = if is_top { "" } else { "`depth` \"top\" lists what stands at the top; " };
    format!(
        "Only the first {shown} of {total} symbols are shown, up to line {last_line}: {top}`locate_symbol` finds the others by name."
    )
}

/// That a list of `total` entries was cut.
pub(super) fn list_cut(what: &str, shown: usize, total: usize) -> String {
    format!("Only the first {shown} of {total} {what} fit into the answer.")
}
