//! `textDocument/implementation`: the implementations of the symbol at a position.

use serde_json::value::RawValue;

use super::document_position::DocumentPosition;
use super::tool_query::ToolQuery;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::query::query_operation::QueryOperation;
use crate::server::requests::request::{LspRequest, SessionView};
use codeyard_lsp::convert::{self, ConvertError};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::methods::{self, PositionParams};
use codeyard_model::error::ToolError;
use codeyard_model::position::RawLocation;
use codeyard_paging::CanonicalResult;

/// `textDocument/implementation`.
#[derive(Debug, Clone)]
pub(super) struct ImplementationRequest(DocumentPosition);

impl LspRequest for ImplementationRequest {
    const METHOD: &'static str = methods::IMPLEMENTATION;
    type Params<'a> = PositionParams<'a>;
    type Reply = Vec<RawLocation>;

    fn document(&self) -> Option<&DocumentInput> {
        Some(&self.0.document)
    }

    fn params<'a>(&'a self, session: &'a SessionView<'_>) -> Option<PositionParams<'a>> {
        Some(self.0.params(session))
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        convert::implementation(reply)
    }
}

/// `goToImplementation`.
pub(super) struct Implementation {
    request: ImplementationRequest,
    tool: ToolQuery,
}

impl Implementation {
    pub(super) fn new(at: DocumentPosition, tool: ToolQuery) -> Self {
        Self { request: ImplementationRequest(at), tool }
    }
}

impl QueryOperation for Implementation {
    type Request = ImplementationRequest;
    type Answer = Vec<RawLocation>;

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
        let found = context.locations(answers)?;
        Ok(self.tool.result(found, context))
    }
}
