//! Operations that send each provider one request, whose reply is the provider's whole answer.

use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::query::query_operation::QueryOperation;
use crate::server::requests::request::LspRequest;
use codeyard_model::error::ToolError;
use codeyard_paging::CanonicalResult;

/// A request whose replies are the answer of an operation.
pub(super) trait OneRequest: LspRequest {
    /// What the result is for.
    type Tool: Send + Sync + 'static;

    /// As [`QueryOperation::IN_MEMORY`].
    const IN_MEMORY: bool = false;

    /// As [`QueryOperation::canonicalise`].
    ///
    /// # Errors
    /// CAP_EXCEEDED.
    fn result(
        &self,
        tool: &Self::Tool,
        replies: Vec<Self::Reply>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError>;
}

/// The operation of one request.
pub(super) struct OneRequestOperation<R: OneRequest> {
    request: R,
    tool: R::Tool,
}

impl<R: OneRequest> OneRequestOperation<R> {
    pub(super) fn new(request: R, tool: R::Tool) -> Self {
        Self { request, tool }
    }
}

impl<R: OneRequest> QueryOperation for OneRequestOperation<R> {
    type Request = R;
    type Answer = R::Reply;

    const IN_MEMORY: bool = R::IN_MEMORY;

    fn request(&self) -> &R {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<R::Reply, ProviderFailure> {
        provider_call::ask(provider, &self.request, context).await
    }

    fn canonicalise(
        &self,
        answers: Vec<R::Reply>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        self.request.result(&self.tool, answers, context)
    }
}
