//! The permission check of a call: the configuration's rule for the principal and the workspace, a remembered grant, or a
//! person's answer to a prompt. In the stateless revision the prompt is the call's result, and the answer comes with the call's repetition.
//!
//! It runs after decoding and before the path check, so a denied caller learns nothing about files. Invariants: the
//! configuration's `deny` has precedence, also over a later answer; only an offered word grants a call; a call that waits for a
//! person holds no slot, and its deadline has not started. See `docs/internals/decisions/permissions.md`.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use serde_json::value::RawValue;

use super::elicit::{NoAnswer, Prompt, PromptSender, PromptSubject};
use super::request_state::{RequestStates, StateCheck, Subject};
use super::service::{Progress, ProgressSink};
use crate::limits::PERMISSION_WAIT_MS;
use codeyard_access::{CredentialKind, Principal};
use codeyard_base::clock::Deadline;
use codeyard_base::ids::WorkspaceName;
use codeyard_base::{blocking, seeded_faults, stable_json};
use codeyard_catalog::{CallPolicy, OutcomeCodes};
use codeyard_config::{LSP, PermissionRule};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::RETRY_AFTER_MS;
use codeyard_protocol::elicit::{self, Choice, FormAnswer};
use codeyard_protocol::stateless::InputRound;
use codeyard_state::{Grant, PermissionStore};
use codeyard_telemetry::{CallTrace, PermissionOutcome};

const ONCE: &str = "once";
const ALWAYS: &str = "always";
const DENY: &str = "deny";

/// The key of the question in a result that asks for input.
const INPUT: &str = "permission";

/// The choices of the prompt (`docs/internals/protocol.md#questions-to-a-person`).
const CHOICES: &[Choice] = &[
    Choice { word: ONCE, title: "Allow once" },
    Choice { word: ALWAYS, title: "Always allow in this workspace" },
    Choice { word: DENY, title: "Deny" },
];

/// Checks permissions. Cheap to clone.
#[derive(Clone)]
pub struct Permissions {
    store: Option<Arc<PermissionStore>>,
    states: Arc<RequestStates>,
    wait: Duration,
}

/// A call that needs a permission. The permission is one of an operation: whichever catalog's tool does it, the rule, the grant and
/// the open prompt are the same.
pub struct PermissionRequest<'a> {
    /// The permission's name: the key below `permission` in the configuration.
    pub permission: &'static str,
    /// The error codes of a call that is not permitted, or not asked because too many prompts are open.
    pub outcomes: OutcomeCodes,
    /// The caller.
    pub principal: &'a Principal,
    /// The workspace that is called.
    pub workspace: &'a WorkspaceName,
    /// The key of the workspace's root set. A grant for other roots doesn't apply.
    pub roots: &'a str,
    /// Sends prompts to the client, if its session can receive them.
    pub prompts: Option<&'a PromptSender>,
    /// In the stateless revision, which has no prompts: whether the client can be asked by the result, and its answers.
    pub input: Option<&'a InputRound>,
    /// The tool that is called.
    pub tool: &'a str,
    /// The arguments of the call. An answer counts for the same ones only.
    pub arguments: Option<&'a RawValue>,
    /// Receives progress, if the client asked for it.
    pub progress: Option<&'a ProgressSink>,
    /// The call's record and spans.
    pub call: &'a CallTrace,
}

/// The result of a permission check.
pub enum PermissionCheck {
    /// The call is permitted.
    Granted,
    /// The call is not permitted.
    Denied(ToolError),
    /// A person is asked by the call's result, which is this JSON text.
    InputRequired(Vec<u8>),
    /// A person is asked; the future resolves to the decision.
    Pending(BoxFuture<'static, Result<(), ToolError>>),
}

impl Default for Permissions {
    fn default() -> Self {
        Self { store: None, states: Arc::default(), wait: Duration::from_millis(PERMISSION_WAIT_MS) }
    }
}

impl Permissions {
    /// Permissions that remember the answer "always" in `store`. Without a store it counts as "once".
    pub fn remembered_in(store: Arc<PermissionStore>) -> Self {
        Self { store: Some(store), ..Self::default() }
    }

    /// Replaces the longest wait for a person, for tests.
    pub fn with_wait(self, wait: Duration) -> Self {
        Self { wait, states: Arc::new(RequestStates::new(wait)), ..self }
    }

    /// Whether a call to several workspaces may include this one. Nobody is asked.
    pub fn includes(
        &self,
        permission: &str,
        rule: PermissionRule,
        principal: &Principal,
        workspace: &WorkspaceName,
        roots: &str,
    ) -> bool {
        let grant = || Grant::new(&principal.id, workspace, roots, permission);
        match rule {
            PermissionRule::Allow => true,
            PermissionRule::Ask => self.store.as_ref().is_some_and(|store| store.contains(&grant())),
            PermissionRule::Deny => false,
        }
    }

    /// Checks `request`. `rule` reads the configuration's rule: now, and again after an answer.
    pub fn check(
        &self,
        request: &PermissionRequest<'_>,
        rule: impl Fn() -> PermissionRule + Send + 'static,
    ) -> PermissionCheck {
        let permission = request.permission;
        let outcomes = request.outcomes;
        let denied = |outcome| {
            request.call.permission(outcome);
            PermissionCheck::Denied(denial(outcome, permission, &outcomes))
        };
        match rule() {
            PermissionRule::Allow => {
                request.call.permission(PermissionOutcome::Allowed);
                return PermissionCheck::Granted;
            }
            PermissionRule::Deny if seeded_faults::is_on("deny_allows") => return PermissionCheck::Granted,
            PermissionRule::Deny => return denied(PermissionOutcome::Denied),
            PermissionRule::Ask => {}
        }
        let grant = Grant::new(&request.principal.id, request.workspace, request.roots, permission);
        if self.store.as_ref().is_some_and(|store| store.contains(&grant)) {
            request.call.permission(PermissionOutcome::Remembered);
            return PermissionCheck::Granted;
        }
        if let Some(round) = request.input {
            return self.check_round(request, round, grant, rule);
        }
        let Some(prompts) = request.prompts.cloned() else { return denied(PermissionOutcome::NotAsked) };
        let progress = request.progress.cloned();
        let call = request.call.clone();
        let prompt = self.prompt(request, grant);
        let wait = self.wait;
        let decision = async move {
            let waiting = call.wait_for_permission();
            if let Some(sink) = progress {
                let message = Some("waiting for a person's permission".to_owned());
                sink.send(Progress { progress: 0.0, total: None, message });
            }
            let outcome = match outcome(prompts.ask(&prompt, Deadline::after(wait)).await) {
                PermissionOutcome::Once | PermissionOutcome::Always if rule() == PermissionRule::Deny => {
                    PermissionOutcome::Denied
                }
                outcome => outcome,
            };
            waiting.ended(outcome);
            if outcome.is_granted() { Ok(()) } else { Err(denial(outcome, permission, &outcomes)) }
        };
        PermissionCheck::Pending(decision.boxed())
    }

    /// Checks a call of the stateless revision: asks by the result, or takes the answer that the call brings.
    fn check_round(
        &self,
        request: &PermissionRequest<'_>,
        round: &InputRound,
        grant: Grant,
        rule: impl Fn() -> PermissionRule,
    ) -> PermissionCheck {
        let arguments = canonical_arguments(request.arguments);
        let subject: Subject<'_> = [
            &request.principal.key(),
            request.workspace.as_str(),
            request.roots,
            request.permission,
            request.tool,
            &arguments,
        ];
        let denied = |outcome| {
            request.call.permission(outcome);
            PermissionCheck::Denied(denial(outcome, request.permission, &request.outcomes))
        };
        if !round.supports_forms {
            return denied(PermissionOutcome::NotAsked);
        }
        let state = round.state.as_ref().map(|state| self.states.redeem(state, &subject));
        let answer = match state {
            Some(StateCheck::Foreign) => return PermissionCheck::Denied(foreign_state()),
            Some(StateCheck::Valid) => round.responses.as_ref().and_then(|given| elicit::input_answer(given, INPUT)),
            Some(StateCheck::Expired) | None => None,
        };
        let prompt = self.prompt(request, grant);
        let Some(answer) = answer else {
            let Some(state) = self.states.issue(&subject) else { return denied(PermissionOutcome::TooMany) };
            request.call.permission(PermissionOutcome::Requested);
            return PermissionCheck::InputRequired(prompt.form().input_request(INPUT, &state));
        };
        let outcome = match outcome(Ok(answer)) {
            outcome if outcome.is_granted() && rule() == PermissionRule::Deny => PermissionOutcome::Denied,
            outcome => outcome,
        };
        if !outcome.is_granted() {
            return denied(outcome);
        }
        request.call.permission(outcome);
        if outcome != PermissionOutcome::Always {
            return PermissionCheck::Granted;
        }
        // Storing may block. It logs its own failures.
        let remembered = blocking::spawn(move || (prompt.remember)());
        PermissionCheck::Pending(
            async move {
                drop(remembered.await);
                Ok(())
            }
            .boxed(),
        )
    }

    fn prompt(&self, request: &PermissionRequest<'_>, grant: Grant) -> Prompt {
        let store = self.store.clone().filter(|_| !request.principal.is_minted());
        let remember = move || {
            let remembered = store.as_ref().map(|store| store.remember(&grant));
            if let Some(Err(error)) = remembered {
                tracing::warn!(%error, "could not store a permission that was granted for always; it applies to this call only");
            }
        };
        Prompt {
            subject: PromptSubject {
                principal: request.principal.clone(),
                workspace: request.workspace.clone(),
                roots: request.roots.to_owned(),
                permission: request.permission,
            },
            text: format!(
                "May `{}` use {} in the workspace `{}`? It reads code there and changes nothing.",
                request.principal.id,
                operations(request.permission),
                request.workspace.short()
            ),
            title: "Decision",
            choices: CHOICES,
            remembered_word: ALWAYS,
            remember: Arc::new(remember),
        }
    }
}

/// The arguments of a call, the same text for every way to write them.
fn canonical_arguments(arguments: Option<&RawValue>) -> String {
    let text = arguments.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_or_else(|_| text.to_owned(), |value| stable_json::stringify(&value))
}

/// The call brings a state that wasn't given out for it.
fn foreign_state() -> ToolError {
    let message = "`requestState` is not one that this call was given; send the call again without `requestState` and `inputResponses`";
    ToolError::new(ErrorCode::InvalidParams, message).with("reason", "request_state")
}

/// What a permission is about, for a person.
fn operations(permission: &str) -> String {
    match permission {
        LSP => "code intelligence (`lsp`: navigation, symbols, diagnostics, search)".to_owned(),
        other => format!("the tool `{other}`"),
    }
}

/// The outcome of a prompt.
fn outcome(answer: Result<FormAnswer, NoAnswer>) -> PermissionOutcome {
    match answer {
        Ok(FormAnswer::Accepted(Some(word))) if word == ONCE => PermissionOutcome::Once,
        Ok(FormAnswer::Accepted(Some(word))) if word == ALWAYS => PermissionOutcome::Always,
        Ok(FormAnswer::Accepted(Some(word))) if word == DENY => PermissionOutcome::Declined,
        Ok(FormAnswer::Declined) => PermissionOutcome::Declined,
        Ok(FormAnswer::Dismissed) => PermissionOutcome::Dismissed,
        Ok(FormAnswer::Accepted(_) | FormAnswer::Failed) | Err(NoAnswer::Unavailable) => PermissionOutcome::NotAsked,
        Err(NoAnswer::TooMany) => PermissionOutcome::TooMany,
        Err(NoAnswer::TimedOut) => PermissionOutcome::Unanswered,
    }
}

/// Refuses a call whose tool does what the caller's credential doesn't allow. A call of a tool is no secret, so the error says what is missing.
pub(super) fn check_operation(principal: &Principal, policy: &CallPolicy) -> Result<(), ToolError> {
    let operation = policy.operation;
    if principal.may(operation) {
        return Ok(());
    }
    if principal.scope.obtainable().contains(operation) {
        let message = format!(
            "the access token of this call doesn't have the scope `{}` (to {}); sign on again and ask for it",
            operation.as_str(),
            operation.meaning()
        );
        let error = ToolError::new(policy.outcomes.denied.code, message);
        return Err(error.with("reason", "insufficient_scope").with("operation", operation.as_str()));
    }
    let has_signed_on = principal
        .credential
        .as_ref()
        .is_some_and(|credential| matches!(credential.kind, CredentialKind::SignedOn { .. }));
    if has_signed_on {
        let message = format!(
            "the rule for this caller doesn't allow the operation `{operation}` (to {what}); an operator adds it to `operations` in `[[issuers.NAME.callers]]`",
            operation = operation.as_str(),
            what = operation.meaning()
        );
        let error = ToolError::new(policy.outcomes.denied.code, message);
        return Err(error.with("reason", "operation_not_allowed").with("operation", operation.as_str()));
    }
    let message = format!(
        "the token of this call doesn't allow the operation `{operation}` (to {what}); `codeyard token show ID` says what a token allows, and \
         `codeyard token add NAME --operation {operation}` makes one that allows it",
        operation = operation.as_str(),
        what = operation.meaning()
    );
    let error = ToolError::new(policy.outcomes.denied.code, message);
    Err(error.with("reason", "operation_not_allowed").with("operation", operation.as_str()))
}

/// The error of a call that is not permitted.
pub(super) fn denial(outcome: PermissionOutcome, permission: &'static str, outcomes: &OutcomeCodes) -> ToolError {
    let setting = format!("permission.{permission}");
    let (reason, what) = match outcome {
        PermissionOutcome::TooMany => return outcomes.overloaded.apply(ToolError::overloaded(RETRY_AFTER_MS)),
        PermissionOutcome::Declined => ("permission_declined", "a person declined the permission"),
        PermissionOutcome::Dismissed => {
            ("permission_cancelled", "a person closed the permission prompt without an answer")
        }
        PermissionOutcome::Unanswered => {
            ("permission_unanswered", "no person answered the permission prompt in time; call again")
        }
        PermissionOutcome::NotAsked => (
            "permission_not_asked",
            "this call needs a person's permission, and the client does not support prompts (MCP elicitation in form mode)",
        ),
        _ => ("permission_denied", "the configuration denies this permission to this principal in this workspace"),
    };
    let message = format!(
        "{what}; an operator can set `{setting}` to \"allow\" or \"ask\" in the configuration, check it with `codeyard config check` \
         and reload it with SIGHUP"
    );
    ToolError::new(outcomes.denied.code, message).with("reason", reason).with("setting", setting)
}
