//! `textDocument/definition`: where the symbol at a position is defined.

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
use codeyard_model::limits::MAX_RAW_ITEMS;
use codeyard_model::position::{Position, RawLocation};
use codeyard_paging::CanonicalResult;

/// `textDocument/definition`.
#[derive(Debug, Clone)]
pub(crate) struct DefinitionRequest(pub(super) DocumentPosition);

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

/// `goToDefinition`, and the tool `vscode.lsp.definition`.
impl OneRequest for DefinitionRequest {
    type Tool = Option<ToolQuery>;

    fn result(
        &self,
        tool: &Self::Tool,
        replies: Vec<Self::Reply>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        let Some(query) = tool else {
            let list =
                codeyard_canon::locations(replies.concat(), &mut context.recorder, MAX_RAW_ITEMS, MAX_RAW_ITEMS)?;
            return Ok(CanonicalResult::definition(list, context.take_notes(), context.limits.max_items_nonpaged));
        };
        let found = context.locations(replies)?;
        Ok(query.result(found, context))
    }
}
