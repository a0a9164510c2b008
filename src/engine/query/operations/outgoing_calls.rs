//! `callHierarchy/outgoingCalls`: the functions that the function at a position calls.

use serde_json::value::RawValue;

use super::call_hierarchy::{CallsAnswer, PrepareRequest, ServerFunction, calls, canonical_calls};
use super::document_position::DocumentPosition;
use super::tool_query::ToolQuery;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::RequestContext;
use crate::query::query_operation::QueryOperation;
use crate::server::requests::request::{LspRequest, SessionView};
use codeyard_canon::UriGate;
use codeyard_lsp::convert::{self, ConvertError, RawCall};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::methods::{self, CallsParams};
use codeyard_model::error::ToolError;
use codeyard_model::lsp_items::{LspItems, OutgoingCall};
use codeyard_model::uri::{CanonicalUri, UriAdmission};
use codeyard_paging::CanonicalResult;

/// `callHierarchy/outgoingCalls`.
#[derive(Debug, Clone)]
struct OutgoingCallsRequest(ServerFunction);

impl LspRequest for OutgoingCallsRequest {
    const METHOD: &'static str = methods::OUTGOING_CALLS;
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
        convert::outgoing_calls(reply, &self.0.uri)
    }
}

/// The file that all calls of the answers are in, if it is one inside the roots.
fn calls_in(answers: &[CallsAnswer], context: &mut CanonicalContext<'_>) -> Option<CanonicalUri> {
    let mut texts = answers.iter().flat_map(CallsAnswer::calls).map(|call| &call.calls_in);
    let first = texts.next()?;
    if texts.any(|other| other != first) {
        return None;
    }
    match context.recorder.admit(first) {
        UriAdmission::Inside(uri) => Some(uri),
        _ => None,
    }
}

/// `outgoingCalls`.
pub(super) struct OutgoingCalls {
    request: PrepareRequest,
    tool: ToolQuery,
}

impl OutgoingCalls {
    pub(super) fn new(at: DocumentPosition, tool: ToolQuery) -> Self {
        Self { request: PrepareRequest(at), tool }
    }
}

impl QueryOperation for OutgoingCalls {
    type Request = PrepareRequest;
    type Answer = CallsAnswer;

    fn request(&self) -> &Self::Request {
        &self.request
    }

    async fn ask(&self, provider: &Provider, context: RequestContext<'_>) -> Result<Self::Answer, ProviderFailure> {
        calls(provider, &self.request, context, OutgoingCallsRequest).await
    }

    fn canonicalise(
        &self,
        answers: Vec<Self::Answer>,
        context: &mut CanonicalContext<'_>,
    ) -> Result<CanonicalResult, ToolError> {
        context.calls_in = calls_in(&answers, context);
        let calls = canonical_calls(answers, context)?.into_iter();
        let call = |(to, from_ranges)| OutgoingCall { to, from_ranges, preview: None };
        Ok(self.tool.result(LspItems::Outgoing(calls.map(call).collect()), context))
    }

    fn has_target(answer: &Self::Answer) -> bool {
        matches!(answer, CallsAnswer::Calls(_))
    }
}
