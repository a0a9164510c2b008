//! What a transport needs of the gateway, and the values that cross between the two.
//!
//! This is not the gateway: nothing here admits, routes or answers. A transport knows the calls below and nothing else.
//! Invariants: dropping a call's future cancels everything below it, down to the language server; a [`ProgressSink`]
//! never blocks and never grows; a reply's bytes are one JSON text.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::elicit::Line;
use super::home::Home;
use crate::limits::MAX_PROGRESS_MESSAGE_BYTES;
use codeyard_base::ids::{PrincipalId, TenantId, WorkspaceName};
use codeyard_model::limits::RETRY_AFTER_MS;

use codeyard_telemetry::{Metrics, NoMetrics};

pub use codeyard_telemetry::{TraceContext, TransportKind};

/// What a transport needs of the gateway. Held as `Arc<dyn Service>`.
pub trait Service: Send + Sync + 'static {
    /// The workspace that an endpoint without a name means; `None` if none is configured.
    fn default_workspace(&self) -> Option<WorkspaceName>;

    /// The endpoint of these names. `workspace` `None` is the default one, `catalogs` `None` is `lsp-v1`.
    ///
    /// `None`: a workspace or catalog that isn't there, one that `principal` may not see, or catalogs that can't be
    /// joined. The caller is told the same in all three cases.
    fn endpoint(&self, principal: &Principal, workspace: Option<&str>, catalogs: Option<&str>) -> Option<Endpoint>;

    /// The JSON array of `tools/list`.
    fn tools(&self, endpoint: &Endpoint) -> Arc<RawValue>;

    /// Where those who ask at this endpoint are best served, if anywhere.
    fn home(&self, _endpoint: &Endpoint) -> Option<Home> {
        None
    }

    /// Starts a call. Dropping the future cancels everything below it.
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Reply>;

    /// The text of `instructions` in the answer to `initialize`.
    fn instructions(&self, endpoint: &Endpoint) -> Option<String>;

    /// Where transports count what never becomes a call.
    fn metrics(&self) -> Arc<dyn Metrics> {
        Arc::new(NoMetrics)
    }

    /// The error of a call that a transport turns away because too many are in flight, in the dialect of the tool's
    /// catalog. The default is that of `lsp-v1`.
    fn overloaded(&self, _call: &ToolCall) -> Reply {
        Reply::overloaded()
    }

    /// Hears of a call whose parameters name no tool; the transport answers it.
    fn malformed(&self, _call: &ToolCall) {}
}

/// Who calls, and for which tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// The name behind the token, or `local`.
    pub id: PrincipalId,
    /// The one tenant this principal belongs to.
    pub tenant: TenantId,
}

/// Made once: every request without a token is its.
static LOCAL: LazyLock<Principal> =
    LazyLock::new(|| Principal { id: PrincipalId::local(), tenant: TenantId::default_tenant() });

/// A workspace and the catalogs served for it at one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The workspace; `None` when the service has none at all, so that every call is denied.
    pub workspace: Option<WorkspaceName>,
    /// Names of the catalogs, in the order asked for.
    pub catalogs: Arc<[String]>,
}

/// One `tools/call`.
#[derive(Debug)]
pub struct ToolCall {
    /// Where it is addressed to.
    pub endpoint: Endpoint,
    /// Who calls.
    pub principal: Principal,
    /// The tool's name as given.
    pub tool: String,
    /// The arguments as given; not yet known to be an object.
    pub arguments: Option<Box<RawValue>>,
    /// Where to tell progress, if it was asked for.
    pub progress: Option<ProgressSink>,
    /// The way to the person behind the client, if its session has one.
    pub line: Option<Line>,
    /// The client's trace.
    pub trace: TraceContext,
    /// The JSON text of the request's id.
    pub request_id_text: String,
    /// The session's id, for correlation only.
    pub session: Option<String>,
    /// The way it came in.
    pub transport: TransportKind,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The JSON text of the MCP result.
    Result(Bytes),
    /// An MCP result that says that the call failed.
    Refusal {
        /// Its JSON text.
        result: Bytes,
        /// When to come back, in milliseconds.
        retry_after_ms: Option<u64>,
        /// Whether the call was refused because too much is going on.
        overloaded: bool,
    },
    /// A JSON-RPC error.
    Error {
        /// The JSON-RPC number.
        code: i32,
        /// One sentence for a person.
        message: String,
        /// The JSON text of `error.data`.
        data: Option<Bytes>,
        /// When to come back, in milliseconds.
        retry_after_ms: Option<u64>,
        /// Whether the call was refused because too much is going on.
        overloaded: bool,
    },
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How much is done; the transport makes sure that what is sent only grows.
    pub progress: f64,
    /// How much there is, if known.
    pub total: Option<f64>,
    /// What is going on, in a few words.
    pub message: Option<String>,
}

/// The sending end of a call's progress: holds one value, a newer one replaces it.
#[derive(Debug, Clone)]
pub struct ProgressSink(watch::Sender<Option<Progress>>);

/// The receiving end of a call's progress.
#[derive(Debug)]
pub struct ProgressFeed(watch::Receiver<Option<Progress>>);

/// A connected sink and feed.
pub fn progress_channel() -> (ProgressSink, ProgressFeed) {
    let (sender, receiver) = watch::channel(None);
    (ProgressSink(sender), ProgressFeed(receiver))
}

impl Principal {
    /// The principal of stdio, and of loopback without tokens.
    pub fn local() -> Self {
        LOCAL.clone()
    }

    /// The principal that a token names, in the one tenant there is.
    pub fn of_token(id: PrincipalId) -> Self {
        Self { id, tenant: LOCAL.tenant.clone() }
    }
}

impl Reply {
    /// Too much is going on, as `lsp-v1` says it.
    pub fn overloaded() -> Self {
        let data = format!(
            "{{\"code\":\"MCP_LSP_GATEWAY/CAP_EXCEEDED\",\"details\":{{\"reason\":\"overloaded\",\"retryAfterMs\":{RETRY_AFTER_MS}}}}}"
        );
        Self::Error {
            code: -32_603,
            message: "the service is overloaded; try again after the hinted time".to_owned(),
            data: Some(data.into()),
            retry_after_ms: Some(RETRY_AFTER_MS),
            overloaded: true,
        }
    }
}

impl ProgressSink {
    /// Tells how far the call is. Never waits; an overlong message is cut.
    pub fn send(&self, mut progress: Progress) {
        if let Some(message) = &mut progress.message {
            let cut = (0..=MAX_PROGRESS_MESSAGE_BYTES).rev().find(|at| message.is_char_boundary(*at));
            message.truncate(cut.unwrap_or(0).min(message.len()));
        }
        self.0.send_replace(Some(progress));
    }
}

impl ProgressFeed {
    /// The newest value, if one came since the last look.
    pub fn take(&mut self) -> Option<Progress> {
        if self.0.has_changed().unwrap_or(false) { self.0.borrow_and_update().clone() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_progress_is_kept_and_messages_are_cut() {
        let (sink, mut feed) = progress_channel();
        assert_eq!(feed.take(), None);
        sink.send(Progress { progress: 1.0, total: None, message: None });
        sink.send(Progress { progress: 2.0, total: None, message: Some("é".repeat(MAX_PROGRESS_MESSAGE_BYTES)) });
        let seen = feed.take().unwrap();
        assert_eq!(seen.progress, 2.0);
        assert!(seen.message.unwrap().len() <= MAX_PROGRESS_MESSAGE_BYTES);
        assert_eq!(feed.take(), None);
    }
}
