//! Whether a call may go on: what the configuration says of its principal and workspace, what is remembered, or what a
//! person says who is asked.
//!
//! It stands between decoding and the gate, so that whoever isn't let in learns nothing about files. Invariants: the
//! configuration's `deny` wins over everything, also over an answer that came later; only an answer that is exactly one of
//! those offered lets a call go on; a call that waits for a person holds no place, and its deadline hasn't begun.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};

use super::elicit::{Line, NoAnswer, Question, Subject};
use super::service::{Progress, ProgressSink};
use crate::limits::PERMISSION_WAIT_MS;
use codeyard_base::clock::Deadline;
use codeyard_base::ids::{PrincipalId, WorkspaceName};
use codeyard_config::PermissionRule;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_protocol::elicit::{Answer, Choice};
use codeyard_state::auth::permissions::{Grant, PermissionStore};
use codeyard_telemetry::{CallTrace, PermissionOutcome};

const ONCE: &str = "once";
const ALWAYS: &str = "always";
const DENY: &str = "deny";

/// What a person may choose.
const CHOICES: &[Choice] = &[
    Choice { word: ONCE, title: "Allow once" },
    Choice { word: ALWAYS, title: "Always allow in this workspace" },
    Choice { word: DENY, title: "Deny" },
];

/// See the module.
#[derive(Clone)]
pub struct Permissions {
    memory: Option<Arc<PermissionStore>>,
    patience: Duration,
}

/// A call that needs a permission.
pub struct Wanted<'a> {
    /// The permission's name.
    pub permission: &'static str,
    /// Who calls.
    pub principal: &'a PrincipalId,
    /// Where.
    pub workspace: &'a WorkspaceName,
    /// The `rootsKey` of the workspace: what was allowed for other folders doesn't hold for these.
    pub roots: &'a str,
    /// The way to the client, if it has one.
    pub line: Option<&'a Line>,
    /// Where progress is told.
    pub progress: Option<&'a ProgressSink>,
    /// What is told of the call.
    pub call: &'a CallTrace,
}

/// What becomes of the call.
pub enum Check {
    /// It may go on.
    Granted,
    /// It may not.
    Refused(ToolError),
    /// A person is asked.
    Asking(BoxFuture<'static, Result<(), ToolError>>),
}

impl Default for Permissions {
    fn default() -> Self {
        Self { memory: None, patience: Duration::from_millis(PERMISSION_WAIT_MS) }
    }
}

impl Permissions {
    /// With a memory for what was always allowed; without one, that holds once.
    pub fn remembered_in(memory: Arc<PermissionStore>) -> Self {
        Self { memory: Some(memory), ..Self::default() }
    }

    /// Replaces the time that a person has, for tests.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Whether the call may go on; `rule` says what the configuration wants, now and once more after an answer.
    pub fn check(&self, wanted: &Wanted<'_>, rule: impl Fn() -> PermissionRule + Send + 'static) -> Check {
        let permission = wanted.permission;
        let refused = |outcome| {
            wanted.call.permission(outcome);
            Check::Refused(refusal(outcome, permission))
        };
        match rule() {
            PermissionRule::Allow => {
                wanted.call.permission(PermissionOutcome::Allowed);
                return Check::Granted;
            }
            PermissionRule::Deny => return refused(PermissionOutcome::Denied),
            PermissionRule::Ask => {}
        }
        let grant = Grant::new(wanted.principal, wanted.workspace, wanted.roots, permission);
        if self.memory.as_ref().is_some_and(|memory| memory.holds(&grant)) {
            wanted.call.permission(PermissionOutcome::Remembered);
            return Check::Granted;
        }
        let Some(line) = wanted.line.cloned() else { return refused(PermissionOutcome::NotAsked) };
        let (progress, call) = (wanted.progress.cloned(), wanted.call.clone());
        let (question, patience) = (self.question(wanted, grant), self.patience);
        let asking = async move {
            let waiting = call.ask_person();
            if let Some(sink) = progress {
                let message = Some("waiting for a person's permission".to_owned());
                sink.send(Progress { progress: 0.0, total: None, message });
            }
            let outcome = match outcome(line.ask(&question, Deadline::after(patience)).await) {
                PermissionOutcome::Once | PermissionOutcome::Always if rule() == PermissionRule::Deny => {
                    PermissionOutcome::Denied
                }
                outcome => outcome,
            };
            waiting.ended(outcome);
            if outcome.is_granted() { Ok(()) } else { Err(refusal(outcome, permission)) }
        };
        Check::Asking(asking.boxed())
    }

    fn question(&self, wanted: &Wanted<'_>, grant: Grant) -> Question {
        let memory = self.memory.clone();
        let keep = move || {
            let kept = memory.as_ref().map(|memory| memory.remember(&grant));
            if let Some(Err(error)) = kept {
                tracing::warn!(%error, "a permission was given for always and can't be remembered; it holds once");
            }
        };
        Question {
            subject: Subject {
                principal: wanted.principal.clone(),
                workspace: wanted.workspace.clone(),
                roots: wanted.roots.to_owned(),
                permission: wanted.permission,
            },
            text: format!(
                "May `{}` use the tool `{}` in the workspace `{}`? It reads code there and changes nothing.",
                wanted.principal, wanted.permission, wanted.workspace
            ),
            title: "Decision",
            choices: CHOICES,
            kept: ALWAYS,
            keep: Arc::new(keep),
        }
    }
}

/// What an answer means.
fn outcome(answer: Result<Answer, NoAnswer>) -> PermissionOutcome {
    match answer {
        Ok(Answer::Accepted(Some(word))) if word == ONCE => PermissionOutcome::Once,
        Ok(Answer::Accepted(Some(word))) if word == ALWAYS => PermissionOutcome::Always,
        Ok(Answer::Accepted(Some(word))) if word == DENY => PermissionOutcome::Declined,
        Ok(Answer::Declined) => PermissionOutcome::Declined,
        Ok(Answer::Dismissed) => PermissionOutcome::Dismissed,
        Ok(Answer::Accepted(_) | Answer::Failed) | Err(NoAnswer::Unable) => PermissionOutcome::NotAsked,
        Err(NoAnswer::TooMany) => PermissionOutcome::TooMany,
        Err(NoAnswer::Late) => PermissionOutcome::Unanswered,
    }
}

/// The error of a call that may not go on.
fn refusal(outcome: PermissionOutcome, permission: &'static str) -> ToolError {
    let setting = format!("permission.{permission}");
    let (reason, what) = match outcome {
        PermissionOutcome::TooMany => return ToolError::overloaded(RETRY_AFTER_MS),
        PermissionOutcome::Declined => ("permission_declined", "a person was asked for permission and said no"),
        PermissionOutcome::Dismissed => {
            ("permission_cancelled", "a person was asked for permission and closed the question without an answer")
        }
        PermissionOutcome::Unanswered => {
            ("permission_unanswered", "a person was asked for permission and didn't answer in time; call again")
        }
        PermissionOutcome::NotAsked => (
            "permission_not_asked",
            "this needs a person's permission, and this client can't ask for it (MCP elicitation in form mode)",
        ),
        _ => ("permission_denied", "the configuration denies this to this principal in this workspace"),
    };
    let message = format!(
        "{what}; an operator can set `{setting}` to \"allow\" or \"ask\" in the configuration, check it with `codeyard config check` \
         and reload it with SIGHUP"
    );
    ToolError::new(ErrorCode::WorkspaceDenied, message).with("reason", reason).with("setting", setting)
}
