//! Decodes the arguments of the seven tools (`docs/internals/reference/contract-lsp-v1.md#arguments`).
//!
//! Invariant: arguments are accepted exactly if they fit the tool's schema, with two exceptions: a query of white space and a duplicate member
//! are rejected.

use serde_json::value::RawValue;

use crate::arguments::Arguments;
use crate::dialect::unknown_tool;
use codeyard_model::error::ToolError;
use codeyard_model::limits::DEFAULT_PAGE_SIZE;
use codeyard_model::position::Position;
use codeyard_model::query::{PageRequest, Query};

type Decoded = Result<Query<String>, ToolError>;

/// Decodes the arguments of the tool with this canonical name.
pub(super) fn decode(tool: &str, arguments: Option<&RawValue>, max_page_size: usize) -> Decoded {
    match tool {
        "vscode.lsp.definition" => definition(arguments),
        "vscode.lsp.references" => references(arguments, max_page_size),
        "vscode.lsp.hover" => hover(arguments),
        "vscode.lsp.documentSymbols" => document_symbols(arguments),
        "vscode.lsp.workspaceSymbols" => workspace_symbols(arguments, max_page_size),
        "vscode.lsp.diagnostics.document" => document_diagnostics(arguments),
        "vscode.lsp.diagnostics.workspace" => workspace_diagnostics(arguments, max_page_size),
        other => Err(unknown_tool(other)),
    }
}

fn definition(arguments: Option<&RawValue>) -> Decoded {
    let given = Arguments::read(arguments, &["uri", "position"])?;
    Ok(Query::Definition { uri: given.text("uri")?, position: position(&given)? })
}

fn references(arguments: Option<&RawValue>, max_page_size: usize) -> Decoded {
    let given = Arguments::read(arguments, &["uri", "position", "includeDeclaration", "pageSize", "cursor"])?;
    Ok(Query::References {
        uri: given.text("uri")?,
        position: position(&given)?,
        include_declaration: given.flag("includeDeclaration", false)?,
        page: page(&given, max_page_size)?,
    })
}

fn hover(arguments: Option<&RawValue>) -> Decoded {
    let given = Arguments::read(arguments, &["uri", "position"])?;
    Ok(Query::Hover { uri: given.text("uri")?, position: position(&given)? })
}

fn document_symbols(arguments: Option<&RawValue>) -> Decoded {
    let given = Arguments::read(arguments, &["uri"])?;
    Ok(Query::DocumentSymbols { uri: given.text("uri")? })
}

fn workspace_symbols(arguments: Option<&RawValue>, max_page_size: usize) -> Decoded {
    let given = Arguments::read(arguments, &["query", "pageSize", "cursor"])?;
    let query = given.text("query")?;
    match query.trim() {
        "" => Err(given.rejected("query", "empty")),
        query => Ok(Query::WorkspaceSymbols { query: query.into(), page: page(&given, max_page_size)? }),
    }
}

fn document_diagnostics(arguments: Option<&RawValue>) -> Decoded {
    let given = Arguments::read(arguments, &["uri"])?;
    Ok(Query::DocumentDiagnostics { uri: given.text("uri")? })
}

fn workspace_diagnostics(arguments: Option<&RawValue>, max_page_size: usize) -> Decoded {
    let given = Arguments::read(arguments, &["pageSize", "cursor"])?;
    Ok(Query::WorkspaceDiagnostics { page: page(&given, max_page_size)? })
}

fn position(given: &Arguments<'_>) -> Result<Position, ToolError> {
    let at = given.object("position", "position.", &["line", "character"])?;
    Ok(Position { line: at.u32("line")?, character: at.u32("character")? })
}

fn page(given: &Arguments<'_>, max_page_size: usize) -> Result<PageRequest, ToolError> {
    let size = given.size("pageSize", max_page_size)?.unwrap_or(DEFAULT_PAGE_SIZE.min(max_page_size));
    Ok(PageRequest { size, cursor: given.optional_text("cursor")? })
}
