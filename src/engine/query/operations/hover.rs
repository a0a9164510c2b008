//! `textDocument/hover`: the type and the documentation of the symbol at a position.

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
use codeyard_model::hover;
use codeyard_model::lsp_items::LspItems;
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

/// `hover`, and the tool `vscode.lsp.hover`. The operation joins the hovers of several servers.
pub(super) struct Hover {
    request: HoverRequest,
    tool: Option<ToolQuery>,
}

impl Hover {
    pub(super) fn new(at: DocumentPosition, tool: Option<ToolQuery>) -> Self {
        Self { request: HoverRequest(at), tool }
    }
}

impl QueryOperation for Hover {
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
    ) -> Result<CanonicalResult, ToolError> {
        let hovers = context.visible_hovers(answers);
        let Some(query) = &self.tool else {
            return Ok(CanonicalResult::hover(codeyard_canon::hover(hovers), context.take_notes()));
        };
        let (hover, truncated) = codeyard_canon::markup(hovers);
        context.notes.truncated = truncated;
        Ok(query.result(LspItems::Hover(hover), context))
    }
}
