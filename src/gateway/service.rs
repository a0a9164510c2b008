//! The interface between the transports and the gateway: the [`Service`] trait and its values.
//!
//! The gateway itself is in [`router`](super::router). Invariants: dropping a call's future is the client's departure, whose
//! meaning the tool's policy declares; a [`ProgressSink`] never blocks and holds one value; a reply's bytes are one JSON text.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::elicit::PromptSender;
use super::workspace_thread::WorkspaceThread;
use crate::limits::MAX_PROGRESS_MESSAGE_BYTES;
use codeyard_base::ids::{GroupName, TenantId, WorkspaceName};
use codeyard_catalog::{CatalogId, CatalogSet};
use codeyard_config::ContentMode;
use codeyard_model::error::ToolError;
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_protocol::revision::{Revision, RevisionSet};
use codeyard_protocol::stateless::InputRound;

use codeyard_telemetry::{Metrics, NoMetrics};

pub use codeyard_access::{Operation, OperationSet, Principal};
pub use codeyard_telemetry::{TraceContext, TransportKind};

/// The gateway as transports see it. Held as `Arc<dyn Service>`.
pub trait Service: Send + Sync + 'static {
    /// The endpoint with these names. Without `workspace` it is the default workspace, without `catalogs` it is `lsp-v1`. A
    /// `workspace` that begins with `@` is a group.
    ///
    /// `None` for an unknown workspace, group or catalog, for a workspace that `principal` may not see, for a group without such
    /// a workspace, for a group with another catalog than `code`, and for catalogs that can't be joined. Callers can't tell these
    /// cases apart.
    fn endpoint(&self, principal: &Principal, workspace: Option<&str>, catalogs: Option<&str>) -> Option<Endpoint>;

    /// Which endpoints `principal` can use, as a client reads it that has asked for one that there isn't. It doesn't depend on the one
    /// that was asked for.
    fn endpoint_advice(&self, _principal: &Principal) -> Option<String> {
        None
    }

    /// The JSON array of `tools/list`, with the tools that `principal` may call.
    fn tools(&self, principal: &Principal, endpoint: &Endpoint) -> Arc<RawValue>;

    /// The thread on which connections to `endpoint` are served best, if there is one.
    fn workspace_thread(&self, _endpoint: &Endpoint) -> Option<WorkspaceThread> {
        None
    }

    /// Starts a call. Dropping the future is the client's departure: it cancels the call's work, unless the tool's policy lets
    /// the work continue.
    fn call(&self, call: ToolCall) -> BoxFuture<'static, ToolReply>;

    /// The `instructions` in the result of `initialize`.
    fn instructions(&self, endpoint: &Endpoint) -> Option<String>;

    /// The revisions of MCP that the endpoint speaks.
    fn revisions(&self, endpoint: &Endpoint) -> RevisionSet {
        revisions_of(&endpoint.catalogs, RevisionSet::DEFAULT)
    }

    /// The metrics that transports record requests and connections in.
    fn metrics(&self) -> Arc<dyn Metrics> {
        Arc::new(NoMetrics)
    }

    /// Records a call that a transport rejects because too many are in flight, and returns its error as the tool's catalog
    /// encodes it. The default is the error of `lsp-v1`.
    fn reject_overloaded(&self, _call: &ToolCall) -> ToolReply {
        ToolReply::overloaded()
    }

    /// Records a call whose parameters name no tool. The transport answers it.
    fn record_malformed(&self, _call: &ToolCall) {}
}

/// The revisions that an endpoint with these catalogs speaks. `of_lsp_v1` are those of the catalogs `lsp-v1` and `lsp-v1-safe`.
pub fn revisions_of(catalogs: &[String], of_lsp_v1: RevisionSet) -> RevisionSet {
    let is_lsp_v1 = |name: &String| [CatalogId::LspV1, CatalogId::LspV1Safe].iter().any(|id| id.as_str() == name);
    if catalogs.iter().any(is_lsp_v1) { of_lsp_v1 } else { RevisionSet::ALL }
}

/// What the tools of an endpoint do that is addressed with these catalogs, joined with `+`; without them it is `lsp-v1`. Nothing for catalogs
/// that there aren't.
pub fn operations_of(catalogs: Option<&str>) -> OperationSet {
    let set = CatalogSet::parse(catalogs.unwrap_or(CatalogId::LspV1.as_str()));
    let tools = set.iter().flat_map(CatalogSet::ids).flat_map(|id| {
        let catalog = id.catalog();
        catalog.tool_names().into_iter().map(|tool| catalog.policy(&tool).operation)
    });
    tools.fold(OperationSet::NONE, OperationSet::with)
}

/// The one catalog that endpoints of groups have.
pub const GROUP_CATALOG: &str = "code";

/// A workspace, or a group of workspaces, and the catalogs that one address serves for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The tenant of the caller that it was found for.
    pub tenant: TenantId,
    /// The workspace; `None` for a group, and if the service has none. Then every call is denied.
    pub workspace: Option<WorkspaceName>,
    /// The group, if the address names one.
    pub group: Option<GroupName>,
    /// The names of the catalogs, in the order of the address.
    pub catalogs: Arc<[String]>,
    /// The copies of a result that the caller gets.
    pub content: ContentMode,
}

/// One `tools/call`.
#[derive(Debug)]
pub struct ToolCall {
    /// The endpoint that is called.
    pub endpoint: Endpoint,
    /// The caller.
    pub principal: Principal,
    /// The tool's name, unchecked.
    pub tool: String,
    /// The arguments, unchecked: they may be no object.
    pub arguments: Option<Box<RawValue>>,
    /// Receives progress, if the client asked for it.
    pub progress: Option<ProgressSink>,
    /// Sends prompts to the person behind the client, if its session can receive them.
    pub prompts: Option<PromptSender>,
    /// In the stateless revision, which has no prompts: whether the client can be asked by the result, and its answers.
    pub input: Option<InputRound>,
    /// The revision of MCP.
    pub revision: Revision,
    /// The client's trace context.
    pub trace: TraceContext,
    /// The JSON text of the request's id.
    pub request_id_text: String,
    /// The session's id, for logs and spans only.
    pub session: Option<String>,
    /// The transport of the request.
    pub transport: TransportKind,
    /// The client's address; `None` for a local one.
    pub peer: Option<IpAddr>,
}

/// Why a call was turned away for now. HTTP has a status for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShedBy {
    /// The service has too much to do.
    Overload,
    /// A quota of the caller is used up.
    Quota,
    /// The caller's credential doesn't allow it, and a wider one of the same caller would.
    Scope(Operation),
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReply {
    /// The JSON text of the tool result.
    Result(Bytes),
    /// A tool result with `isError: true`.
    Refusal {
        /// The JSON text of the tool result.
        result: Bytes,
        /// When to retry, in milliseconds.
        retry_after_ms: Option<u64>,
        /// Why the call was turned away for now, if it was.
        shed: Option<ShedBy>,
    },
    /// A result that asks the client for input: the JSON text of an object with `inputRequests` and `requestState`.
    InputRequired(Bytes),
    /// A JSON-RPC error.
    Error {
        /// The JSON-RPC number.
        code: i32,
        /// One sentence for people.
        message: String,
        /// The JSON text of `error.data`.
        data: Option<Bytes>,
        /// When to retry, in milliseconds.
        retry_after_ms: Option<u64>,
        /// Why the call was turned away for now, if it was.
        shed: Option<ShedBy>,
    },
}

/// The progress of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The amount that is done. The transport makes the values that it sends increase.
    pub progress: f64,
    /// The whole amount, if known.
    pub total: Option<f64>,
    /// A short description of the current step.
    pub message: Option<String>,
}

/// Sends the progress of a call. It holds one value: a newer one replaces it.
#[derive(Debug, Clone)]
pub struct ProgressSink(watch::Sender<Option<Progress>>);

/// Receives the progress of a call.
#[derive(Debug)]
pub struct ProgressFeed(watch::Receiver<Option<Progress>>);

/// A connected [`ProgressSink`] and [`ProgressFeed`].
pub fn progress_channel() -> (ProgressSink, ProgressFeed) {
    let (sender, receiver) = watch::channel(None);
    (ProgressSink(sender), ProgressFeed(receiver))
}

impl ToolReply {
    /// The bytes of the result, or of the error's data.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Result(json) | Self::InputRequired(json) | Self::Refusal { result: json, .. } => json.len(),
            Self::Error { data, .. } => data.as_ref().map_or(0, Bytes::len),
        }
    }

    /// The overload error as `lsp-v1` encodes it.
    pub fn overloaded() -> Self {
        let data = format!(
            "{{\"code\":\"MCP_LSP_GATEWAY/CAP_EXCEEDED\",\"details\":{{\"reason\":\"overloaded\",\"retryAfterMs\":{RETRY_AFTER_MS}}}}}"
        );
        Self::Error {
            code: -32_603,
            message: ToolError::overloaded(RETRY_AFTER_MS).message_with_steps(usize::MAX),
            data: Some(data.into()),
            retry_after_ms: Some(RETRY_AFTER_MS),
            shed: Some(ShedBy::Overload),
        }
    }
}

impl ProgressSink {
    /// Replaces the progress. Never waits. A message over [`MAX_PROGRESS_MESSAGE_BYTES`] is truncated.
    pub fn send(&self, mut progress: Progress) {
        if let Some(message) = &mut progress.message {
            let cut = (0..=MAX_PROGRESS_MESSAGE_BYTES).rev().find(|at| message.is_char_boundary(*at));
            message.truncate(cut.unwrap_or(0).min(message.len()));
        }
        self.0.send_replace(Some(progress));
    }
}

impl ProgressFeed {
    /// The newest value, if there is one since the last call.
    pub fn take(&mut self) -> Option<Progress> {
        if self.0.has_changed().unwrap_or(false) { self.0.borrow_and_update().clone() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lsp_v1_endpoints_speak_one_revision_unless_configured() {
        let names = |text: &str| text.split('+').map(str::to_owned).collect::<Vec<_>>();
        let more = RevisionSet::DEFAULT.with(Revision::V2025_06_18);
        for (catalogs, speaks_all) in [
            ("agent", true),
            ("code", true),
            ("launch", true),
            ("agent+code+launch", true),
            ("lsp-v1", false),
            ("lsp-v1-safe", false),
            ("agent+lsp-v1", false),
            ("code+lsp-v1-safe", false),
        ] {
            let expected = if speaks_all { RevisionSet::ALL } else { more };
            assert_eq!(revisions_of(&names(catalogs), more), expected, "{catalogs}");
        }
    }

    #[test]
    fn only_the_newest_progress_is_kept_and_messages_are_truncated() {
        let (sink, mut feed) = progress_channel();
        assert_eq!(feed.take(), None);
        sink.send(Progress { progress: 1.0, total: None, message: None });
        sink.send(Progress { progress: 2.0, total: None, message: Some("é".repeat(MAX_PROGRESS_MESSAGE_BYTES)) });
        let received = feed.take().unwrap();
        assert_eq!(received.progress, 2.0);
        assert!(received.message.unwrap().len() <= MAX_PROGRESS_MESSAGE_BYTES);
        assert_eq!(feed.take(), None);
    }
}
