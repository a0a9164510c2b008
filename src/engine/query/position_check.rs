//! Errors for positions of the tool `lsp` that point at no identifier.
//!
//! A position directly behind a word, or outside the document, is refused before any server is asked. Any other position without a word is
//! an error only if nothing is found there.

use crate::query::identifiers::{self, CursorTarget};
use codeyard_base::blocking;
use codeyard_index::Language;
use codeyard_index::extract::is_no_name;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::operation::LspQuery;
use codeyard_model::position::Position;
use codeyard_model::uri::CanonicalUri;

/// Refuses a position directly behind a word, because a server would answer for that word. Also refuses a position outside the document.
///
/// # Errors
/// NOT_FOUND with the words of the line.
pub(crate) fn check_position(query: &LspQuery<CanonicalUri>, document: &DocumentInput) -> Result<(), ToolError> {
    let Some(position) = query.subject.position() else { return Ok(()) };
    let text = &document.source.document;
    let beyond_error = || line_error(BEYOND, document, position).with("lines", text.line_count());
    match text.line(position.line).map(|_| text.utf16_len(position.line)) {
        None => return Err(beyond_error()),
        Some(length) if position.character > length => return Err(beyond_error().with("length", length)),
        // Inside a character that takes two columns.
        Some(_) if text.check(position).is_none() => return Err(line_error(NO_WORD, document, position)),
        Some(_) => {}
    }
    match identifiers::cursor_target(text, position) {
        CursorTarget::BehindWord => Err(line_error(NO_WORD, document, position)),
        CursorTarget::Word | CursorTarget::Elsewhere => Ok(()),
    }
}

/// The error of a call that found nothing, if its position points at no word, or at one that isn't a name: a keyword or a number. Parses the
/// document on the blocking pool if the index knows its language.
pub(crate) async fn missing_identifier_error(
    query: &LspQuery<CanonicalUri>,
    document: &DocumentInput,
) -> Option<ToolError> {
    let position = query.subject.position()?;
    let text = document.source.document.clone();
    if identifiers::cursor_target(&text, position) != CursorTarget::Word {
        return Some(line_error(NO_WORD, document, position));
    }
    let first_line = text.line(0).unwrap_or_default().as_bytes();
    let language = Language::of_file(document.source.uri.as_str(), first_line).filter(|language| language.is_code())?;
    let mut at = text.offset(position);
    // The sign of a variable is no name by itself.
    at += usize::from(language.marks_variables() && text.text()[at..].starts_with('$'));
    let parse = move || is_no_name(language, text.text(), at);
    let is_keyword = blocking::spawn(parse).await.ok()?;
    is_keyword.then(|| line_error(NO_NAME, document, position).with("keyword", true))
}

/// Why a position is refused.
struct PositionError {
    /// In `details.reason`.
    reason: &'static str,
    message: &'static str,
}

/// A position beyond the document or its line.
const BEYOND: PositionError =
    PositionError { reason: "position_beyond", message: "the position lies beyond the document" };
/// A position without a word.
const NO_WORD: PositionError = PositionError {
    reason: "no_identifier",
    message: "there is no identifier at the position; details.identifiers lists those of the line",
};

/// A position at a keyword or a number.
const NO_NAME: PositionError = PositionError {
    reason: "no_identifier",
    message: "the word at the position is a keyword or a number, not a name; details.identifiers lists the words of the line",
};

/// An error that lists the words of the line. Lines and columns in the details count from 1, as in the arguments of the tool.
fn line_error(why: PositionError, document: &DocumentInput, position: Position) -> ToolError {
    let words = identifiers::words(&document.source.document, position.line);
    let words: Vec<serde_json::Value> =
        words.into_iter().map(|word| serde_json::json!({ "name": word.text, "character": word.column + 1 })).collect();
    ToolError::new(ErrorCode::NotFound, why.message)
        .with("reason", why.reason)
        .with("line", u64::from(position.line) + 1)
        .with("character", u64::from(position.character) + 1)
        .with("identifiers", words)
}
