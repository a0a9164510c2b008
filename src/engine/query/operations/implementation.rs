//! `textDocument/implementation`: the implementations of the symbol at a position.

use serde_json::value::RawValue;

use super::document_position::DocumentPosition;
use super::tool_operation::ToolOperation;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, ProviderFailure, RequestContext};
use crate::server::document::DocumentInput;
use crate::server::request::{LspRequest, SessionView};
use codeyard_lsp::convert::{self, ConvertError};
use codeyard_lsp::methods::{self, PositionParams};
use codeyard_model::error::ToolError;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::position::RawLocation;

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

/// The operation `goToImplementation`.
pub(super) struct GoToImplementation {
    request: ImplementationRequest,
}

impl GoToImplementation {
    pub(super) fn new(at: DocumentPosition) -> Self {
        Self { request: ImplementationRequest(at) }
    }
}

impl ToolOperation for GoToImplementation {
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
    ) -> Result<LspItems, ToolError> {
        context.locations(answers)
    }
}
