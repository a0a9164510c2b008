//! What an operation is: how providers are asked, and how their answers become a canonical result.
//!
//! [`operations`](super::operations) implements [`QueryOperation`] once for each query. It isn't about one tool's payload; that is a
//! catalog's.

use std::future::Future;

use crate::query::canonicalise::context::CanonicalContext;
use crate::query::provider::Provider;
use crate::query::provider_call::{ProviderFailure, RequestContext};
use crate::server::request::LspRequest;
use codeyard_lsp::convert::ReplyEntries;
use codeyard_model::error::ToolError;
use codeyard_model::operation::Operation;
use codeyard_paging::CanonicalResult;

/// Whose answers make the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderRule {
    /// The first answer that isn't empty, in the registry's order.
    First,
    /// All servers of the workspace; those that can't answer are named.
    EveryServer,
    /// All servers of the document; one that can't answer fails the call.
    AllOrNone,
    /// All servers of the document or the workspace; linters that are late are left out and named.
    Tool(Operation),
}

/// One operation: how providers are asked, and how their answers become a canonical result.
pub(crate) trait QueryOperation: Send + Sync + 'static {
    /// What is sent first.
    type Request: LspRequest;
    /// The whole answer of one provider, columns in UTF-16.
    type Answer: ReplyEntries + Send + 'static;
    /// The canonical form: gated, normalised, sorted, deduplicated.
    type Canonical;
    /// Whose answers make the result.
    fn providers(&self) -> ProviderRule;

    /// What is sent first.
    fn request(&self) -> &Self::Request;

    /// Asks one provider, in as many requests as that takes.
    fn ask<'a>(
        &'a self,
        provider: &'a Provider,
        context: RequestContext<'a>,
    ) -> impl Future<Output = Result<Self::Answer, ProviderFailure>> + Send + 'a;

    /// Makes the answers canonical, in the providers' order.
    ///
    /// # Errors
    /// CAP_EXCEEDED.
    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<Self::Canonical, ToolError>;

    /// The result that is retained and paged.
    ///
    /// # Errors
    /// INTERNAL, if the answers lack what the result names.
    fn result(&self, canonical: Self::Canonical, context: CanonicalContext<'_>) -> Result<CanonicalResult, ToolError>;

    /// Whether `provider` gave as many entries as it ever does, and may know of more.
    fn is_capped(_provider: &Provider, _answer: &Self::Answer) -> bool {
        false
    }

    /// Whether an empty answer still means that the position points at something.
    fn has_target(_answer: &Self::Answer) -> bool {
        false
    }
}

/// What is done with the operation of a query, whatever its type.
pub(crate) trait OperationHandler {
    /// What comes of it.
    type Output;

    /// Handles the operation.
    fn handle<O: QueryOperation>(self, operation: O) -> Self::Output;
}
