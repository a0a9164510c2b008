//! Arguments to a question of the tool `lsp`.
//!
//! Invariant: what an operation doesn't need is accepted and not looked at (decisions §4); what it needs is checked before anything
//! is asked, and a refusal names the operation and the argument.

use serde_json::value::RawValue;

use crate::arguments::Arguments;
use codeyard_model::error::ToolError;
use codeyard_model::operation::{LspQuery, Needs, Operation, Subject};
use codeyard_model::position::Position;
use codeyard_model::query::{PageRequest, Query};

const MEMBERS: [&str; 6] = ["operation", "filePath", "line", "character", "query", "cursor"];

/// The question that `arguments` ask. INVALID_PARAMS with `details.path` and `details.reason`, and `details.operation` where that is
/// known.
pub(super) fn decode(arguments: Option<&RawValue>, max_page_size: usize) -> Result<Query<String>, ToolError> {
    let given = Arguments::read(arguments, &MEMBERS)?;
    let operation = given.text("operation")?;
    let operation = Operation::parse(&operation).ok_or_else(|| given.refused("operation", "unknown_operation"))?;
    let named = |error: ToolError| error.with("operation", operation.as_str());
    let subject = subject(&given, operation.needs()).map_err(named)?;
    let cursor = given.optional_text("cursor").map_err(named)?;
    Ok(Query::Lsp(LspQuery { operation, subject, page: PageRequest { size: max_page_size, cursor } }))
}

fn subject(given: &Arguments<'_>, needs: Needs) -> Result<Subject<String>, ToolError> {
    Ok(match needs {
        Needs::Position => {
            let file = file(given)?;
            let position = Position { line: from_one(given, "line")?, character: from_one(given, "character")? };
            Subject::At(file, position)
        }
        Needs::File => Subject::File(file(given)?),
        Needs::Name => Subject::Name(not_blank(given, "query")?.trim().to_owned()),
    })
}

fn file(given: &Arguments<'_>) -> Result<String, ToolError> {
    not_blank(given, "filePath")
}

fn not_blank(given: &Arguments<'_>, name: &str) -> Result<String, ToolError> {
    let text = given.text(name)?;
    if text.trim().is_empty() { Err(given.refused(name, "empty")) } else { Ok(text) }
}

fn from_one(given: &Arguments<'_>, name: &str) -> Result<u32, ToolError> {
    given.u32(name)?.checked_sub(1).ok_or_else(|| given.refused(name, "range"))
}
