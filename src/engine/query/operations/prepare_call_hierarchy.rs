//! `textDocument/prepareCallHierarchy`: the function at a position.

use super::call_hierarchy::{PrepareRequest, item};
use super::one_request::OneRequest;
use super::tool_query::ToolQuery;
use crate::query::canonicalise::context::CanonicalContext;
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS;
use codeyard_model::lsp_items::LspItems;
use codeyard_paging::CanonicalResult;

/// `prepareCallHierarchy`.
impl OneRequest for PrepareRequest {
    type Tool = ToolQuery;

    fn result(
        &self,
        tool: &Self::Tool,
        replies: Vec<Self::Reply>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        let raw = replies.into_iter().flatten().map(item).collect();
        let list = codeyard_canon::call_items(raw, &mut context.recorder, MAX_RAW_ITEMS)?;
        context.check_names(list.items().iter().map(|item| (&item.uri, item.name.as_str())))?;
        context.notes.outside = list.outside();
        Ok(tool.result(LspItems::CallItems(list.into_items()), context))
    }
}
