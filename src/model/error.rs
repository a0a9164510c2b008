//! Why a call failed, free of any catalog's dialect.
//!
//! Invariant: a message or detail never holds a path outside the roots, a token or a request body. Messages are constant
//! text; what varies goes into `details`.

use serde_json::{Map, Value, json};

/// The gateway contract's codes (§6.3), without their prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorCode {
    /// The arguments don't fit the tool's schema.
    InvalidParams,
    /// The path is outside the allowed roots, or there is no root.
    WorkspaceDenied,
    /// The text can't be a file URI of ours.
    UriInvalid,
    /// The cursor is not one of ours, or of another request.
    CursorInvalid,
    /// The workspace has changed since the cursor was made.
    CursorStale,
    /// The retained result is gone.
    CursorExpired,
    /// The result is too large to be retained for paging.
    SnapshotTooLarge,
    /// The document or the position isn't there.
    NotFound,
    /// A cap on size, number or time was reached.
    CapExceeded,
    /// No language server can answer.
    ProviderUnavailable,
    /// Our fault.
    Internal,
}

impl ErrorCode {
    /// All codes, in the contract's order.
    pub const ALL: [Self; 11] = [
        Self::InvalidParams,
        Self::WorkspaceDenied,
        Self::UriInvalid,
        Self::CursorInvalid,
        Self::CursorStale,
        Self::CursorExpired,
        Self::SnapshotTooLarge,
        Self::NotFound,
        Self::CapExceeded,
        Self::ProviderUnavailable,
        Self::Internal,
    ];

    /// The code's name, `CURSOR_STALE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidParams => "INVALID_PARAMS",
            Self::WorkspaceDenied => "WORKSPACE_DENIED",
            Self::UriInvalid => "URI_INVALID",
            Self::CursorInvalid => "CURSOR_INVALID",
            Self::CursorStale => "CURSOR_STALE",
            Self::CursorExpired => "CURSOR_EXPIRED",
            Self::SnapshotTooLarge => "SNAPSHOT_TOO_LARGE",
            Self::NotFound => "NOT_FOUND",
            Self::CapExceeded => "CAP_EXCEEDED",
            Self::ProviderUnavailable => "PROVIDER_UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.as_str())]
pub struct ToolError {
    /// Which code.
    pub code: ErrorCode,
    /// What to tell a person: one sentence, says what to do.
    pub message: String,
    /// Machine-readable particulars, `{}` when there are none.
    pub details: Map<String, Value>,
}

/// Where a call was when its time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPhase {
    /// Waiting for a free place.
    Queued,
    /// Waiting for the language server to start.
    Starting,
    /// Waiting for the language server to have read the workspace.
    Indexing,
    /// The language server was at work on the question.
    Answering,
}

impl CallPhase {
    /// The word in `details.phase`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Indexing => "indexing",
            Self::Answering => "answering",
        }
    }
}

impl ToolError {
    /// An error without details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Map::new() }
    }

    /// The same with one more detail.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.into(), value.into());
        self
    }

    /// The deadline passed (decisions §3). `progress` is the server's own word on how far it is.
    pub fn timeout(phase: CallPhase, progress: Option<String>, retry_after_ms: u64) -> Self {
        let message = match phase {
            CallPhase::Queued => "the call waited for a free place until its deadline; try again",
            CallPhase::Starting => "the language server is still starting; try again after the hinted time",
            CallPhase::Indexing => "the language server is still indexing; try again after the hinted time",
            CallPhase::Answering => "the language server did not answer before the deadline; try again or ask for less",
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

    /// Too much is going on already (decisions §2).
    pub fn overloaded(retry_after_ms: u64) -> Self {
        Self::new(ErrorCode::CapExceeded, "the service is overloaded; try again after the hinted time")
            .with("reason", "overloaded")
            .with("retryAfterMs", retry_after_ms)
    }

    /// A set or payload passed its cap.
    pub fn too_many(reason: &'static str, limit: usize) -> Self {
        Self::new(ErrorCode::CapExceeded, "the result exceeds a hard cap; ask a narrower question")
            .with("reason", reason)
            .with("limit", limit)
    }

    /// No server can answer; `command` is the one command that would help.
    pub fn provider_unavailable(reason: &'static str, message: impl Into<String>, command: impl Into<String>) -> Self {
        Self::new(ErrorCode::ProviderUnavailable, message).with("reason", reason).with("command", command.into())
    }

    /// Something of ours failed; the particulars are in the log, not here.
    pub fn internal() -> Self {
        Self::new(ErrorCode::Internal, "internal error; the server's log has the particulars")
    }

    /// The details as a JSON value.
    pub fn details_value(&self) -> Value {
        json!(self.details)
    }
}
