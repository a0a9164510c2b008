//! `textDocument/prepareCallHierarchy`: the function at a position.

use super::call_hierarchy::{PrepareRequest, item};
use super::document_position::DocumentPosition;
use super::tool_query::ToolQuery;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::query::query_operation::QueryOperation;
use codeyard_lsp::convert::RawCallItem;
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS;
use codeyard_model::lsp_items::LspItems;
use codeyard_paging::CanonicalResult;

/// `prepareCallHierarchy`.
pub(super) struct PrepareCallHierarchy {
    request: PrepareRequest,
    tool: ToolQuery,
}

impl PrepareCallHierarchy {
    pub(super) fn new(at: DocumentPosition, tool: ToolQuery) -> Self {
        Self { request: PrepareRequest(at), tool }
    }
}

impl QueryOperation for PrepareCallHierarchy {
    type Request = PrepareRequest;
    type Answer = Vec<RawCallItem>;

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
        let raw = answers.into_iter().flatten().map(item).collect();
        let list = codeyard_canon::call_items(raw, &mut context.recorder, MAX_RAW_ITEMS)?;
        context.check_names(list.items().iter().map(|item| (&item.uri, item.name.as_str())))?;
        context.notes.outside = list.outside();
        Ok(self.tool.result(LspItems::CallItems(list.into_items()), context))
    }
}
