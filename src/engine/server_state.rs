//! What the world may know of a language server: where it is in its life, and what to say when it can't answer.
//!
//! The state is published by [`state_watch`](super::state_watch), so that a request can wait for it without holding an actor.

use serde::Serialize;

use codeyard_model::error::{Phase, ToolError};

/// The reason of a server that was stopped on purpose.
pub const STOPPED: &str = "stopped";
/// The reason of a server that failed too often.
pub const QUARANTINED: &str = "quarantined";
/// The reason of a server that can't do what is asked.
pub const UNSUPPORTED: &str = "unsupported";

/// Where a language server is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ServerState {
    /// Being started, or waiting out a back-off before the next start.
    Starting,
    /// It failed, and is being started again.
    Restarting(Down),
    /// Running, but it hasn't read the workspace yet.
    Indexing {
        /// The server's own word on how far it is.
        progress: Option<String>,
    },
    /// Answers are to be believed.
    Ready,
    /// Not running, and not about to.
    Down(Down),
}

/// Why a language server doesn't run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Down {
    /// One of the reasons of decisions §3: `crashed`, `quarantined`, `not_installed`, `stopped`.
    pub reason: &'static str,
    /// One sentence for people, without paths.
    pub message: String,
    /// The last lines of its standard error; for the doctor only, never for an answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

impl ServerState {
    /// The phase a call is in that waits for this state to change.
    pub fn phase(&self) -> Phase {
        match self {
            Self::Starting | Self::Restarting(_) | Self::Down(_) => Phase::Starting,
            Self::Indexing { .. } => Phase::Indexing,
            Self::Ready => Phase::Answering,
        }
    }

    /// The server's word on how far it is.
    pub fn progress(&self) -> Option<String> {
        match self {
            Self::Indexing { progress } => progress.clone(),
            _ => None,
        }
    }

    /// Whether waiting for a change makes sense.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Starting | Self::Restarting(_) | Self::Indexing { .. })
    }
}

/// Why one provider gave no answer: passed over if another one does, the call's error if none does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// The server's kind; empty if no kind is known for the language.
    pub kind: String,
    /// One of the reasons of decisions §3.
    pub reason: &'static str,
    /// One sentence for people, without paths.
    pub message: String,
    /// The one command that would help.
    pub command: String,
}

impl Unavailable {
    /// For a server that is down.
    pub fn down(kind: &str, down: &Down) -> Self {
        Self::new(kind, down.reason, down.message.clone(), "codeyard doctor")
    }

    /// For a server that can't do what is asked.
    pub fn unsupported(kind: &str) -> Self {
        let message = "the language server for this language doesn't offer this operation";
        Self::new(kind, UNSUPPORTED, message, "codeyard servers list")
    }

    /// With everything said.
    pub fn new(kind: &str, reason: &'static str, message: impl Into<String>, command: impl Into<String>) -> Self {
        Self { kind: kind.into(), reason, message: message.into(), command: command.into() }
    }

    /// The call's error.
    pub fn to_error(&self) -> ToolError {
        let error = ToolError::provider_unavailable(self.reason, self.message.clone(), self.command.clone());
        if self.kind.is_empty() { error } else { error.with("server", self.kind.clone()) }
    }

    /// The line of a summary.
    pub fn to_note(&self) -> String {
        format!("{}: {}", self.kind, self.reason)
    }
}
