//! `textDocument/documentSymbol`: the symbols that a file declares.

use serde_json::value::RawValue;

use super::tool_query::ToolQuery;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::query::query_operation::QueryOperation;
use crate::server::requests::request::{LspRequest, SessionView};
use codeyard_lsp::convert::{self, ConvertError};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::methods::{self, DocumentParams};
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

/// `documentSymbol`, whose symbols keep their children, and the tool `vscode.lsp.documentSymbols`.
pub(super) struct DocumentSymbols {
    request: DocumentSymbolsRequest,
    tool: Option<ToolQuery>,
}

impl DocumentSymbols {
    pub(super) fn new(document: DocumentInput, tool: Option<ToolQuery>) -> Self {
        Self { request: DocumentSymbolsRequest(document), tool }
    }
}

impl QueryOperation for DocumentSymbols {
    type Request = DocumentSymbolsRequest;
    type Answer = Vec<RawDocumentSymbol>;

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        provider_call::ask(provider, &self.request, context).await
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        let symbols = answers.into_iter().flatten().collect();
        let Some(query) = &self.tool else {
            let list = codeyard_canon::document_symbols(&self.request.0.source.uri, symbols, MAX_RAW_ITEMS)?;
            return Ok(CanonicalResult::document_symbols(
                list,
                context.take_notes(),
                context.limits.max_items_nonpaged,
            ));
        };
        Ok(query.result(LspItems::Outline(codeyard_canon::outline(symbols, MAX_RAW_ITEMS)?), context))
    }
}
