//! Encodes answers and errors as tool results (`docs/internals/reference/contract-agent.md#results`).
//!
//! Invariants: the text is `metadata.result` (JSON indented by 2, or compact lines) or a sentence; what the text says above and below the result
//! also is in `metadata.hint`, and the text of an error in `metadata.error.message`, because many hosts show only one of the two; a reply never
//! exceeds its cap.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::EncodedReply;
use crate::dialect::error_reply;
use codeyard_base::budget::{BudgetExceeded, to_json_bounded};
use codeyard_model::answer::{Answer, AnswerNotes};
use codeyard_model::compact;
use codeyard_model::coverage::{Hidden, ServerCoverage};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::index_disagreement::IndexDisagreement;
use codeyard_model::lsp_items::{LspAnswer, LspItems};
use codeyard_model::operation::LspFormat;

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
    result: Option<Shown<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    partial: Vec<PartialEntry<'a>>,
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

/// The entries of a page, as its format shows them.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Json(&'a LspItems),
    Compact(&'a str),
}

/// What may be missing from a result.
#[derive(Serialize)]
#[serde(untagged)]
enum PartialEntry<'a> {
    View(PartialView<'a>),
    /// A server that failed, so nothing of it is in the result.
    Failed {
        server: &'a str,
        unavailable: &'a str,
    },
    /// What the code index has that the result lacks.
    Unlisted {
        name: &'a str,
        #[serde(rename = "unlistedFiles", skip_serializing_if = "is_zero")]
        files: usize,
        #[serde(rename = "unlistedDefinitions", skip_serializing_if = "is_zero")]
        definitions: usize,
        reason: String,
    },
}

impl<'a> From<&'a IndexDisagreement> for PartialEntry<'a> {
    fn from(disagreement: &'a IndexDisagreement) -> Self {
        let (files, definitions) = match disagreement {
            IndexDisagreement::UsedElsewhere(places) => (places.count, 0),
            IndexDisagreement::DefinedElsewhere(places) | IndexDisagreement::UnlistedMacros(places) => {
                (0, places.count)
            }
        };
        Self::Unlisted { name: &disagreement.places().name, files, definitions, reason: disagreement.sentence() }
    }
}

/// Reasons of servers that offer the operation and may be back later, and of those that would have to be asked too.
const FAILED: [&str; 8] =
    ["crashed", "indexing", "overloaded", "quarantined", "server_error", "starting", "timeout", "uncovered"];

fn partial(notes: &AnswerNotes, is_empty: bool) -> Vec<PartialEntry<'_>> {
    let least = notes.known_files.least_hidden(is_empty);
    let views =
        notes.known_files.partial(is_empty).map(|coverage| PartialEntry::View(PartialView::of(coverage, least)));
    let skipped = notes.skipped_providers.iter().filter_map(|provider| provider.split_once(": "));
    let failed = skipped.filter(|(_, reason)| FAILED.contains(reason));
    let failed = failed.map(|(server, unavailable)| PartialEntry::Failed { server, unavailable });
    views.chain(failed).chain(notes.disagreement.as_ref().map(PartialEntry::from)).collect()
}

/// A server and project with a partial view (`docs/internals/reference/contract-agent.md#partial-views`).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartialView<'a> {
    server: &'a str,
    project: &'a str,
    project_file: &'static str,
    files: usize,
    /// `null`: unknown.
    known_files: Option<usize>,
    #[serde(skip_serializing_if = "is_zero")]
    unresolved_imports: usize,
    #[serde(skip_serializing_if = "is_zero")]
    undecided_places: usize,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl<'a> PartialView<'a> {
    fn of(coverage: &'a ServerCoverage, least: Hidden) -> Self {
        // A complete view is listed only because of its imports.
        let (reason, remedy) = match coverage.is_partial() {
            true => (coverage.reason.clone(), coverage.remedy.clone()),
            false if coverage.undecided.is_some() => (coverage.undecided_sentence().unwrap_or_default(), None),
            false => {
                let mut unresolved = coverage.unresolved_that_hide(least);
                let command = unresolved.find_map(|cause| cause.command.as_ref());
                (coverage.unresolved_reason(least), command.map(|command| format!("run `{command}`")))
            }
        };
        Self {
            server: coverage.server.as_str(),
            project: &coverage.project,
            project_file: coverage.source.as_str(),
            files: coverage.files,
            known_files: coverage.known,
            unresolved_imports: coverage.unresolved_that_hide(least).map(|cause| cause.names).sum(),
            undecided_places: coverage.undecided.as_ref().map_or(0, |undecided| undecided.places),
            reason,
            remedy,
        }
    }
}

/// The error for programs: the code and the details.
#[derive(Serialize)]
struct ErrorBody<'a> {
    code: &'static str,
    /// The text of the reply.
    message: &'a str,
    #[serde(flatten)]
    details: &'a Map<String, Value>,
}

fn write(answer: &LspAnswer, cap: usize) -> Result<Vec<u8>, BudgetExceeded> {
    let notes = &answer.notes;
    let lines = match answer.style.format {
        // Every value here serialises.
        LspFormat::Json => serde_json::to_string_pretty(&answer.found).unwrap_or_default(),
        LspFormat::Compact => compact::text(&answer.found, &answer.paths),
    };
    let hint = match answer.is_nothing() {
        true => Some(sentence::nothing_found(answer)),
        false => answer.sentences(),
    };
    let text = match &hint {
        Some(hint) if answer.is_nothing() => hint.clone(),
        _ => {
            let page = Some(lines.clone()).filter(|lines| !lines.is_empty());
            let parts: Vec<String> = [answer.above(), page, answer.below()].into_iter().flatten().collect();
            parts.join("\n\n")
        }
    };
    let result = match answer.style.format {
        LspFormat::Json => Shown::Json(&answer.found),
        LspFormat::Compact => Shown::Compact(&lines),
    };
    let metadata = Metadata {
        result: Some(result),
        total: (!matches!(answer.found, LspItems::Hover(_))).then_some(answer.total),
        next_cursor: answer.next_cursor.as_deref(),
        hint,
        partial: partial(notes, answer.is_nothing()),
        outside: notes.outside,
        passed_over: &notes.skipped_providers,
        by_name: &notes.by_name,
        truncated: notes.truncated,
        error: None,
    };
    let structured_content = Structured { title: Some(&answer.title), metadata };
    envelope(false, structured_content, &text, cap)
}

fn refuse(error: &ToolError, cap: usize) -> Result<Vec<u8>, BudgetExceeded> {
    let text = sentence::of_error(error);
    let body = ErrorBody { code: error.code.as_str(), message: &text, details: &error.details };
    let metadata = Metadata { error: Some(body), ..Metadata::default() };
    envelope(true, Structured { title: None, metadata }, &text, cap)
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
