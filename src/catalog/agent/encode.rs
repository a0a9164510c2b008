//! Answers and errors as tool results: the contract's `title`, `metadata` and `output`.
//!
//! Invariants: `output` is the JSON of `metadata.result`, indented by 2, or a sentence; below a list that was found by name only,
//! that is said; what else there is to say about a result
//! stands in `metadata`; a reply never exceeds its cap.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::Reply;
use crate::dialect::error_reply;
use codeyard_base::budget::{BudgetExceeded, to_json_bounded};
use codeyard_model::answer::Answer;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::found::{Found, LspAnswer};

use super::sentence;

/// The reply whose own JSON text is at most `cap` bytes long.
pub(super) fn encode(result: Result<&Answer, &ToolError>, cap: usize) -> Reply {
    match result {
        Ok(Answer::Lsp(answer)) => match write(answer, cap) {
            Ok(bytes) => Reply::Result(bytes),
            Err(exceeded) => refusal(&too_large(&exceeded), cap),
        },
        // No other question is decoded here.
        Ok(_) => refusal(&ToolError::internal(), cap),
        Err(error) => refusal(error, cap),
    }
}

/// An error as a tool result; in the gateway's form where even that has no room.
fn refusal(error: &ToolError, cap: usize) -> Reply {
    let written = refuse(error, cap).or_else(|exceeded| refuse(&too_large(&exceeded), cap));
    match written {
        Ok(result) => Reply::Refusal { result, tool_code: error.code },
        Err(_) => error_reply(error, cap),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    is_error: bool,
    structured_content: Structured<'a>,
    content: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Structured<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Found>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    outside: usize,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    passed_over: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    by_name: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody<'a>>,
}

/// What a program needs of an error.
#[derive(Serialize)]
struct ErrorBody<'a> {
    code: &'static str,
    #[serde(flatten)]
    details: &'a Map<String, Value>,
}

fn write(answer: &LspAnswer, cap: usize) -> Result<Vec<u8>, BudgetExceeded> {
    let notes = &answer.notes;
    let output = match answer.found.is_empty() && answer.total == 0 {
        true => sentence::nothing_found(answer),
        // Every value here serialises.
        false => {
            let list = serde_json::to_string_pretty(&answer.found).unwrap_or_default();
            match notes.by_name_sentence() {
                Some(sentence) => format!("{list}\n\n{sentence}"),
                None => list,
            }
        }
    };
    let metadata = Metadata {
        result: Some(&answer.found),
        total: (!matches!(answer.found, Found::Hover(_))).then_some(answer.total),
        next_cursor: answer.next_cursor.as_deref(),
        hint: sentence::hint(answer),
        outside: notes.outside,
        passed_over: &notes.passed_over,
        by_name: &notes.by_name,
        truncated: notes.truncated,
        error: None,
    };
    let structured_content = Structured { title: Some(&answer.title), metadata };
    envelope(false, structured_content, &output, cap)
}

fn refuse(error: &ToolError, cap: usize) -> Result<Vec<u8>, BudgetExceeded> {
    let body = ErrorBody { code: error.code.as_str(), details: &error.details };
    let metadata = Metadata { error: Some(body), ..Metadata::default() };
    envelope(true, Structured { title: None, metadata }, &sentence::of_error(error), cap)
}

fn envelope(
    is_error: bool,
    structured_content: Structured<'_>,
    text: &str,
    cap: usize,
) -> Result<Vec<u8>, BudgetExceeded> {
    to_json_bounded(&Envelope { is_error, structured_content, content: [Text { kind: "text", text }] }, cap)
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn too_large(exceeded: &BudgetExceeded) -> ToolError {
    ToolError::new(ErrorCode::CapExceeded, "the answer exceeds the response cap; ask a narrower question")
        .with("reason", "response_too_large")
        .with("limit", exceeded.cap)
}
