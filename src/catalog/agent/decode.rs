//! Decodes the arguments of the tool `lsp`.
//!
//! Invariants: an argument that the operation doesn't need is accepted and ignored (`docs/contract-agent.md#operations`); a missing or
//! wrong argument is an error that names the operation and the argument.

use serde_json::value::RawValue;

use crate::PageSizes;
use crate::arguments::Arguments;
use codeyard_model::error::ToolError;
use codeyard_model::limits::{MAX_PAGE_CHARS, MIN_PAGE_CHARS};
use codeyard_model::operation::{LspFormat, LspQuery, Operation, OperationInput, PageStyle, QuerySubject};
use codeyard_model::position::Position;
use codeyard_model::query::{PageRequest, Query};

/// The names of the arguments.
pub(super) const MEMBERS: [&str; 9] =
    ["operation", "filePath", "line", "character", "query", "cursor", "format", "preview", "pageChars"];

/// Decodes `arguments`.
///
/// # Errors
/// INVALID_PARAMS with `details.path` and `details.reason`, and `details.operation` if it is known.
pub(super) fn decode(arguments: Option<&RawValue>, sizes: PageSizes) -> Result<Query<String>, ToolError> {
    let given = Arguments::read(arguments, &MEMBERS)?;
    let operation = given.text("operation")?;
    let operation = Operation::parse(&operation).ok_or_else(|| given.rejected("operation", "unknown_operation"))?;
    let named = |error: ToolError| error.with("operation", operation.as_str());
    let subject = subject(&given, operation.input()).map_err(named)?;
    let cursor = given.optional_text("cursor").map_err(named)?;
    let style = style(&given, operation, sizes).map_err(named)?;
    Ok(Query::Lsp(LspQuery { operation, subject, page: PageRequest { size: sizes.entries, cursor }, style }))
}

fn style(given: &Arguments<'_>, operation: Operation, sizes: PageSizes) -> Result<PageStyle, ToolError> {
    let format = match given.text_if_given("format")? {
        Some(name) => LspFormat::parse(&name).ok_or_else(|| given.rejected("format", "unknown_format"))?,
        None => LspFormat::Json,
    };
    let preview = given.flag("preview", format == LspFormat::Compact || operation.has_preview())?;
    let chars = given.integer("pageChars", MIN_PAGE_CHARS..=MAX_PAGE_CHARS)?.unwrap_or(sizes.chars);
    Ok(PageStyle { format, preview, chars })
}

fn subject(given: &Arguments<'_>, needs: OperationInput) -> Result<QuerySubject<String>, ToolError> {
    Ok(match needs {
        OperationInput::Position => {
            let file = file(given)?;
            let position = Position { line: from_one(given, "line")?, character: from_one(given, "character")? };
            QuerySubject::At(file, position)
        }
        OperationInput::File => QuerySubject::File(file(given)?),
        OperationInput::Name => QuerySubject::Name(not_blank(given, "query")?.trim().to_owned()),
    })
}

fn file(given: &Arguments<'_>) -> Result<String, ToolError> {
    not_blank(given, "filePath")
}

fn not_blank(given: &Arguments<'_>, name: &str) -> Result<String, ToolError> {
    let text = given.text(name)?;
    if text.trim().is_empty() { Err(given.rejected(name, "empty")) } else { Ok(text) }
}

fn from_one(given: &Arguments<'_>, name: &str) -> Result<u32, ToolError> {
    given.u32(name)?.checked_sub(1).ok_or_else(|| given.rejected(name, "range"))
}
