//! Encodes answers and errors as tool results (`docs/contract-agent.md#results`).
//!
//! Invariants: the text is the JSON of `metadata.result`, indented by 2, or a sentence; a list that was found by name only is followed by a
//! sentence that says so; all other notes are in `metadata`; a reply never exceeds its cap.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::EncodedReply;
use crate::dialect::error_reply;
use codeyard_base::budget::{BudgetExceeded, to_json_bounded};
use codeyard_model::answer::Answer;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::lsp_items::{LspAnswer, LspItems};

use super::sentence;

/// Encodes the outcome of a call as at most `cap` bytes of JSON.
pub(super) fn encode(result: Result<&Answer, &ToolError>, cap: usize) -> EncodedReply {
    match result {
        Ok(Answer::Lsp(answer)) => match write(answer, cap) {
            Ok(bytes) => EncodedReply::Result(bytes),
            Err(exceeded) => refusal(&too_large(&exceeded), cap),
        },
        // This catalog decodes no other query.
        Ok(_) => refusal(&ToolError::internal(), cap),
        Err(error) => refusal(error, cap),
    }
}

/// Encodes an error as a tool result, or as a JSON-RPC error if the tool result exceeds the cap.
fn refusal(error: &ToolError, cap: usize) -> EncodedReply {
    let written = refuse(error, cap).or_else(|exceeded| refuse(&too_large(&exceeded), cap));
    match written {
        Ok(result) => EncodedReply::Refusal { result, tool_code: error.code },
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
    result: Option<&'a LspItems>,
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

/// The error for programs: the code and the details.
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
        total: (!matches!(answer.found, LspItems::Hover(_))).then_some(answer.total),
        next_cursor: answer.next_cursor.as_deref(),
        hint: sentence::hint(answer),
        outside: notes.outside,
        passed_over: &notes.skipped_providers,
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
