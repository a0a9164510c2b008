//! Operations of the tool `lsp`: every server that can answer is asked, and all nine have the same kind of result.

use std::future::Future;
use std::path::Path;

use crate::query::canonicalise::context::CanonicalContext;
use crate::query::provider::Provider;
use crate::query::provider_call::{ProviderFailure, RequestContext};
use crate::query::query_operation::{ProviderRule, QueryOperation};
use crate::query::title;
use crate::query::useful_order::UsefulOrder;
use crate::server::request::LspRequest;
use codeyard_lsp::convert::ReplyEntries;
use codeyard_model::coverage::UndecidedName;
use codeyard_model::error::ToolError;
use codeyard_model::lsp_items::{LspItems, ResultPaths};
use codeyard_model::operation::LspQuery;
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::{CanonicalResult, LspResult};

/// One operation of the tool `lsp`. See [`QueryOperation`] for the methods of the same names.
pub(crate) trait ToolOperation: Send + Sync + 'static {
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

    /// Makes the answers canonical, and records in the context what was left out.
    ///
    /// # Errors
    /// CAP_EXCEEDED.
    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<LspItems, ToolError>;

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

/// A query of the tool `lsp` with its operation.
pub(super) struct ToolQuery<O> {
    query: LspQuery<CanonicalUri>,
    operation: O,
}

impl<O> ToolQuery<O> {
    /// The operation of this query.
    pub(super) fn new(query: &LspQuery<CanonicalUri>, operation: O) -> Self {
        Self { query: query.clone(), operation }
    }
}

impl<O: ToolOperation> QueryOperation for ToolQuery<O> {
    type Request = O::Request;
    type Answer = O::Answer;
    type Canonical = LspItems;

    const IN_MEMORY: bool = O::IN_MEMORY;

    fn providers(&self) -> ProviderRule {
        ProviderRule::Tool(self.query.operation)
    }

    fn request(&self) -> &Self::Request {
        self.operation.request()
    }

    fn ask<'a>(
        &'a self,
        provider: &'a Provider,
        context: RequestContext<'a>,
    ) -> impl Future<Output = Result<Self::Answer, ProviderFailure>> + Send + 'a {
        self.operation.ask(provider, context)
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<LspItems, ToolError> {
        let mut found = self.operation.canonicalise(answers, context)?;
        UsefulOrder::new(self.query.subject.uri(), &context.declared).sort(&mut found);
        Ok(found)
    }

    fn result(&self, found: LspItems, context: CanonicalContext<'_>) -> Result<CanonicalResult, ToolError> {
        let title = title::title(&self.query, context.gate);
        let root = context.gate.root_set().allowed().next().map(Path::to_path_buf).unwrap_or_default();
        let paths = ResultPaths { root, document: self.query.subject.uri().cloned(), calls_in: context.calls_in };
        let (operation, notes) = (self.query.operation, context.notes);
        Ok(CanonicalResult::Lsp(LspResult { operation, title, found, notes, paths }))
    }

    fn is_capped(provider: &Provider, answer: &Self::Answer) -> bool {
        O::is_capped(provider, answer)
    }

    fn has_target(answer: &Self::Answer) -> bool {
        O::has_target(answer)
    }

    fn undecided(answer: &Self::Answer) -> Option<&UndecidedName> {
        O::undecided(answer)
    }

    fn is_late(answer: &Self::Answer) -> bool {
        O::is_late(answer)
    }
}
