//! `callHierarchy/incomingCalls`: the callers of the function at a position.

use serde_json::value::RawValue;

use super::call_hierarchy::{CallsAnswer, PrepareRequest, ServerFunction, calls, canonical_calls};
use super::document_position::DocumentPosition;
use super::tool_query::ToolQuery;
use crate::query::asked_provider::AskedProvider;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::RequestContext;
use crate::query::query_operation::QueryOperation;
use crate::server::requests::request::{LspRequest, SessionView};
use codeyard_complete::callers_by_references;
use codeyard_complete::commonjs::{self, AskedSymbol, LinkedCalls};
use codeyard_lsp::convert::{self, ConvertError, RawCall, ReplyEntries};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::methods::{self, CallsParams};
use codeyard_model::coverage::UndecidedName;
use codeyard_model::error::ToolError;
use codeyard_model::lsp_items::{IncomingCall, LspItems};
use codeyard_paging::CanonicalResult;

/// `callHierarchy/incomingCalls`.
#[derive(Debug, Clone)]
struct IncomingCallsRequest(ServerFunction);

impl LspRequest for IncomingCallsRequest {
    const METHOD: &'static str = methods::INCOMING_CALLS;
    type Params<'a> = CallsParams<'a>;
    type Reply = Vec<RawCall>;

    fn document(&self) -> Option<&DocumentInput> {
        Some(&self.0.document)
    }

    fn incarnation(&self) -> Option<u64> {
        Some(self.0.incarnation)
    }

    fn params<'a>(&'a self, _session: &'a SessionView<'_>) -> Option<CallsParams<'a>> {
        self.0.params()
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        convert::incoming_calls(reply)
    }
}

/// One provider's callers, with those through CommonJS.
pub(super) struct Callers {
    /// All of them.
    pub(super) answer: CallsAnswer,
    /// Places that may be further calls.
    pub(super) undecided: Option<UndecidedName>,
}

impl ReplyEntries for Callers {
    fn entries(&self) -> usize {
        self.answer.entries()
    }
}

/// `incomingCalls`.
pub(super) struct IncomingCalls {
    request: PrepareRequest,
    tool: ToolQuery,
}

impl IncomingCalls {
    pub(super) fn new(at: DocumentPosition, tool: ToolQuery) -> Self {
        Self { request: PrepareRequest(at), tool }
    }
}

impl QueryOperation for IncomingCalls {
    type Request = PrepareRequest;
    type Answer = Callers;

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        let mut own = calls(provider, &self.request, context, IncomingCallsRequest).await?;
        let DocumentPosition { document, position, .. } = &self.request.0;
        let server = AskedProvider { provider, context };
        if let (CallsAnswer::Calls(listed), Some(which)) = (&mut own, provider.spec.quirks.callers_by_references) {
            let listed = std::mem::take(listed);
            let completed = callers_by_references::complete(server, which, document, *position, listed).await?;
            return Ok(Callers { answer: CallsAnswer::Calls(completed.calls), undecided: completed.undecided });
        }
        let asked = AskedSymbol { document, position: *position, include_declaration: true };
        let LinkedCalls { calls: more, is_export, undecided } = commonjs::callers(server, asked, own.calls()).await?;
        let answer = match own {
            CallsAnswer::NoFunction if !is_export => CallsAnswer::NoFunction,
            CallsAnswer::NoFunction => CallsAnswer::Calls(more),
            CallsAnswer::Calls(calls) => CallsAnswer::Calls([calls, more].concat()),
        };
        Ok(Callers { answer, undecided })
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        let answers = answers.into_iter().map(|callers| callers.answer).collect();
        let calls = canonical_calls(answers, context)?.into_iter();
        let call = |(from, from_ranges)| IncomingCall { from, from_ranges, preview: None };
        Ok(self.tool.result(LspItems::Incoming(calls.map(call).collect()), context))
    }

    fn has_target(answer: &Self::Answer) -> bool {
        matches!(answer.answer, CallsAnswer::Calls(_))
    }

    fn undecided(answer: &Self::Answer) -> Option<&UndecidedName> {
        answer.undecided.as_ref()
    }
}
