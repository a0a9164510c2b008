//! The facts of one finished tool call. Span attributes, the log line and the metrics are built from them and from nothing else.
//!
//! Invariants: no field is an argument, a path, a token or source text; every text is a constant name, or a name of the configuration or
//! of the registry, except the ids of request and session, which are bounded.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{SpanId, TraceId};

use codeyard_access::Principal;
use codeyard_base::digest;
use codeyard_base::ids::{GroupName, LanguageId, ServerKind, TenantId, WorkspaceName};
use codeyard_base::words;
use codeyard_model::epoch::Epochs;
use codeyard_model::error::{CallPhase, ErrorCode};

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// With a result.
    Ok,
    Failed(ErrorCode),
    /// Its client disconnected or cancelled it.
    Cancelled,
}

words! {
    /// The transport of a call, in OpenTelemetry's values of `network.transport`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TransportKind {
        /// Standard input and output, or the local socket in their place.
        Pipe => "pipe",
        /// HTTP.
        Tcp => "tcp",
    }
    /// OpenTelemetry's word.
    fn as_str;
}

words! {
    /// Where a result came from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CacheUse {
        /// It was retained from an earlier call.
        Retained => "retained",
        /// It comes from an execution that another call started.
        Shared => "shared",
        /// It comes from an execution of its own.
        Fresh => "fresh",
    }
    /// The word in spans, logs and metrics.
    fn as_str;
}

words! {
    /// The outcome of a cursor.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CursorOutcome {
        /// It continued its result.
        Continued => "continued",
        /// It is malformed, or belongs to another request.
        Invalid => "invalid",
        /// The workspace has changed since.
        Stale => "stale",
        /// Its result is no longer retained.
        Expired => "expired",
        /// The call ended for another reason: a deadline, a cancellation.
        Undecided => "undecided",
    }
    /// The word in spans, logs and metrics.
    fn as_str;
}

words! {
    /// The outcome of a permission check.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PermissionOutcome {
        Allowed => "allowed",
        /// A person allowed it with "always" in an earlier call.
        Remembered => "remembered",
        /// A person allowed it once.
        Once => "once",
        /// A person allowed it with "always".
        Always => "always",
        Denied => "denied",
        Declined => "declined",
        /// A person closed the prompt.
        Dismissed => "dismissed",
        /// The client can't ask a person.
        NotAsked => "not_asked",
        /// No person answered in time.
        Unanswered => "unanswered",
        /// Too many prompts were open.
        TooMany => "too_many",
        /// The call ended before a person answered.
        Withdrawn => "withdrawn",
        /// The result asks for a person's answer, and a later call brings it.
        Requested => "requested",
    }
    /// The word in spans, logs and metrics.
    fn as_str;
}

/// Identifies a principal without its name: the first 8 bytes of the name's SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PrincipalHash([u8; 8]);

/// The facts of one call.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// The tool's name as its catalog spells it; `unknown` if no catalog has it.
    pub tool: Arc<str>,
    /// The catalog that holds the tool; empty if none does.
    pub catalog: &'static str,
    /// The workspace; `None` where none is configured, and for calls to a group.
    pub workspace: Option<WorkspaceName>,
    /// The group of workspaces that the call is for.
    pub group: Option<GroupName>,
    pub principal: PrincipalHash,
    /// The tenant of the principal.
    pub tenant: TenantId,
    /// The transport of the request.
    pub transport: TransportKind,
    /// The JSON-RPC id as text, a string without its quotes.
    pub request_id: String,
    pub session: Option<String>,
    pub protocol_version: &'static str,
    /// The operation of a call of the tool `lsp`.
    pub operation: Option<&'static str>,
    /// The run that a call of the catalog `launch` is about.
    pub run: Option<String>,
    /// The language of the document asked about.
    pub language: Option<LanguageId>,
    /// The kinds of the language servers that took part, in the order they were asked.
    pub servers: Vec<ServerKind>,
    /// The workspace's epochs when the answer was computed or found.
    pub epochs: Option<Epochs>,
    /// How fresh the code index was that the answer came from: `fresh`, `stale`, `syncing`.
    pub freshness: Option<&'static str>,
    /// Whether an answer from the code index is complete: `complete`, `partial`, `truncated`.
    pub completeness: Option<&'static str>,
    /// Where the result came from; `None` if the call ended before that was known.
    pub cache: Option<CacheUse>,
    /// The cursor's outcome; `None` if there was none.
    pub cursor: Option<CursorOutcome>,
    /// The least ready state of a language server that the call had to wait for; `None` if it waited for none.
    pub waited_for: Option<CallPhase>,
    /// How often the query was repeated because the workspace changed meanwhile.
    pub repeats: u32,
    /// The outcome of the permission check; `None` if its tool needs no permission.
    pub permission: Option<PermissionOutcome>,
    /// Time of the wait for a person's answer.
    pub asked: Duration,
    pub outcome: Outcome,
    /// The number of the JSON-RPC error.
    pub rpc_code: Option<i32>,
    /// `details.reason` of the error, one of `names::REASONS`.
    pub reason: Option<&'static str>,
    /// Which cap was hit: the reason of a CAP_EXCEEDED or SNAPSHOT_TOO_LARGE, `items_nonpaged` for a list that was cut.
    pub cap: Option<&'static str>,
    /// Bytes of the result's JSON text, or of the error's data.
    pub bytes: usize,
    /// Entries in the answer; `None` where an answer has none to count.
    pub items: Option<usize>,
    /// Entries of the whole list that the answer is a part of.
    pub items_total: Option<usize>,
    /// Time until its workspace started with it, without the wait for a person.
    pub queue: Duration,
    /// Time of the wait for language servers to start and to index the workspace.
    pub wait: Duration,
    /// Time with at least one request in flight to a language server; for a shared execution, the wait for its end.
    pub server: Duration,
    /// Time to build the canonical answer from the raw ones.
    pub canonicalise: Duration,
    /// Time of the query to the code index.
    pub index: Duration,
    /// Files outside the roots that language servers returned.
    pub outside: usize,
    /// From the call's arrival to its reply.
    pub total: Duration,
    /// Its trace, if its client named one or spans are exported.
    pub trace_id: Option<TraceId>,
    /// Its span, if spans are exported.
    pub span_id: Option<SpanId>,
}

/// The facts of one request to a language server.
#[derive(Debug, Clone)]
pub struct RpcRecord {
    pub method: &'static str,
    pub server: ServerKind,
    pub outcome: RpcOutcome,
    /// From sending to the reply.
    pub duration: Duration,
}

/// How a request to a language server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RpcOutcome {
    /// With a result.
    Ok,
    /// With this JSON-RPC error.
    Error(i64),
    Lost,
    /// No call waited for it any more.
    Cancelled,
}

impl Outcome {
    /// The word in spans, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed(code) => code.as_str(),
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl CursorOutcome {
    /// The outcome of the cursor in a call with this outcome.
    pub fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ok => Self::Continued,
            Outcome::Failed(ErrorCode::CursorInvalid) => Self::Invalid,
            Outcome::Failed(ErrorCode::CursorStale) => Self::Stale,
            Outcome::Failed(ErrorCode::CursorExpired) => Self::Expired,
            _ => Self::Undecided,
        }
    }
}

impl PermissionOutcome {
    /// Whether the call may proceed.
    pub fn is_granted(self) -> bool {
        matches!(self, Self::Allowed | Self::Remembered | Self::Once | Self::Always)
    }
}

impl RpcOutcome {
    /// The value of `error.type`; `None` for a result. A JSON-RPC error has its number.
    pub fn error_type(self) -> Option<String> {
        match self {
            Self::Ok => None,
            Self::Error(code) => Some(code.to_string()),
            Self::Lost => Some("lost".to_owned()),
            Self::Cancelled => Some("cancelled".to_owned()),
        }
    }
}

impl PrincipalHash {
    /// The hash of a principal's name in the service.
    pub fn of(principal: &Principal) -> Self {
        let mut short = [0; 8];
        short.copy_from_slice(&digest::sha256(principal.key())[..8]);
        Self(short)
    }
}

impl fmt::Display for PrincipalHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl CallRecord {
    /// The workspace's name, or `@` and the group's name. It begins with the tenant, if that isn't `default`.
    pub fn workspace_name(&self) -> Option<Cow<'_, str>> {
        let group = self.group.as_ref().map(|group| Cow::Owned(self.tenant.qualified(&group.at())));
        group.or_else(|| self.workspace.as_ref().map(|name| Cow::Borrowed(name.as_str())))
    }

    /// The readiness of the language servers: `ready`, or the state that the call waited for.
    pub fn readiness(&self) -> &'static str {
        self.waited_for.map_or("ready", CallPhase::as_str)
    }

    /// Whether the result was retained or came from another call's execution.
    pub fn is_cache_hit(&self) -> bool {
        matches!(self.cache, Some(CacheUse::Retained | CacheUse::Shared))
    }
}
