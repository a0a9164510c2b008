//! Decodes the arguments of the tool `lsp`.
//!
//! Invariants: an argument that the operation doesn't need is accepted and ignored (`docs/internals/reference/contract-agent.md#operations`);
//! null for an optional argument counts as none; a missing or wrong argument is an error that names the operation and the argument.

use serde_json::value::RawValue;

use crate::PageSizes;
use crate::arguments::Arguments;
use codeyard_model::error::ToolError;
use codeyard_model::limits::{MAX_PAGE_CHARS, MIN_PAGE_CHARS};
use codeyard_model::operation::{LspFormat, LspQuery, Operation, OperationInput, PageStyle, QuerySubject};
use codeyard_model::position::Position;
use codeyard_model::query::{PageRequest, Query};

/// The names of the arguments.
const MEMBERS: [&str; 9] =
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
    let format = match given.optional_text("format")? {
        Some(name) => LspFormat::parse(&name).ok_or_else(|| given.rejected("format", "unknown_format"))?,
        None => LspFormat::Json,
    };
    let preview = given.optional_flag("preview")?.unwrap_or(format == LspFormat::Compact || operation.has_preview());
    let chars = match given.has("pageChars") {
        true => given.integer("pageChars", MIN_PAGE_CHARS..=MAX_PAGE_CHARS)?,
        false => None,
    };
    Ok(PageStyle { format, preview, chars: chars.unwrap_or(sizes.chars) })
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn decoded(arguments: &Value) -> Result<LspQuery<String>, ToolError> {
        let raw = RawValue::from_string(arguments.to_string()).unwrap();
        match decode(Some(&raw), PageSizes { entries: 200, chars: 5_000 })? {
            Query::Lsp(asked) => Ok(asked),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn null_is_no_argument_unless_the_operation_needs_it() {
        for operation in Operation::ALL {
            let needed: &[&str] = match operation.input() {
                OperationInput::Position => &["filePath", "line", "character"],
                OperationInput::File => &["filePath"],
                OperationInput::Name => &["query"],
            };
            let mut least = json!({"operation": operation.as_str()});
            for name in needed {
                least[*name] = if ["line", "character"].contains(name) { json!(3) } else { json!("a.ts") };
            }
            let mut nulls = least.clone();
            for name in MEMBERS {
                if nulls.get(name).is_none() {
                    nulls[name] = Value::Null;
                }
            }
            let asked = decoded(&nulls).unwrap();
            let expected = decoded(&least).unwrap();
            assert_eq!((asked.operation, asked.subject, asked.style), (operation, expected.subject, expected.style));
            assert_eq!(asked.page.cursor, None);
            for name in ["operation"].iter().chain(needed) {
                let mut without = least.clone();
                without[*name] = Value::Null;
                let error = decoded(&without).unwrap_err();
                assert_eq!((&error.details["path"], &error.details["reason"]), (&json!(name), &json!("type")));
            }
        }
        let compact = json!({"operation": "hover", "filePath": "a", "line": 1, "character": 1, "format": "compact",
            "preview": null, "pageChars": null});
        let expected = PageStyle { format: LspFormat::Compact, preview: true, chars: 5_000 };
        assert_eq!(decoded(&compact).unwrap().style, expected);
        for (name, wrong, reason) in [("preview", json!("yes"), "type"), ("pageChars", json!(1), "range")] {
            let mut arguments = compact.clone();
            arguments[name] = wrong;
            let error = decoded(&arguments).unwrap_err();
            assert_eq!((&error.details["path"], &error.details["reason"]), (&json!(name), &json!(reason)));
        }
    }
}
