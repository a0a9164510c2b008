//! The sentences of the tool `lsp`: those of `docs/internals/reference/contract-agent.md#errors`.
//!
//! Invariant: "No results found" occurs in answers only, never in an error.

use serde_json::Value;

use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::{MAX_PAGE_CHARS, MIN_PAGE_CHARS};
use codeyard_model::lsp_items::LspAnswer;
use codeyard_model::next_steps::with_next_steps;
use codeyard_model::operation::{LspFormat, Operation, OperationInput};

/// Longest text of an error of the tool `lsp`, in code points. It may have a path of the caller and the identifiers of a line.
const MAX_ERROR_TEXT_CHARS: usize = 6_000;

/// The contract's sentence for a file without a language server.
const NO_SERVER: &str = "No LSP server available for this file type.";

/// The text of an empty answer: the contract's sentence, and on a second line those about what may be missing.
pub(super) fn nothing_found(answer: &LspAnswer) -> String {
    let said = format!("No results found for {}", answer.operation.as_str());
    match answer.sentences() {
        Some(more) => format!("{said}\n{more}"),
        None => said,
    }
}

/// The text of an error, with its next steps.
pub(super) fn of_error(error: &ToolError) -> String {
    with_next_steps(&problem(error), &error.details, MAX_ERROR_TEXT_CHARS)
}

/// What is wrong.
fn problem(error: &ToolError) -> String {
    let reason = text(error, "reason").unwrap_or_default();
    match (error.code, reason) {
        (ErrorCode::InvalidParams, _) => argument_error(error, reason),
        (ErrorCode::NotFound, "position_beyond") => position_beyond(error),
        (ErrorCode::NotFound, "no_identifier") => no_identifier(error),
        (ErrorCode::NotFound, _) => match text(error, "path") {
            Some(path) => format!("File not found: {path}"),
            None => sentence(&error.message),
        },
        (ErrorCode::WorkspaceDenied, "") if text(error, "operation").is_none() => {
            "The path lies outside the allowed roots of this workspace.".to_owned()
        }
        (ErrorCode::ProviderUnavailable, "no_server") => NO_SERVER.to_owned(),
        (ErrorCode::ProviderUnavailable, "not_installed" | "restricted") => {
            format!("{NO_SERVER} {}", sentence(&error.message))
        }
        (ErrorCode::ProviderUnavailable, "unsupported") => unsupported(error),
        (ErrorCode::CapExceeded, "timeout") => not_ready(error),
        (ErrorCode::CapExceeded, "document_too_large") => {
            format!("The file is larger than the {} bytes up to which files are read.", number(error, "limit"))
        }
        _ => sentence(&error.message),
    }
}

fn argument_error(error: &ToolError, reason: &str) -> String {
    let path = text(error, "path").unwrap_or_default();
    let operation = text(error, "operation").and_then(Operation::parse);
    let all = || Operation::ALL.map(Operation::as_str).join(", ");
    let needs = operation.map(|operation| {
        let what = match operation.input() {
            OperationInput::Position => {
                "filePath, line and character, the last two counted from 1 as editors show them"
            }
            OperationInput::File => "filePath",
            OperationInput::Name => "query, the name or a part of it",
        };
        format!(" {} needs {what}.", operation.as_str())
    });
    let what = match (path, reason) {
        ("operation", "missing" | "unknown_operation" | "type") => {
            return format!("`operation` must be one of {}.", all());
        }
        ("", "type") => return "The arguments must be an object.".to_owned(),
        (_, "missing") => format!("`{path}` is missing."),
        (_, "duplicate") => format!("`{path}` is given twice."),
        ("pageChars", "range" | "type") => {
            format!("`pageChars` must be an integer from {MIN_PAGE_CHARS} to {MAX_PAGE_CHARS}.")
        }
        ("format", "unknown_format" | "type") => {
            format!("`format` must be one of {}.", LspFormat::ALL.map(LspFormat::as_str).join(", "))
        }
        (_, "range") => format!("`{path}` is out of range: it counts from 1 and fits into 32 bits."),
        (_, "empty") => format!("`{path}` must not be empty."),
        (_, "type") => format!("`{path}` has the wrong type."),
        _ => sentence(&error.message),
    };
    format!("{what}{}", needs.unwrap_or_default())
}

fn position_beyond(error: &ToolError) -> String {
    let line = number(error, "line");
    let lines = number(error, "lines");
    match error.details.get("length").and_then(Value::as_u64) {
        Some(length) => format!(
            "Character {} lies beyond line {line}, which has {length}.{}",
            number(error, "character"),
            identifiers(error)
        ),
        None => format!("Line {line} lies beyond the file, which has {lines} lines."),
    }
}

fn no_identifier(error: &ToolError) -> String {
    let line = number(error, "line");
    let character = number(error, "character");
    let what = match error.details.contains_key("keyword") {
        true => format!("The word at {line}:{character} is a keyword or a number, not a name."),
        false => format!("There is no identifier at {line}:{character}."),
    };
    format!("{what}{}", identifiers(error))
}

/// The identifiers of the line with their columns, counted from 1.
fn identifiers(error: &ToolError) -> String {
    let words = error.details.get("identifiers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let listed: Vec<String> = words
        .iter()
        .filter_map(|word| Some(format!("{} at {}", word.get("name")?.as_str()?, word.get("character")?)))
        .collect();
    let line = number(error, "line");
    match listed.is_empty() {
        true => format!(" Line {line} has none; documentSymbol lists what the file declares."),
        false => format!(" On line {line}: {}.", listed.join(", ")),
    }
}

fn unsupported(error: &ToolError) -> String {
    let operation = text(error, "operation").unwrap_or("this operation");
    let server = text(error, "server").map(|server| format!(" ({server} doesn't)")).unwrap_or_default();
    let offered = error.details.get("offeredBy").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let offered: Vec<&str> = offered.iter().filter_map(Value::as_str).collect();
    let next = match offered.first() {
        Some(_) => format!(" {} would.", offered.join(" or ")),
        None => " No language server that codeyard knows for it would.".to_owned(),
    };
    format!("No LSP server here offers {operation} for this file type{server}.{next}")
}

fn not_ready(error: &ToolError) -> String {
    let progress = text(error, "progress").map(|progress| format!(" ({progress})")).unwrap_or_default();
    let state = match text(error, "phase") {
        Some("starting") => "The language server is not ready: it is still starting",
        Some("indexing") => "The language server is not ready: it is still indexing the workspace",
        Some("queued") => "The call waited for a free place until its time was up",
        _ => "The language server did not answer in time",
    };
    format!("{state}{progress}.")
}

/// `message` with a capital first and a full stop.
fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let rest = characters.as_str();
    let end = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{end}")
}

fn text<'e>(error: &'e ToolError, key: &str) -> Option<&'e str> {
    error.details.get(key).and_then(Value::as_str)
}

fn number(error: &ToolError, key: &str) -> u64 {
    error.details.get(key).and_then(Value::as_u64).unwrap_or_default()
}
