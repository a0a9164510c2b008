//! The declarations of the seven tools, in the order of `docs/internals/reference/contract-lsp-v1.md#tools`.
//!
//! Invariant: lines and columns count from 0, as the schemas say.

use crate::schema::{ToolDecl, tool};

/// All tools of the catalog.
pub(super) const TOOLS: [ToolDecl; 7] = [
    tool!("vscode.lsp.definition", "Find where the symbol at a position is defined."),
    tool!(
        "vscode.lsp.references",
        "Find every place that uses the symbol at a position. Paged: pass nextCursor back as cursor."
    ),
    tool!("vscode.lsp.hover", "Show the type, signature and documentation of what is at a position."),
    tool!(
        "vscode.lsp.documentSymbols",
        "List what a file declares, as a flat list; containerName is the enclosing symbol."
    ),
    tool!(
        "vscode.lsp.workspaceSymbols",
        "Search the workspace's symbols by name. Paged: pass nextCursor back as cursor."
    ),
    tool!("vscode.lsp.diagnostics.document", "List the errors and warnings of one file's present content."),
    tool!(
        "vscode.lsp.diagnostics.workspace",
        "List the known errors and warnings of the workspace, grouped by file. Paged by files: pass nextCursor back as cursor."
    ),
];
