//! `textDocument/definition`: where the symbol at a position is defined.

use serde_json::value::RawValue;

use super::document_position::DocumentPosition;
use super::tool_operation::ToolOperation;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, ProviderFailure, RequestContext};
use crate::query::query_operation::{ProviderRule, QueryOperation};
use crate::server::document::DocumentInput;
use crate::server::request::{LspRequest, SessionView};
use codeyard_canon::Canonical;
use codeyard_lsp::convert::{self, ConvertError};
use codeyard_lsp::methods::{self, PositionParams};
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::position::{Location, Position, RawLocation};
use codeyard_paging::CanonicalResult;

/// `textDocument/definition`.
#[derive(Debug, Clone)]
pub(crate) struct DefinitionRequest(DocumentPosition);

/// The definition at a position of a document that the server opens only if it `is_opened`.
pub(crate) fn at(document: DocumentInput, position: Position, is_opened: bool) -> DefinitionRequest {
    DefinitionRequest(DocumentPosition { is_opened, ..DocumentPosition::new(document, position) })
}

impl LspRequest for DefinitionRequest {
    const METHOD: &'static str = methods::DEFINITION;
    type Params<'a> = PositionParams<'a>;
    type Reply = Vec<RawLocation>;

    fn document(&self) -> Option<&DocumentInput> {
        self.0.opened()
    }

    fn params<'a>(&'a self, session: &'a SessionView<'_>) -> Option<PositionParams<'a>> {
        Some(self.0.params(session))
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        convert::definition(reply)
    }
}

/// The tool `vscode.lsp.definition`.
pub(super) struct Definition {
    request: DefinitionRequest,
}

impl Definition {
    pub(super) fn new(document: DocumentInput, position: Position) -> Self {
        Self { request: DefinitionRequest(DocumentPosition::new(document, position)) }
    }
}

impl QueryOperation for Definition {
    type Request = DefinitionRequest;
    type Answer = Vec<RawLocation>;
    type Canonical = Canonical<Location>;

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
        context: &mut CanonicalContext<'_>,
    ) -> Result<Self::Canonical, ToolError> {
        codeyard_canon::locations(answers.concat(), &mut context.recorder, MAX_RAW_ITEMS, MAX_RAW_ITEMS)
    }

    fn result(&self, canonical: Self::Canonical, context: CanonicalContext<'_>) -> Result<CanonicalResult, ToolError> {
        Ok(CanonicalResult::definition(canonical, context.notes, context.limits.max_items_nonpaged))
    }
}

/// The operation `goToDefinition`.
pub(super) struct GoToDefinition {
    request: DefinitionRequest,
}

impl GoToDefinition {
    pub(super) fn new(at: DocumentPosition) -> Self {
        Self { request: DefinitionRequest(at) }
    }
}

impl ToolOperation for GoToDefinition {
    type Request = DefinitionRequest;
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
