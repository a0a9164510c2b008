//! Positions of the tool `lsp` that point at no identifier: refused before, or explained after nothing was found.

use crate::query::identifiers::{self, CursorTarget};
use crate::server::document::DocumentInput;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::operation::LspQuery;
use codeyard_model::position::Position;
use codeyard_model::uri::CanonicalUri;

/// Refuses a position that points at no word but lies right behind one: a server would answer for that word, which isn't what was
/// pointed at. Also one that lies beyond the text.
///
/// # Errors
/// NOT_FOUND with the words of the line.
pub(crate) fn check_position(asked: &LspQuery<CanonicalUri>, document: &DocumentInput) -> Result<(), ToolError> {
    let Some(position) = asked.subject.position() else { return Ok(()) };
    let text = &document.source.document;
    let beyond = || about_line(BEYOND, document, position).with("lines", text.line_count());
    match text.line(position.line).map(|_| text.utf16_len(position.line)) {
        None => return Err(beyond()),
        Some(length) if position.character > length => return Err(beyond().with("length", length)),
        // In the middle of a letter that takes two columns.
        Some(_) if text.check(position).is_none() => return Err(about_line(NO_WORD, document, position)),
        Some(_) => {}
    }
    match identifiers::cursor_target(text, position) {
        CursorTarget::BehindWord => Err(about_line(NO_WORD, document, position)),
        CursorTarget::Word | CursorTarget::Elsewhere => Ok(()),
    }
}

/// The error of a call that found nothing at a place where there is no word; `None` if it points at one.
pub(crate) fn nothing_there(asked: &LspQuery<CanonicalUri>, document: &DocumentInput) -> Option<ToolError> {
    let position = asked.subject.position()?;
    let points_at_word = identifiers::cursor_target(&document.source.document, position) == CursorTarget::Word;
    (!points_at_word).then(|| about_line(NO_WORD, document, position))
}

/// `details.reason` of a position beyond the document or its line.
const BEYOND: (&str, &str) = ("position_beyond", "the position lies beyond the document");
/// `details.reason` of a position without a word.
const NO_WORD: (&str, &str) =
    ("no_identifier", "there is no identifier at the position; details.identifiers lists those of the line");

/// Line and columns in the details count from 1, as the tool's callers do.
fn about_line((reason, message): (&str, &str), document: &DocumentInput, position: Position) -> ToolError {
    let words = identifiers::words(&document.source.document, position.line);
    let words: Vec<serde_json::Value> =
        words.into_iter().map(|word| serde_json::json!({ "name": word.text, "character": word.column + 1 })).collect();
    ToolError::new(ErrorCode::NotFound, message)
        .with("reason", reason)
        .with("line", u64::from(position.line) + 1)
        .with("character", u64::from(position.character) + 1)
        .with("identifiers", words)
}
