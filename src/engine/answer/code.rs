//! Queries of the code index: apply the file changes, wait for a first index, then query the projects on a blocking thread. With
//! `confirm: true` language servers [confirm](super::confirm) the rows. Dropping the future cancels this work.
//!
//! Invariants: a query sees every file change that was on disk before the call; shortly before its deadline a query returns a
//! partial answer if there is one; no call waits for an indexing job to end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout_at;

use super::blocking_work::{BlockingWork, PARTIAL_ANSWER_MARGIN};
use super::confirm::RowConfirmation;
use super::wait_status::{WaitStatus, Waiting};
use crate::indexer::code_query;
use crate::indexer::code_query::{IndexAnswer, Projects};
use crate::indexer::handle::IndexHandle;
use crate::indexer::health;
use crate::indexer::indexes::Indexes;
use crate::indexer::messages::{BeginJob, CatchUp, FirstIndex};
use crate::indexer::query_end::QueryEnd;
use crate::indexer::refusals;
use crate::indexer::repo_filter::{self, RepoFilter};
use crate::limits;
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::messages::{BeginCode, BegunCode};
use codeyard_base::clock::{Deadline, Instant};
use codeyard_model::code::{
    ActiveJob, AnswerMetadata, CodeAnswer, CodeError, CodeQuery, CodeRefusal, CodeRequest, IndexingStatus, JobAnswer,
    JobMode, SchemaStatus, WorkspaceError,
};
use codeyard_model::error::{CallPhase, ToolError};
use codeyard_telemetry::CallTrace;

/// Answers `request`. `deadline` isn't enforced here: shortly before it, the partial answer is returned.
pub(super) async fn answer(
    workspace: &WorkspaceHandle,
    request: &CodeRequest,
    deadline: Deadline,
    status: &WaitStatus,
    call: &CallTrace,
) -> Result<CodeAnswer, ToolError> {
    let query = &request.query;
    let indexed = begin(workspace, deadline, status, call).await?;
    let code_call = CodeCall { workspace, query, deadline, status, call, indexed: &indexed };
    let answer = match query {
        CodeQuery::Health { workspace: root } => code_call.health(root.as_deref()).await?,
        CodeQuery::Index { force, reference } | CodeQuery::Sync { force, reference } => {
            code_call.job(*force, reference.as_deref()).await?
        }
        CodeQuery::Search(_) | CodeQuery::Locate(_) | CodeQuery::Outline(_) => {
            code_call.first_index().await?;
            code_call.query_projects().await?
        }
        CodeQuery::Status { .. } => code_call.query_projects().await?,
    };
    record_state(&answer, call);
    Ok(answer)
}

/// Records how fresh and how complete an answer is.
pub(super) fn record_state(answer: &CodeAnswer, call: &CallTrace) {
    if let Some(metadata) = code_query::metadata_of(answer) {
        let (freshness, completeness) = (metadata.freshness.as_str(), metadata.completeness.as_str());
        call.update(|record| (record.freshness, record.completeness) = (Some(freshness), Some(completeness)));
    }
}

/// Applies the file changes and opens the index.
pub(super) async fn begin(
    workspace: &WorkspaceHandle,
    deadline: Deadline,
    status: &WaitStatus,
    call: &CallTrace,
) -> Result<IndexHandle, ToolError> {
    let mut is_patient = true;
    let patience = Instant::now() + Duration::from_millis(limits::CODE_WALK_WAIT_MS).min(deadline.left());
    loop {
        // While some indexed files are not watched, answers are marked as possibly stale, whatever the watcher has seen.
        if let Some(watch) = workspace.watch.get().filter(|watch| watch.index_degraded().is_none()) {
            watch.barrier().await;
        }
        let begin = BeginCode { call: call.clone(), is_patient };
        match workspace.actor.send(begin).await.map_err(|_| ToolError::internal())?? {
            BegunCode::Open(indexed) => return Ok(indexed),
            BegunCode::Opening(opening) => {
                status.write(Waiting::Preparing);
                opening.await;
            }
            BegunCode::Walking(walking) => {
                status.write(Waiting::Preparing);
                is_patient = timeout_at(patience, walking).await.is_ok();
            }
        }
    }
}

/// One query of the index while it runs.
struct CodeCall<'a> {
    workspace: &'a WorkspaceHandle,
    query: &'a CodeQuery,
    deadline: Deadline,
    status: &'a WaitStatus,
    call: &'a CallTrace,
    indexed: &'a IndexHandle,
}

impl CodeCall<'_> {
    fn indexes(&self) -> &Arc<Indexes> {
        &self.workspace.indexes
    }

    /// Starts the first index of roots without one, and waits for it within [`limits::FIRST_INDEX_WAIT_MS`].
    async fn first_index(&self) -> Result<(), ToolError> {
        if self.query.reference().is_some() {
            return Ok(());
        }
        let most = Duration::from_millis(limits::FIRST_INDEX_WAIT_MS);
        let until = Instant::now() + most.min(self.deadline.left().saturating_sub(PARTIAL_ANSWER_MARGIN));
        while !self.indexed.state.is_indexed() {
            let asked = self.indexed.indexer.send(FirstIndex).await.map_err(|_| ToolError::internal())?;
            let Some(mut jobs) = asked else { return Ok(()) };
            self.status.write(Waiting::Index);
            let _waiting = self.call.wait_for_index();
            let ended = timeout_at(until, jobs.changed()).await;
            if !matches!(ended, Ok(Ok(()))) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Queries the projects.
    async fn query_projects(&self) -> Result<CodeAnswer, ToolError> {
        let selected = match self.selected_roots() {
            Ok(selected) => selected,
            Err(refusal) => return Ok(CodeAnswer::Refused(refusal)),
        };
        let query = self.query.clone();
        let projects: Vec<_> = match &selected {
            Some(roots) => roots.iter().map(|at| self.indexed.projects[*at].clone()).collect(),
            None => self.indexed.projects.to_vec(),
        };
        let payload_bytes = self.workspace.payload_bytes;
        let answered = self.run_blocking(move |end| {
            let projects = Projects { all: &projects, payload_bytes };
            projects.answer(&query, &|| end.is_reached())
        });
        let IndexAnswer { mut answer, mut behind } = answered.await?.ok_or_else(ToolError::internal)?;
        if let Some(roots) = selected {
            behind = behind.into_iter().filter_map(|at| roots.get(at).copied()).collect();
        }
        let reference = self.query.reference().map(str::to_owned);
        let is_lost = |metadata: &AnswerMetadata| metadata.indexing == IndexingStatus::NotIndexed;
        if reference.is_none()
            && self.indexed.state.is_indexed()
            && code_query::metadata_of(&answer).is_some_and(is_lost)
        {
            // The index of the working tree was there before, so it was removed from the disk: index all roots again.
            behind = (0..self.indexed.projects.len()).collect();
        }
        if !behind.is_empty() {
            // A full mailbox already holds the same message.
            drop(self.indexed.indexer.try_send(CatchUp { roots: behind, reference }));
        }
        if matches!(answer, CodeAnswer::Rows(_) | CodeAnswer::Outline(_)) {
            self.record_use();
        }
        if let (CodeAnswer::Rows(found), Some(true)) = (&mut answer, self.query.shape().map(|shape| shape.confirm)) {
            let confirmation = RowConfirmation {
                workspace: self.workspace,
                reference: self.query.reference(),
                deadline: self.deadline.earlier(PARTIAL_ANSWER_MARGIN),
                status: self.status,
                call: self.call,
            };
            confirmation.confirm(found).await;
        }
        Ok(answer)
    }

    /// The roots that `repo:` selects; `None` if the query has no such filter.
    fn selected_roots(&self) -> Result<Option<Vec<usize>>, Box<CodeRefusal>> {
        let Some(filter) = RepoFilter::of(self.query)? else { return Ok(None) };
        let roots = filter.roots(self.workspace.name.as_str(), self.workspace.gate.root_set().roots());
        if roots.is_empty() {
            return Err(repo_filter::selects_nothing(self.query, self.workspace.name.as_str()));
        }
        Ok(Some(roots))
    }

    /// Records that the workspace's index was used. The next start preloads such indexes.
    fn record_use(&self) {
        let roots = self.workspace.gate.root_set().roots();
        if self.indexed.state.is_indexed() && self.indexes().warmset.record_use(roots) {
            self.indexes().store_warmset();
        }
    }

    async fn health(&self, root: Option<&str>) -> Result<CodeAnswer, ToolError> {
        let only = root.and_then(|root| self.workspace.gate.root_set().position(root));
        let (indexed, indexes) = (self.indexed.clone(), self.indexes().clone());
        let health = self.run_blocking(move |_| health::health(&indexed, &indexes, only)).await?;
        Ok(match health {
            Some(health) => CodeAnswer::Health(Box::new(health)),
            None => CodeAnswer::Refused(Box::new(refusals::no_root())),
        })
    }

    async fn job(&self, is_forced: bool, reference: Option<&str>) -> Result<CodeAnswer, ToolError> {
        let Some(first) = self.indexed.projects.first().cloned() else {
            return Ok(CodeAnswer::Refused(Box::new(refusals::no_root())));
        };
        let request = BeginJob { reference: reference.map(str::to_owned), is_forced };
        let Some(turn) = self.indexed.queries.turn().await else { return Err(hangs()) };
        let begun = self.indexed.indexer.send(request).await.map_err(|_| ToolError::internal())?;
        drop(turn);
        let mut metadata = self.run_blocking(move |_| first.metadata()).await?;
        if let Some(reference) = reference {
            metadata.reference = reference.to_owned();
        }
        Ok(match begun {
            Some(Ok(begun)) => {
                CodeAnswer::Job(JobAnswer { job_id: begun.id, status: begun.status, mode: begun.mode, metadata })
            }
            Some(Err(active)) => CodeAnswer::Refused(Box::new(job_in_progress(active).with_metadata(metadata))),
            None if self.indexed.queries.hang() => return Err(hangs()),
            None => CodeAnswer::Refused(Box::new(job_unavailable(metadata))),
        })
    }

    /// Runs `work` on a blocking thread.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&QueryEnd) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let queries = self.indexed.queries.clone();
        let Some(turn) = queries.turn().await else { return Err(hangs()) };
        let blocking_work = BlockingWork {
            indexes: self.indexes(),
            turn,
            deadline: self.deadline,
            status: self.status,
            call: self.call,
        };
        let work = move |end: &QueryEnd, _: usize| {
            let _running = queries.begin()?;
            Some(work(end))
        };
        blocking_work.run(work).await?.ok_or_else(hangs)
    }
}

/// The error of a query whose workspace has queries that hang.
fn hangs() -> ToolError {
    ToolError::timeout(CallPhase::Queued, Some(HANGS.to_owned()), limits::HANGING_RETRY_AFTER_MS)
}

/// The entry of a workspace whose queries hang in the answer of a group's job request.
pub(super) fn no_job_began() -> WorkspaceError {
    WorkspaceError { code: CodeError::Timeout, message: format!("No job began: {HANGS}.") }
}

/// Why a workspace whose queries hang isn't asked.
const HANGS: &str = "earlier queries of this workspace still wait for its files: a file system hangs";

/// The error of a job request while another job runs.
pub(super) fn job_in_progress(active: ActiveJob) -> CodeRefusal {
    let (code, what) = match active.mode {
        JobMode::Full => (CodeError::IndexInProgress, "builds the index"),
        JobMode::Incremental => (CodeError::SyncInProgress, "brings the index up to date"),
    };
    let message = format!("The job {} {what}. Call index_status until it shows no active job.", active.job_id);
    CodeRefusal::new(code, message)
        .with("job_id", active.job_id)
        .with("status", active.status.as_str())
        .with("mode", active.mode.as_str())
        .with("changed_files", active.changed_files)
        .with("started_at", active.started_at)
}

/// The error of a job request that the workspace can't accept.
pub(super) fn job_unavailable(metadata: AnswerMetadata) -> CodeRefusal {
    let refusal = match metadata.schema {
        SchemaStatus::ReindexRequired | SchemaStatus::CorruptManifest => CodeRefusal::new(
            CodeError::IndexIncompatible,
            "This build can't read the index. Call index_repo with force, or run `codeyard index --force`.",
        )
        .with("schema_status", metadata.schema.as_str())
        .with("remediation", "codeyard index --force"),
        _ => CodeRefusal::new(CodeError::IndexNotReady, "The workspace is being stopped. Ask again once it is back."),
    };
    refusal.with_metadata(metadata)
}
