//! `textDocument/implementation`: the implementations of the symbol at a position.

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
use codeyard_model::position::RawLocation;
use codeyard_paging::CanonicalResult;

/// `textDocument/implementation`.
#[derive(Debug, Clone)]
pub(super) struct ImplementationRequest(pub(super) DocumentPosition);

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
impl OneRequest for ImplementationRequest {
    type Tool = ToolQuery;

    fn result(
        &self,
        tool: &Self::Tool,
        replies: Vec<Self::Reply>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        let found = context.locations(replies)?;
        Ok(tool.result(found, context))
    }
}
