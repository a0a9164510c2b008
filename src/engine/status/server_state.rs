//! The published state of a language server, and the reason why it can't answer.
//!
//! The state is published by [`state_watch`](super::state_watch), so that a request can wait for a change without an actor.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::limits::MAX_RETRY_AFTER_MS;
use crate::status::server_failure::ServerFailure;
use codeyard_base::clock::Instant;
use codeyard_model::error::{CallPhase, ToolError};
use codeyard_model::limits;

/// The reason of a server that ended and is being restarted.
pub const CRASHED: &str = "crashed";
/// The reason of a server that was stopped on purpose.
pub const STOPPED: &str = "stopped";
/// The reason of a server that failed too often.
pub const QUARANTINED: &str = "quarantined";
/// The reason of a server that doesn't support the request.
pub const UNSUPPORTED: &str = "unsupported";

/// The state of a language server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ServerState {
    /// It is being started, or waits for a back-off to pass.
    Starting,
    /// It failed and is being restarted.
    Restarting(Down),
    /// It runs, but is still indexing the workspace.
    Indexing {
        /// The progress text of the server.
        progress: Option<String>,
    },
    /// It is ready to answer.
    Ready,
    /// It is not running and will not start by itself.
    Down(Down),
}

/// Why a language server doesn't run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Down {
    /// `crashed`, `quarantined`, `not_installed` or `stopped`; see `docs/internals/reference/contract-lsp-v1.md#errors`.
    pub reason: &'static str,
    /// One sentence for people, without paths.
    pub message: String,
    /// The last lines of its standard error. Shown by the doctor only, never part of an answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// How its process failed; `None` if it was stopped on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Arc<ServerFailure>>,
    /// When it is started again by itself; `None`: not without a request.
    #[serde(skip)]
    pub retry_at: Option<Instant>,
}

impl Down {
    /// The time until it is started again by itself.
    pub fn retry_in(&self) -> Option<Duration> {
        Some(self.retry_at?.saturating_duration_since(Instant::now()))
    }

    /// The message; for a quarantine also when it ends.
    pub fn sentence(&self) -> String {
        match self.retry_in().filter(|_| self.reason == QUARANTINED) {
            Some(wait) => format!("{}; it is started again in {} s", self.message, wait.as_secs_f64().ceil()),
            None => self.message.clone(),
        }
    }
}

impl ServerState {
    /// The phase of a call that waits for this state to change.
    pub fn phase(&self) -> CallPhase {
        match self {
            Self::Starting | Self::Restarting(_) | Self::Down(_) => CallPhase::Starting,
            Self::Indexing { .. } => CallPhase::Indexing,
            Self::Ready => CallPhase::Answering,
        }
    }

    /// The progress text of the server.
    pub fn progress(&self) -> Option<String> {
        match self {
            Self::Indexing { progress } => progress.clone(),
            _ => None,
        }
    }

    /// Whether the state will change without a further request.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Starting | Self::Restarting(_) | Self::Indexing { .. })
    }
}

/// When a call is asked to come back that waits for something that is expected after `wait`: in milliseconds, within the limits.
pub fn retry_after_ms(wait: Duration) -> u64 {
    millis(wait).clamp(limits::RETRY_AFTER_MS, MAX_RETRY_AFTER_MS)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Why one provider gave no answer. It is the call's error if no other provider answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// The server's kind; empty if no kind is known for the language.
    pub kind: String,
    /// The reason of `docs/internals/reference/contract-lsp-v1.md#errors`.
    pub reason: &'static str,
    /// One sentence for people, without paths.
    pub message: String,
    pub command: String,
    /// How its process failed, where that is the cause.
    pub failure: Option<Arc<ServerFailure>>,
    /// When the same call may succeed, in milliseconds from now. `None`: not without a change.
    pub retry_after_ms: Option<u64>,
}

impl Unavailable {
    /// For a server that is down.
    pub fn down(kind: &str, down: &Down) -> Self {
        let why = Self::new(kind, down.reason, down.sentence(), "codeyard doctor");
        let wait = down.retry_in();
        let retry_after_ms = match down.reason {
            // Only a server that is being restarted has the reason `crashed`.
            CRASHED => Some(retry_after_ms(wait.unwrap_or_default())),
            // Before its end no call succeeds, so the longest wait of a start doesn't hold.
            QUARANTINED => wait.map(|wait| millis(wait).max(limits::RETRY_AFTER_MS)),
            _ => None,
        };
        Self { failure: down.failure.clone(), retry_after_ms, ..why }
    }

    /// A server that doesn't support the request.
    pub fn unsupported(kind: &str) -> Self {
        let message = "the language server for this language doesn't offer this operation";
        Self::new(kind, UNSUPPORTED, message, "codeyard servers list")
    }

    /// Whether the server doesn't support what it was asked.
    pub fn is_unsupported(&self) -> bool {
        self.reason == UNSUPPORTED
    }

    /// With all fields given.
    pub fn new(kind: &str, reason: &'static str, message: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            reason,
            message: message.into(),
            command: command.into(),
            failure: None,
            retry_after_ms: None,
        }
    }

    /// Whether it is the failure of a server that is there, which may hold more than the answers of the others.
    pub fn has_failed(&self) -> bool {
        matches!(self.reason, CRASHED | QUARANTINED)
    }

    /// Whether the same question may be answered at the next try, although nothing changes that raises an epoch.
    pub fn may_pass(&self) -> bool {
        matches!(self.reason, "overloaded" | "server_error" | "timeout")
    }

    /// The same, of a cause that passes.
    pub fn retry_after(self, ms: u64) -> Self {
        Self { retry_after_ms: Some(ms), ..self }
    }

    /// The call's error.
    pub fn to_error(&self) -> ToolError {
        let error = ToolError::provider_unavailable(self.reason, self.message.clone(), self.command.clone());
        let error = if self.kind.is_empty() { error } else { error.with("server", self.kind.clone()) };
        let error = match &self.failure {
            Some(failure) => failure.describe(error),
            None => error,
        };
        match self.retry_after_ms {
            Some(ms) => error.with("retryAfterMs", ms),
            None => error,
        }
    }

    /// The line of a summary.
    pub fn to_note(&self) -> String {
        format!("{}: {}", self.kind, self.reason)
    }
}
