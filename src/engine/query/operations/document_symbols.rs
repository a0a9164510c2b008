//! `textDocument/documentSymbol`: the symbols that a file declares.

use serde_json::value::RawValue;

use super::tool_operation::ToolOperation;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, ProviderFailure, RequestContext};
use crate::query::query_operation::{ProviderRule, QueryOperation};
use crate::server::document::DocumentInput;
use crate::server::request::{LspRequest, SessionView};
use codeyard_canon::Canonical;
use codeyard_lsp::convert::{self, ConvertError};
use codeyard_lsp::methods::{self, DocumentParams};
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::symbol::{DocumentSymbol, RawDocumentSymbol};
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

/// The tool `vscode.lsp.documentSymbols`.
pub(super) struct DocumentSymbols {
    request: DocumentSymbolsRequest,
}

impl DocumentSymbols {
    pub(super) fn new(document: DocumentInput) -> Self {
        Self { request: DocumentSymbolsRequest(document) }
    }
}

impl QueryOperation for DocumentSymbols {
    type Request = DocumentSymbolsRequest;
    type Answer = Vec<RawDocumentSymbol>;
    type Canonical = Canonical<DocumentSymbol>;

    fn providers(&self) -> ProviderRule {
        ProviderRule::First
    }

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        provider_call::ask(provider, &self.request, context).await
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        _context: &mut CanonicalContext<'_>,
    ) -> Result<Self::Canonical, ToolError> {
        let symbols = answers.into_iter().flatten().collect();
        codeyard_canon::document_symbols(&self.request.0.source.uri, symbols, MAX_RAW_ITEMS)
    }

    fn result(&self, canonical: Self::Canonical, context: CanonicalContext<'_>) -> Result<CanonicalResult, ToolError> {
        Ok(CanonicalResult::document_symbols(canonical, context.notes, context.limits.max_items_nonpaged))
    }
}

/// The operation `documentSymbol`. Nested symbols keep their children.
pub(super) struct Outline {
    request: DocumentSymbolsRequest,
}

impl Outline {
    pub(super) fn new(document: DocumentInput) -> Self {
        Self { request: DocumentSymbolsRequest(document) }
    }
}

impl ToolOperation for Outline {
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
        _context: &mut CanonicalContext<'_>,
    ) -> Result<LspItems, ToolError> {
        codeyard_canon::outline(answers.into_iter().flatten().collect(), MAX_RAW_ITEMS).map(LspItems::Outline)
    }
}
