//! The declarations of the seven tools, in the order of `docs/internals/reference/contract-lsp-v1.md#tools`.
//!
//! Invariant: lines and columns count from 0, as the schemas say.

use crate::schema::ToolDecl;

/// All tools of the catalog.
pub(super) const TOOLS: [ToolDecl; 7] = [
    ToolDecl {
        name: "vscode.lsp.definition",
        description: "Find where the symbol at a position is defined.",
        input_schema: include_str!("../../../schemas/tools/vscode.lsp.definition.json"),
        output_schema: include_str!("../../../schemas/tools/vscode.lsp.definition.output.json"),
    },
    ToolDecl {
        name: "vscode.lsp.references",
        description: "Find every place that uses the symbol at a position. Paged: pass nextCursor back as cursor.",
        input_schema: include_str!("../../../schemas/tools/vscode.lsp.references.json"),
        output_schema: include_str!("../../../schemas/tools/vscode.lsp.references.output.json"),
    },
    ToolDecl {
        name: "vscode.lsp.hover",
        description: "Show the type, signature and documentation of what is at a position.",
        input_schema: include_str!("../../../schemas/tools/vscode.lsp.hover.json"),
        output_schema: include_str!("../../../schemas/tools/vscode.lsp.hover.output.json"),
    },
    ToolDecl {
        name: "vscode.lsp.documentSymbols",
        description: "List what a file declares, as a flat list; containerName is the enclosing symbol.",
        input_schema: include_str!("../../../schemas/tools/vscode.lsp.documentSymbols.json"),
        output_schema: include_str!("../../../schemas/tools/vscode.lsp.documentSymbols.output.json"),
    },
    ToolDecl {
        name: "vscode.lsp.workspaceSymbols",
        description: "Search the workspace's symbols by name. Paged: pass nextCursor back as cursor.",
        input_schema: include_str!("../../../schemas/tools/vscode.lsp.workspaceSymbols.json"),
        output_schema: include_str!("../../../schemas/tools/vscode.lsp.workspaceSymbols.output.json"),
    },
    ToolDecl {
        name: "vscode.lsp.diagnostics.document",
        description: "List the errors and warnings of one file's present content.",
        input_schema: include_str!("../../../schemas/tools/vscode.lsp.diagnostics.document.json"),
        output_schema: include_str!("../../../schemas/tools/vscode.lsp.diagnostics.document.output.json"),
    },
    ToolDecl {
        name: "vscode.lsp.diagnostics.workspace",
        description: "List the known errors and warnings of the workspace, grouped by file. Paged by files: pass nextCursor back as cursor.",
        input_schema: include_str!("../../../schemas/tools/vscode.lsp.diagnostics.workspace.json"),
        output_schema: include_str!("../../../schemas/tools/vscode.lsp.diagnostics.workspace.output.json"),
    },
];
