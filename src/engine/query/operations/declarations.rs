//! `textDocument/documentSymbol` for confirming rows of the code index. A fallback is never asked.

use super::document_symbols::DocumentSymbolsRequest;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::query::query_operation::QueryOperation;
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_model::answer::DeclaredSymbols;
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS;
use codeyard_model::symbol::RawDocumentSymbol;
use codeyard_paging::CanonicalResult;

/// The declarations of a document; no tool lists them.
pub(super) struct Declarations {
    request: DocumentSymbolsRequest,
}

impl Declarations {
    pub(super) fn new(document: DocumentInput) -> Self {
        Self { request: DocumentSymbolsRequest(document) }
    }
}

impl QueryOperation for Declarations {
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
        let symbols = codeyard_canon::outline(answers.into_iter().flatten().collect(), MAX_RAW_ITEMS)?;
        let by = context.answered_by.clone().ok_or_else(ToolError::internal)?;
        Ok(CanonicalResult::Declarations(DeclaredSymbols { by, symbols: symbols.into() }, context.take_notes()))
    }
}
