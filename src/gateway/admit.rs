//! From a decoded query to the actor of its call: admission, and the wait for a permission before it.
//!
//! Invariant: a call that waits for a person holds no slot, and its deadline has not started.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::sleep_until;

use super::admission::Admission;
use super::launch::{LaunchCall, LaunchCalls};
use super::request::{CallJob, CallResult, CallWork, RequestActor};
use super::service::ProgressSink;
use super::workspace_checks::check_roots;
use crate::limits::STUCK_ANSWER_MS;
use codeyard_access::Principal;
use codeyard_base::clock::Deadline;
use codeyard_catalog::CallPolicy;
use codeyard_engine::answer::wait_status::WaitStatus;
use codeyard_engine::answer::{CodeIndexQuery, EngineQuery, MemberAdmission};
use codeyard_engine::workspace::handle::WorkspaceHandle;
use codeyard_model::answer::Answer;
use codeyard_model::code::CodeRequest;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits;
use codeyard_model::query::Query;
use codeyard_telemetry::{CallTrace, Metrics};

/// A decoded call that was not admitted yet.
pub(super) struct PendingCall {
    pub(super) admission: Admission,
    pub(super) metrics: Arc<dyn Metrics>,
    pub(super) workspace: Arc<WorkspaceHandle>,
    pub(super) query: Query<String>,
    /// The policy of the tool, already tightened to the limits of the workspace.
    pub(super) policy: CallPolicy,
    /// What calls about runs need, and who calls.
    pub(super) launch: (Option<Arc<LaunchCalls>>, Principal),
    pub(super) progress: Option<ProgressSink>,
    pub(super) trace: CallTrace,
}

impl PendingCall {
    /// Admits the call and starts its actor. `deadline` is when the answer is due.
    pub(super) fn start(self, deadline: Deadline) -> Result<AnswerReceiver, ToolError> {
        let Self { admission, metrics, workspace, query, policy, launch, progress, trace: call } = self;
        let slot = admission.admit(&workspace).map_err(|overload| {
            metrics.shed(overload.as_str());
            policy.outcomes.overloaded.apply(ToolError::overloaded(limits::RETRY_AFTER_MS))
        })?;
        check_roots(&workspace)?;
        let (reply, answer) = oneshot::channel();
        let work = match (query, launch) {
            (Query::Launch(request), (Some(calls), principal)) => {
                CallWork::Launch(LaunchCall { calls, workspace, request, principal })
            }
            // This gateway serves no runs.
            (Query::Launch(_), (None, _)) => return Err(ToolError::internal()),
            (query, _) => CallWork::Engine(EngineQuery::Workspace { workspace, query }),
        };
        let status = WaitStatus::default();
        let waiting =
            AnswerReceiver { answer, deadline, status: status.clone(), timeout: policy.outcomes.timeout.code };
        RequestActor::start_for(CallJob { work, policy, deadline, slot, progress, call, reply }, status);
        Ok(waiting)
    }

    /// Starts the call with a deadline that begins now.
    pub(super) fn start_now(self) -> Result<AnswerReceiver, ToolError> {
        let deadline = Deadline::after(Duration::from_millis(self.policy.deadline_ms));
        self.start(deadline)
    }
}

/// A decoded call to a group that was not admitted yet.
pub(super) struct PendingGroupCall {
    pub(super) admission: Admission,
    pub(super) metrics: Arc<dyn Metrics>,
    /// The workspaces, each with whether the caller's permissions include it.
    pub(super) members: Vec<(bool, Arc<WorkspaceHandle>)>,
    pub(super) request: CodeRequest,
    pub(super) policy: CallPolicy,
    pub(super) progress: Option<ProgressSink>,
    pub(super) trace: CallTrace,
}

impl PendingGroupCall {
    /// Admits the call and starts its actor.
    pub(super) fn start(self, deadline: Deadline) -> Result<AnswerReceiver, ToolError> {
        let Self { admission, metrics, members, request, policy, progress, trace: call } = self;
        let permitted: Vec<_> =
            members.iter().filter(|(is_permitted, _)| *is_permitted).map(|(_, member)| member.clone()).collect();
        let (slot, admitted) = admission.admit_group(&permitted).map_err(|overload| {
            metrics.shed(overload.as_str());
            policy.outcomes.overloaded.apply(ToolError::overloaded(limits::RETRY_AFTER_MS))
        })?;
        let mut admitted = admitted.into_iter();
        let with_admission = |(is_permitted, member): (bool, Arc<WorkspaceHandle>)| {
            let admission = match is_permitted {
                false => MemberAdmission::NotPermitted,
                true if admitted.next() == Some(true) => MemberAdmission::Admitted,
                true => MemberAdmission::Overloaded,
            };
            (member, admission)
        };
        let members = members.into_iter().map(with_admission).collect();
        let work = CallWork::Engine(EngineQuery::Group(CodeIndexQuery::of_group(members, request)));
        let (reply, answer) = oneshot::channel();
        let status = WaitStatus::default();
        let waiting =
            AnswerReceiver { answer, deadline, status: status.clone(), timeout: policy.outcomes.timeout.code };
        RequestActor::start_for(CallJob { work, policy, deadline, slot, progress, call, reply }, status);
        Ok(waiting)
    }
}

/// Receives the answer of a call's actor.
pub(super) struct AnswerReceiver {
    answer: oneshot::Receiver<CallResult>,
    deadline: Deadline,
    status: WaitStatus,
    timeout: ErrorCode,
}

impl AnswerReceiver {
    /// Waits for the answer. If the thread of the actor is stuck, nobody enforces the deadline there, so it is enforced here a little later.
    async fn wait(self) -> CallResult {
        let late = self.deadline.instant() + Duration::from_millis(STUCK_ANSWER_MS);
        tokio::select! {
            biased;
            answer = self.answer => answer.unwrap_or_else(|_| Err(ToolError::internal())),
            () = sleep_until(late) => Err(self.status.timeout(self.timeout)),
        }
    }
}

/// Where the answer of a call comes from.
pub(super) enum CallPath {
    /// The call's actor is running.
    Running(AnswerReceiver),
    /// A person is asked for permission first.
    AwaitingPermission(BoxFuture<'static, Result<AnswerReceiver, ToolError>>),
    /// The answer is known without a query.
    Answered(Box<Answer>),
}

impl CallPath {
    /// Waits for the call's answer.
    pub(super) async fn answer(self) -> CallResult {
        let answer = match self {
            Self::Running(answer) => answer,
            Self::AwaitingPermission(permitted) => permitted.await?,
            Self::Answered(answer) => return Ok(*answer),
        };
        answer.wait().await
    }
}
