//! The trait of an operation: which requests the providers get, and how their answers become a canonical result.
//!
//! [`operations`](super::operations) implements [`QueryOperation`] once for each operation, for the tool `lsp` and for `lsp-v1`. The payloads
//! of the tools are made in the catalogs.

use std::future::Future;

use crate::query::canonicalise::context::CanonicalContext;
use crate::query::gather::GatherPolicy;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::RequestContext;
use crate::server::requests::request::LspRequest;
use codeyard_lsp::convert::ReplyEntries;
use codeyard_model::coverage::UndecidedName;
use codeyard_model::error::ToolError;
use codeyard_paging::CanonicalResult;

/// One operation, from its requests to its canonical result.
pub(crate) trait QueryOperation: Send + Sync + 'static {
    /// The first request.
    type Request: LspRequest;
    /// The whole answer of one provider, columns in UTF-16.
    type Answer: ReplyEntries + Send + 'static;

    /// Whether making the answers canonical touches no file.
    const IN_MEMORY: bool = false;

    /// The first request.
    fn request(&self) -> &Self::Request;

    /// Sends the operation's requests to one provider.
    fn ask<'a>(
        &'a self,
        provider: &'a Provider,
        context: RequestContext<'a>,
    ) -> impl Future<Output = Result<Self::Answer, ProviderFailure>> + Send + 'a;

    /// The result that is retained and paged: the answers of all providers, gated, normalised, deduplicated, and in canonical order.
    ///
    /// # Errors
    /// CAP_EXCEEDED.
    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError>;

    /// Whether `provider` reached its own maximum of entries and may have more.
    fn is_capped(_provider: &Provider, _answer: &Self::Answer) -> bool {
        false
    }

    /// Whether the position points at a symbol even if the answer is empty.
    fn has_target(_answer: &Self::Answer) -> bool {
        false
    }

    /// Places that may be further entries of the answer.
    fn undecided(_answer: &Self::Answer) -> Option<&UndecidedName> {
        None
    }

    /// Whether a part of the answer was left out because time ran out.
    fn is_late(_answer: &Self::Answer) -> bool {
        false
    }
}

/// Code that runs for the operation of a query, whatever its type.
pub(crate) trait OperationHandler {
    /// The result of the handler.
    type Output;

    /// Handles the operation, whose providers are asked by this policy.
    fn handle<O: QueryOperation>(self, policy: GatherPolicy, operation: O) -> Self::Output;
}
