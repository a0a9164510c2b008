//! The sentences of the tool `lsp`: those of `docs/contract-agent.md#errors`, and hints for the next call.
//!
//! Invariant: "No results found" occurs in answers only, never in an error.

use serde_json::Value;

use crate::arguments::HIDDEN_NAME;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::lsp_items::{LspAnswer, LspItems};
use codeyard_model::operation::{Operation, OperationInput};

/// The contract's sentence for a file without a language server.
const NO_SERVER: &str = "No LSP server available for this file type.";

/// The text of an empty answer. Notes follow on a second line.
pub(super) fn nothing_found(answer: &LspAnswer) -> String {
    let mut text = format!("No results found for {}", answer.operation.as_str());
    let notes = &answer.notes;
    let outside = match notes.outside {
        0 => None,
        1 => Some("1 result outside the allowed roots was left out.".to_owned()),
        several => Some(format!("{several} results outside the allowed roots were left out.")),
    };
    let passed_over = (!notes.skipped_providers.is_empty())
        .then(|| format!("Not answered by every language server: {}.", notes.skipped_providers.join(", ")));
    let partial = notes.known_files.sentences(true);
    let more: Vec<String> = [outside, passed_over, notes.by_name_sentence(), partial].into_iter().flatten().collect();
    if !more.is_empty() {
        text.push('\n');
        text.push_str(&more.join(" "));
    }
    text
}

/// A hint for a page that isn't the last, for a truncated result, for escapes, and for a result that stands on a part of the files.
pub(super) fn hint(answer: &LspAnswer) -> Option<String> {
    let is_empty = answer.found.is_empty() && answer.total == 0;
    let page = page_hint(answer);
    let notes = [answer.notes.escaped_sentence(), answer.notes.known_files.sentences(is_empty)];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    match page {
        Some(page) if notes.is_empty() => Some(page),
        Some(page) => Some(format!("{page}. {}", notes.join(" "))),
        None => (!notes.is_empty()).then(|| notes.join(" ")),
    }
}

/// How to get the rest of a list, or less of it.
fn page_hint(answer: &LspAnswer) -> Option<String> {
    let narrower = match answer.operation {
        Operation::FindReferences => "or ask incomingCalls for the callers alone",
        Operation::WorkspaceSymbol => "or ask for more of the name",
        Operation::DocumentSymbol => "or ask workspaceSymbol for one name",
        _ => "or ask at a more specific symbol",
    };
    match (&answer.next_cursor, answer.notes.truncated, &answer.found) {
        (Some(_), is_cut, _) => Some(format!(
            "{} of {} here{}; pass nextCursor back as cursor for the next ones, {narrower}",
            answer.found.len(),
            answer.total,
            if is_cut { ", the best of still more" } else { "" }
        )),
        (None, true, LspItems::Symbols(_)) => {
            Some("only the best matches are listed; ask for more of the name".to_owned())
        }
        (None, true, _) => Some("the text was cut".to_owned()),
        (None, false, _) => None,
    }
}

/// The text of an error.
pub(super) fn of_error(error: &ToolError) -> String {
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
            format!("{NO_SERVER} {}", with_command(&error.message, error))
        }
        (ErrorCode::ProviderUnavailable, "unsupported") => unsupported(error),
        (ErrorCode::ProviderUnavailable, _) => with_command(&error.message, error),
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
        (path, "unknown") if path.ends_with(HIDDEN_NAME) => {
            "An argument has an unknown name; there are operation, filePath, line, character, query and cursor."
                .to_owned()
        }
        (_, "unknown") => {
            format!("There is no argument `{path}`; there are operation, filePath, line, character, query and cursor.")
        }
        (_, "duplicate") => format!("`{path}` is given twice."),
        (_, "range") => format!("`{path}` is out of range: it counts from 1 and fits into 32 bits."),
        (_, "empty") => format!("`{path}` must not be empty."),
        (_, "type") => format!("`{path}` has the wrong type."),
        _ => sentence(&error.message),
    };
    format!("{what}{}", needs.unwrap_or_default())
}

fn position_beyond(error: &ToolError) -> String {
    let (line, lines) = (number(error, "line"), number(error, "lines"));
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
    let (line, character) = (number(error, "line"), number(error, "character"));
    format!("There is no identifier at {line}:{character}.{}", identifiers(error))
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
        Some(first) => format!(" {} would: `codeyard servers install {first}`.", offered.join(" or ")),
        None => " No language server that codeyard knows for it would: `codeyard servers list`.".to_owned(),
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
    let seconds = error.details.get("retryAfterMs").and_then(Value::as_u64).unwrap_or(1_000).div_ceil(1_000);
    format!("{state}{progress}. Ask again in {seconds} s.")
}

fn with_command(message: &str, error: &ToolError) -> String {
    let problem = sentence(message);
    match text(error, "command") {
        Some(command) => format!("{problem} Next: `{command}`."),
        None => problem,
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

fn text<'e>(error: &'e ToolError, key: &str) -> Option<&'e str> {
    error.details.get(key).and_then(Value::as_str)
}

fn number(error: &ToolError, key: &str) -> u64 {
    error.details.get(key).and_then(Value::as_u64).unwrap_or_default()
}
