//! The shared parts of the call-hierarchy operations: the functions at a position, and the calls of each of them.
//!
//! Callers and callees take two steps at the same server: `textDocument/prepareCallHierarchy`, then one request for each function. A
//! function means something only to the incarnation of the server that named it.

use std::sync::Arc;

use futures::future::try_join_all;
use serde_json::value::RawValue;

use super::document_position::DocumentPosition;
use crate::limits::MAX_CALL_ITEMS;
use crate::query::canonicalise::context::CanonicalContext;
use crate::query::no_answer::ProviderFailure;
use crate::query::provider::Provider;
use crate::query::provider_call::{self, RequestContext};
use crate::server::requests::request::{LspRequest, SessionView};
use codeyard_lsp::convert::{self, ConvertError, RawCall, RawCallItem, ReplyEntries};
use codeyard_lsp::documents::document_input::DocumentInput;
use codeyard_lsp::methods::{self, CallsParams, PositionParams};
use codeyard_model::error::ToolError;
use codeyard_model::limits::MAX_RAW_ITEMS;
use codeyard_model::lsp_items::CallItem;
use codeyard_model::position::Range;

/// `textDocument/prepareCallHierarchy`.
#[derive(Debug, Clone)]
pub(super) struct PrepareRequest(pub(super) DocumentPosition);

impl LspRequest for PrepareRequest {
    const METHOD: &'static str = methods::PREPARE_CALL_HIERARCHY;
    type Params<'a> = PositionParams<'a>;
    type Reply = Vec<RawCallItem>;

    fn document(&self) -> Option<&DocumentInput> {
        Some(&self.0.document)
    }

    fn params<'a>(&'a self, session: &'a SessionView<'_>) -> Option<PositionParams<'a>> {
        Some(self.0.params(session))
    }

    fn decode(&self, reply: &RawValue) -> Result<Self::Reply, ConvertError> {
        convert::call_items(reply)
    }
}

/// A function as its server named it.
#[derive(Debug, Clone)]
pub(super) struct ServerFunction {
    /// The document that the query is about.
    pub(super) document: DocumentInput,
    /// The server's own JSON.
    pub(super) json: Arc<str>,
    /// The file that the function is in.
    pub(super) uri: Arc<str>,
    /// The incarnation of the server that named it.
    pub(super) incarnation: u64,
}

impl ServerFunction {
    /// Parameters of a request for its callers or callees; `None` if the server's JSON can't be sent back.
    pub(super) fn params(&self) -> Option<CallsParams<'_>> {
        serde_json::from_str::<&RawValue>(&self.json).ok().map(methods::calls)
    }
}

/// One provider's answer about the calls at a position.
pub(super) enum CallsAnswer {
    /// There is no function at the position.
    NoFunction,
    /// The calls of all functions there; none is an answer too.
    Calls(Vec<RawCall>),
}

impl CallsAnswer {
    /// The calls.
    pub(super) fn calls(&self) -> &[RawCall] {
        match self {
            Self::NoFunction => &[],
            Self::Calls(calls) => calls,
        }
    }

    fn into_calls(self) -> Vec<RawCall> {
        match self {
            Self::NoFunction => Vec::new(),
            Self::Calls(calls) => calls,
        }
    }
}

impl ReplyEntries for CallsAnswer {
    fn entries(&self) -> usize {
        self.calls().len()
    }
}

/// The calls of all functions at a position: `of` makes the request for one of them.
pub(super) async fn calls<R: LspRequest<Reply = Vec<RawCall>>>(
    provider: &Provider,
    prepare: &PrepareRequest,
    context: RequestContext<'_>,
    of: impl Fn(ServerFunction) -> R,
) -> Result<CallsAnswer, ProviderFailure> {
    let (items, incarnation) = provider_call::ask_with_incarnation(provider, prepare, context).await?;
    if items.is_empty() {
        return Ok(CallsAnswer::NoFunction);
    }
    if items.len() > MAX_CALL_ITEMS {
        return Err(ToolError::too_many("too_many_functions", MAX_CALL_ITEMS).into());
    }
    let document = &prepare.0.document;
    let function =
        |item: RawCallItem| ServerFunction { document: document.clone(), json: item.json, uri: item.uri, incarnation };
    let requests: Vec<R> = items.into_iter().map(|item| of(function(item))).collect();
    let replies = requests.iter().map(|request| provider_call::ask(provider, request, context));
    Ok(CallsAnswer::Calls(try_join_all(replies).await?.concat()))
}

/// The canonical calls of all answers, each with the places of the call.
///
/// # Errors
/// CAP_EXCEEDED.
pub(super) fn canonical_calls(
    answers: Vec<CallsAnswer>,
    context: &mut CanonicalContext<'_>,
) -> Result<Vec<(CallItem, Vec<Range>)>, ToolError> {
    let calls = answers.into_iter().flat_map(CallsAnswer::into_calls);
    let raw = calls.map(|call| (item(call.item), call.from_ranges)).collect();
    let list = codeyard_canon::calls(raw, &mut context.recorder, MAX_RAW_ITEMS)?;
    context.check_names(list.items().iter().map(|(item, _)| (&item.uri, item.name.as_str())))?;
    context.notes.outside = list.outside();
    Ok(list.into_items())
}

/// A function without the data that only its server understands.
pub(super) fn item(raw: RawCallItem) -> codeyard_canon::RawCallItem {
    let RawCallItem { name, kind, uri, range, selection_range, .. } = raw;
    codeyard_canon::RawCallItem { uri, name, kind, range, selection_range }
}
