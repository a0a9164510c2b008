//! What a call waits for, and the error that it gets when its deadline passes then.
//!
//! The code that answers the call writes it, the call's actor reads it. Invariant: it names one phase at any time.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::limits::LONG_QUESTION_RETRY_MS;
use crate::status::server_state::{Down, ServerState, Unavailable, retry_after_ms};
use crate::status::state_watch;
use crate::workspace::long_questions::{AwaitedExecution, Continuation};
use codeyard_model::error::{CallPhase, ErrorCode, ToolError};

/// The progress of a question that takes longer than a call waits.
const GOES_ON: &str = "it works on the answer; ask the same question again";
/// The same where it can't.
const NO_ROOM: &str = "it works on other long questions first";

/// What a call waits for at the moment.
#[derive(Default)]
pub(super) enum Waiting {
    /// The workspace's actor.
    #[default]
    Queued,
    /// The workspace's first scan of its files, or its search for language servers.
    Preparing,
    /// The first index of the workspace.
    Index,
    /// Several queries that run at once.
    Each(Vec<WaitStatus>),
    /// Language servers that are not ready.
    Servers(Vec<state_watch::Receiver>),
    /// An execution that asks these language servers.
    Execution(Vec<state_watch::Receiver>, AwaitedExecution),
    /// The work of a run, which does this.
    Work(String),
    /// The answer to the query.
    Answer,
}

/// What a call waits for, shared between the code that answers it and its actor. Cheap to clone.
#[derive(Clone, Default)]
pub struct WaitStatus(Arc<Mutex<Waiting>>);

impl WaitStatus {
    /// Replaces the status.
    pub(super) fn write(&self, waiting: Waiting) {
        *self.0.lock() = waiting;
    }

    /// The work of a run, which does this.
    pub fn write_work(&self, what: String) {
        self.write(Waiting::Work(what));
    }

    /// The phase, and the progress that the first unready server reports.
    pub fn read(&self) -> (CallPhase, Option<String>) {
        match &*self.0.lock() {
            Waiting::Queued => (CallPhase::Queued, None),
            Waiting::Preparing => (CallPhase::Starting, None),
            Waiting::Index => (CallPhase::Indexing, None),
            Waiting::Work(what) => (CallPhase::Answering, Some(what.clone())),
            Waiting::Answer => (CallPhase::Answering, None),
            Waiting::Each(statuses) => {
                let unready = statuses.iter().map(Self::read).find(|(phase, _)| *phase != CallPhase::Answering);
                unready.unwrap_or((CallPhase::Answering, None))
            }
            Waiting::Servers(states) | Waiting::Execution(states, _) => {
                let Some(pending) = states.iter().find(|state| state.borrow().is_pending()) else {
                    return (CallPhase::Answering, None);
                };
                let state = pending.borrow().clone();
                let queued = pending.start().ahead().filter(|ahead| *ahead > 0 && state == ServerState::Starting);
                (state.phase(), state.progress().or_else(|| queued.map(starts_before)))
            }
        }
    }

    /// The failure of a server that is being restarted, if the call waits for one.
    fn failing(&self) -> Option<Down> {
        let waiting = self.0.lock();
        let (Waiting::Servers(states) | Waiting::Execution(states, _)) = &*waiting else { return None };
        states.iter().find_map(|state| match &*state.borrow() {
            ServerState::Restarting(down) => Some(down.clone()),
            _ => None,
        })
    }

    /// The error of a call whose deadline passes now: PROVIDER_UNAVAILABLE while a failed server is restarted, otherwise a
    /// timeout with this `code`.
    pub fn timeout(&self, code: ErrorCode) -> ToolError {
        if let Some(down) = self.failing() {
            return Unavailable::down("", &down).to_error().with("retryAfterMs", self.retry_after_ms());
        }
        let (phase, progress) = self.read();
        let (progress, retry_after_ms) = match self.go_on(phase) {
            Continuation::GoesOn(since) => (Some(GOES_ON.to_owned()), retry_of_long_question(since)),
            Continuation::NoRoom => (Some(NO_ROOM.to_owned()), LONG_QUESTION_RETRY_MS),
            Continuation::Ends => (progress, self.retry_after_ms()),
        };
        ToolError { code, ..ToolError::timeout(phase, progress, retry_after_ms) }
    }

    /// Lets the execution that the call waits for go on, if language servers work on it.
    fn go_on(&self, phase: CallPhase) -> Continuation {
        match &*self.0.lock() {
            Waiting::Execution(_, execution) if phase == CallPhase::Answering => execution.go_on(),
            _ => Continuation::Ends,
        }
    }

    /// When the servers that the call waits for are expected to be ready, in milliseconds from now.
    fn retry_after_ms(&self) -> u64 {
        retry_after_ms(self.expected())
    }

    /// The time until the servers that the call waits for are expected to be ready.
    fn expected(&self) -> Duration {
        match &*self.0.lock() {
            Waiting::Servers(states) | Waiting::Execution(states, _) => {
                let pending = states.iter().filter(|state| state.borrow().is_pending());
                let expected = pending.filter_map(|state| match &*state.borrow() {
                    // It isn't in the queue before its next start.
                    ServerState::Restarting(down) if down.retry_in().is_some_and(|wait| !wait.is_zero()) => {
                        Some(down.retry_in()? + state.start().usual()?)
                    }
                    _ => state.start().expected_ready(),
                });
                expected.max().unwrap_or_default()
            }
            Waiting::Each(statuses) => statuses.iter().map(Self::expected).max().unwrap_or_default(),
            _ => Duration::ZERO,
        }
    }
}

/// When to ask again for an answer that has taken `since` until now: it may well take as long again.
fn retry_of_long_question(since: Duration) -> u64 {
    retry_after_ms(since).min(LONG_QUESTION_RETRY_MS)
}

/// The progress of a start that waits for others.
fn starts_before(count: usize) -> String {
    match count {
        1 => "1 other language server starts first".to_owned(),
        _ => format!("{count} other language servers start first"),
    }
}
