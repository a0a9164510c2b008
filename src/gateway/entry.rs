//! From a decoded question to the actor of its call: admission, the gate, and the wait for a person before both.
//!
//! Invariant: a call that waits for a person has no place yet, and no deadline.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::oneshot;

use super::admission::Admission;
use super::request::{Job, Request};
use super::router::gated;
use super::service::ProgressSink;
use codeyard_base::clock::Deadline;
use codeyard_engine::directory::WorkspaceHandle;
use codeyard_model::answer::Answer;
use codeyard_model::error::ToolError;
use codeyard_model::limits;
use codeyard_model::query::Query;
use codeyard_telemetry::{CallTrace, Metrics};

/// A call that may go on to its workspace.
pub(super) struct Entry {
    pub(super) admission: Admission,
    pub(super) metrics: Arc<dyn Metrics>,
    pub(super) workspace: Arc<WorkspaceHandle>,
    pub(super) query: Query<String>,
    pub(super) progress: Option<ProgressSink>,
    pub(super) trace: CallTrace,
}

impl Entry {
    /// Rows 5 and 6. `deadline` is when the call must be answered.
    pub(super) fn enter(self, deadline: Deadline) -> Result<Receiver, ToolError> {
        let Self { admission, metrics, workspace, query, progress, trace: call } = self;
        let place = admission.enter(&workspace).map_err(|full| {
            metrics.shed(full.as_str());
            ToolError::overloaded(limits::RETRY_AFTER_MS)
        })?;
        let mut seen = None;
        let query = Arc::new(gated(&workspace, query, &mut seen)?);
        let (reply, answer) = oneshot::channel();
        Request::start_for(Job { query, seen, workspace, deadline, place, progress, call, reply });
        Ok(answer)
    }
}

/// Where the answer of a call's actor comes.
pub(super) type Receiver = oneshot::Receiver<Result<Answer, ToolError>>;

/// How a call goes on.
pub(super) enum Way {
    /// Its actor runs.
    Open(Receiver),
    /// A person is asked first.
    Asking(BoxFuture<'static, Result<Receiver, ToolError>>),
    /// There is nothing to be asked.
    Known(Box<Answer>),
}

impl Way {
    /// The call's answer.
    pub(super) async fn answer(self) -> Result<Answer, ToolError> {
        let answer = match self {
            Self::Open(answer) => answer,
            Self::Asking(asking) => asking.await?,
            Self::Known(answer) => return Ok(*answer),
        };
        answer.await.unwrap_or_else(|_| Err(ToolError::internal()))
    }
}
