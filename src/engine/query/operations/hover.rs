//! `textDocument/hover`: the type and the documentation of the symbol at a position.

use serde_json::value::RawValue;

use super::document_position::DocumentPosition;
use super::one_request::OneRequest;
use super::tool_query::ToolQuery;
use crate::query::canonicalise::context::CanonicalContext;
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
pub(super) struct HoverRequest(pub(super) DocumentPosition);

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
impl OneRequest for HoverRequest {
    type Tool = Option<ToolQuery>;

    const IN_MEMORY: bool = true;

    fn result(
        &self,
        tool: &Self::Tool,
        replies: Vec<Self::Reply>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        let hovers = context.visible_hovers(replies);
        let Some(query) = tool else {
            let (hover, truncated) = codeyard_canon::hover(hovers);
            return Ok(CanonicalResult::hover(hover, truncated, context.take_notes()));
        };
        let (hover, truncated) = codeyard_canon::markup(hovers);
        context.notes.truncated = truncated;
        Ok(query.result(LspItems::Hover(hover), context))
    }
}
