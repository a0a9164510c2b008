//! `textDocument/documentSymbol`: the symbols that a file declares.

use serde_json::value::RawValue;

use super::one_request::OneRequest;
use super::tool_query::ToolQuery;
use crate::query::canonicalise::context::CanonicalContext;
use crate::server::requests::request::{LspRequest, SessionView};
use codeyard_lsp::convert::{self, ConvertError};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::methods::{self, DocumentParams};
use codeyard_model::answer::DeclaredSymbols;
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::symbol::RawDocumentSymbol;
use codeyard_paging::CanonicalResult;

/// `textDocument/documentSymbol`.
#[derive(Debug, Clone)]
pub(super) struct DocumentSymbolsRequest(pub(super) DocumentInput);

impl LspRequest for DocumentSymbolsRequest {
    const METHOD: &'static str = methods::DOCUMENT_SYMBOL;
    type Params<'a> = DocumentParams<'a>;
    type Reply = Vec<RawDocumentSymbol>;

    fn document(&self) -> Option<&DocumentInput> {
        Some(&self.0)
    }

    fn params<'a>(&'a self, _session: &'a SessionView<'_>) -> Option<DocumentParams<'a>> {
        Some(methods::document(self.0.source.uri.as_str()))
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        convert::document_symbols(reply, self.0.source.uri.as_str())
    }
}

/// What the symbols of a document are listed for.
pub(super) enum SymbolsTool {
    /// `documentSymbol`, whose symbols keep their children.
    Lsp(ToolQuery),
    /// The tool `vscode.lsp.documentSymbols`.
    LspV1,
    /// Confirming rows of the code index; no tool lists these. A fallback is never asked.
    Confirmation,
}

impl OneRequest for DocumentSymbolsRequest {
    type Tool = SymbolsTool;

    fn result(
        &self,
        tool: &Self::Tool,
        replies: Vec<Self::Reply>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        let symbols = replies.into_iter().flatten().collect();
        Ok(match tool {
            SymbolsTool::Lsp(query) => {
                query.result(LspItems::Outline(codeyard_canon::outline(symbols, MAX_RAW_ITEMS)?), context)
            }
            SymbolsTool::LspV1 => {
                let list = codeyard_canon::document_symbols(&self.0.source.uri, symbols, MAX_RAW_ITEMS)?;
                let max = context.limits.max_items_nonpaged;
                CanonicalResult::document_symbols(list, context.take_notes(), max)
            }
            SymbolsTool::Confirmation => {
                let symbols = codeyard_canon::outline(symbols, MAX_RAW_ITEMS)?.into();
                let by = context.answered_by.clone().ok_or_else(ToolError::internal)?;
                CanonicalResult::Declarations(DeclaredSymbols { by, symbols }, context.take_notes())
            }
        })
    }
}
