//! Errors of calls, independent of any catalog.
//!
//! Invariant: a message or detail never contains a path outside the roots, a token or a request body. Messages are constant
//! text; variable parts are in `details`. Catalogs add the next steps in them to the message ([`super::next_steps`]).

use codeyard_base::words;
use serde_json::{Map, Value, json};

words! {
    /// The error codes of the gateway contract, without their prefix.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum ErrorCode {
        /// The arguments don't fit the tool's schema.
        InvalidParams => "INVALID_PARAMS",
        /// The path is outside the allowed roots, or the workspace has no root.
        WorkspaceDenied => "WORKSPACE_DENIED",
        /// The text is not a valid file URI.
        UriInvalid => "URI_INVALID",
        /// The cursor was not made by this service, or belongs to another request.
        CursorInvalid => "CURSOR_INVALID",
        /// The workspace changed after the cursor was made.
        CursorStale => "CURSOR_STALE",
        /// The cursor's retained result is no longer stored.
        CursorExpired => "CURSOR_EXPIRED",
        /// The result is too large to be retained for paging.
        SnapshotTooLarge => "SNAPSHOT_TOO_LARGE",
        /// The document or the position doesn't exist.
        NotFound => "NOT_FOUND",
        /// A cap on size, number or time was reached.
        CapExceeded => "CAP_EXCEEDED",
        /// No language server can answer.
        ProviderUnavailable => "PROVIDER_UNAVAILABLE",
        /// A defect in codeyard.
        Internal => "INTERNAL",
    }
    /// The code's name, `CURSOR_STALE`.
    fn as_str;
    /// The code with this name.
    fn parse;
}

impl ErrorCode {
    /// Whether the call is refused for what it asks. Then nothing is wrong with codeyard, the workspace or a language server.
    pub const fn is_refusal(self) -> bool {
        match self {
            Self::InvalidParams
            | Self::WorkspaceDenied
            | Self::UriInvalid
            | Self::CursorInvalid
            | Self::CursorStale
            | Self::CursorExpired
            | Self::NotFound => true,
            Self::SnapshotTooLarge | Self::CapExceeded | Self::ProviderUnavailable | Self::Internal => false,
        }
    }
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct ToolError {
    pub code: ErrorCode,
    /// One sentence for a person: what is wrong and what to do.
    pub message: String,
    /// Machine-readable details. `{}` if there are none.
    pub details: Map<String, Value>,
}

words! {
    /// The phase of a call at its deadline.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CallPhase {
        /// Waiting for a free slot.
        Queued => "queued",
        /// Waiting for the language server to start.
        Starting => "starting",
        /// Waiting for the language server to index the workspace.
        Indexing => "indexing",
        /// Waiting for the language server's answer.
        Answering => "answering",
    }
    /// The value of `details.phase`.
    fn as_str;
}

impl ToolError {
    /// An error without details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Map::new() }
    }

    /// Adds a detail.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.into(), value.into());
        self
    }

    /// The deadline passed. `progress` is the language server's own progress text.
    pub fn timeout(phase: CallPhase, progress: Option<String>, retry_after_ms: u64) -> Self {
        let message = match phase {
            CallPhase::Queued => "the call waited for a free place until its deadline",
            CallPhase::Starting => "the language server is still starting",
            CallPhase::Indexing => "the language server is still indexing",
            CallPhase::Answering => "the language server did not answer before the deadline",
        };
        let error = Self::new(ErrorCode::CapExceeded, message)
            .with("reason", "timeout")
            .with("phase", phase.as_str())
            .with("retryAfterMs", retry_after_ms);
        match progress {
            Some(text) => error.with("progress", text),
            None => error,
        }
    }

    /// Too many calls are in progress.
    pub fn overloaded(retry_after_ms: u64) -> Self {
        Self::new(ErrorCode::CapExceeded, "the service is overloaded")
            .with("reason", "overloaded")
            .with("retryAfterMs", retry_after_ms)
    }

    /// No audit line can be written, and the configuration allows no call without one.
    pub fn audit_unavailable(retry_after_ms: u64) -> Self {
        let message = "the service can't write its audit log, and answers no call without a line there; its operator finds the cause in the service's log";
        Self::new(ErrorCode::CapExceeded, message)
            .with("reason", "audit_unavailable")
            .with("retryAfterMs", retry_after_ms)
    }

    /// The `quota` of the caller's `owner`, its tenant or its token, is used up. `limit` is its value.
    pub fn quota_exceeded(quota: &'static str, owner: &'static str, limit: u32, retry_after_ms: u64) -> Self {
        let message = format!("the quota of the {owner} is used up: {quota} is {limit}");
        Self::new(ErrorCode::CapExceeded, message)
            .with("reason", "quota_exceeded")
            .with("quota", quota)
            .with("owner", owner)
            .with("limit", limit)
            .with("retryAfterMs", retry_after_ms)
    }

    /// A result exceeds the cap `limit`.
    pub fn too_many(reason: &'static str, limit: usize) -> Self {
        Self::new(ErrorCode::CapExceeded, "the result exceeds a hard cap; ask a narrower question")
            .with("reason", reason)
            .with("limit", limit)
    }

    /// No language server can answer. `command` is the command that would help.
    pub fn provider_unavailable(reason: &'static str, message: impl Into<String>, command: impl Into<String>) -> Self {
        Self::new(ErrorCode::ProviderUnavailable, message).with("reason", reason).with("command", command.into())
    }

    /// A defect in codeyard. The details are in the log only.
    pub fn internal() -> Self {
        Self::new(ErrorCode::Internal, "internal error; the server's log has the particulars")
    }

    /// The details as a JSON value.
    pub fn details_value(&self) -> Value {
        json!(self.details)
    }
}
