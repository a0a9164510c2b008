//! The payloads and their envelope, with the members in the contract's order (`docs/internals/reference/contract-lsp-v1.md#payloads`).
//!
//! Invariants: `content` is empty; a missing optional member is omitted, except `nextCursor`, which is null on the last page.

use serde::Serialize;

use codeyard_model::diagnostic::Diagnostic;
use codeyard_model::hover::HoverFragment;
use codeyard_model::position::{Location, Range};
use codeyard_model::symbol::DocumentSymbol;
use codeyard_model::uri::CanonicalUri;

/// The MCP tool result around a payload.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope<'a, P> {
    is_error: bool,
    structured_content: &'a P,
    content: [(); 0],
}

impl<'a, P> Envelope<'a, P> {
    /// A successful result.
    pub(super) fn of(payload: &'a P) -> Self {
        Self { is_error: false, structured_content: payload, content: [] }
    }
}

/// The payload of `vscode.lsp.definition`.
#[derive(Serialize)]
pub(super) struct Definition<'a> {
    pub(super) locations: &'a [Location],
    pub(super) summary: String,
}

/// The payload of the paged tools.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Paged<'a, T> {
    pub(super) items: &'a [T],
    pub(super) next_cursor: Option<&'a str>,
    pub(super) summary: String,
}

/// The payload of `vscode.lsp.hover`.
#[derive(Serialize)]
pub(super) struct HoverPayload<'a> {
    pub(super) contents: &'a [HoverFragment],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) range: Option<Range>,
    pub(super) summary: String,
}

/// The payload of `vscode.lsp.documentSymbols`.
#[derive(Serialize)]
pub(super) struct DocumentSymbols<'a> {
    pub(super) symbols: &'a [DocumentSymbol],
    pub(super) summary: String,
}

/// The payload of `vscode.lsp.diagnostics.document`.
#[derive(Serialize)]
pub(super) struct DocumentDiagnostics<'a> {
    pub(super) uri: &'a CanonicalUri,
    pub(super) diagnostics: &'a [Diagnostic],
    pub(super) summary: String,
}
