//! `textDocument/hover`: the type and the documentation of the symbol at a position.

use serde_json::value::RawValue;

use super::document_position::DocumentPosition;
use super::tool_operation::ToolOperation;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, ProviderFailure, RequestContext};
use crate::query::query_operation::{ProviderRule, QueryOperation};
use crate::server::document::DocumentInput;
use crate::server::request::{LspRequest, SessionView};
use codeyard_lsp::convert::{self, ConvertError};
use codeyard_lsp::methods::{self, PositionParams};
use codeyard_model::error::ToolError;
use codeyard_model::hover;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::position::Position;
use codeyard_paging::CanonicalResult;

/// `textDocument/hover`.
#[derive(Debug, Clone)]
pub(super) struct HoverRequest(DocumentPosition);

impl LspRequest for HoverRequest {
    const METHOD: &'static str = methods::HOVER;
    type Params<'a> = PositionParams<'a>;
    type Reply = Option<hover::Hover>;

    fn document(&self) -> Option<&DocumentInput> {
        Some(&self.0.document)
    }

    fn params<'a>(&'a self, session: &'a SessionView<'_>) -> Option<PositionParams<'a>> {
        Some(self.0.params(session))
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        convert::hover(reply)
    }
}

/// The tool `vscode.lsp.hover`.
pub(super) struct Hover {
    request: HoverRequest,
}

impl Hover {
    pub(super) fn new(document: DocumentInput, position: Position) -> Self {
        Self { request: HoverRequest(DocumentPosition::new(document, position)) }
    }
}

impl QueryOperation for Hover {
    type Request = HoverRequest;
    type Answer = Option<hover::Hover>;
    /// The hover, and whether its contents were cut.
    type Canonical = (hover::Hover, bool);

    const IN_MEMORY: bool = true;

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
        Ok(codeyard_canon::hover(context.visible_hovers(answers)))
    }

    fn result(&self, canonical: Self::Canonical, context: CanonicalContext<'_>) -> Result<CanonicalResult, ToolError> {
        Ok(CanonicalResult::hover(canonical, context.notes))
    }
}

/// The operation `hover`. Hovers of several servers are joined.
pub(super) struct HoverText {
    request: HoverRequest,
}

impl HoverText {
    pub(super) fn new(at: DocumentPosition) -> Self {
        Self { request: HoverRequest(at) }
    }
}

impl ToolOperation for HoverText {
    type Request = HoverRequest;
    type Answer = Option<hover::Hover>;

    const IN_MEMORY: bool = true;

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
        let (hover, truncated) = codeyard_canon::markup(context.visible_hovers(answers));
        context.notes.truncated = truncated;
        Ok(LspItems::Hover(hover))
    }
}
