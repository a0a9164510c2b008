//! The way of a question of the catalog `code` through the engine: what changed on disk is taken, a first index is waited for, then the
//! projects are asked on a thread that may block; what they find is [confirmed](super::confirm) by language servers if that is wanted.
//! Dropping the future ends that work.
//!
//! Invariants: what was on disk before the call is known before it is answered; a question that could be answered in part by its
//! deadline is; a job's own time is nobody's deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::timeout_at;

use super::confirm::Confirming;
use super::pipeline::{Board, Waiting};
use crate::limits;
use codeyard_base::blocking;
use codeyard_base::clock::{Deadline, Instant};
use codeyard_engine::directory::{Directory, WorkspaceHandle};
use codeyard_engine::indexer::ask::{self, Answered, Projects};
use codeyard_engine::indexer::{BeginJob, CatchUp, FirstIndex, Indexed, Indexes, health};
use codeyard_engine::workspace::{BeginCode, BegunCode};
use codeyard_model::code::{
    ActiveJob, CodeAnswer, CodeError, CodeQuery, Indexing, JobAnswer, JobMode, Metadata, Refusal, Schema,
};
use codeyard_model::error::ToolError;
use codeyard_telemetry::CallTrace;

/// Answers `query`. It has no deadline of its own; shortly before `deadline` it gives what it has.
pub(super) async fn answer(
    workspace: &WorkspaceHandle,
    query: &CodeQuery,
    deadline: Deadline,
    board: &Board,
    call: &CallTrace,
) -> Result<CodeAnswer, ToolError> {
    let indexed = begin(workspace, deadline, board, call).await?;
    let asking = Asking { workspace, query, deadline, board, call, indexed: &indexed };
    let answer = match query {
        CodeQuery::Health { workspace: root } => asking.health(root.as_deref()).await?,
        CodeQuery::Index { force, reference } | CodeQuery::Sync { force, reference } => {
            asking.job(*force, reference.as_deref()).await?
        }
        CodeQuery::Search(_) | CodeQuery::Locate(_) | CodeQuery::Outline(_) => {
            asking.first_index().await?;
            asking.question().await?
        }
        CodeQuery::Status { .. } => asking.question().await?,
    };
    if let Some(metadata) = ask::metadata_of(&answer) {
        let (freshness, completeness) = (metadata.freshness.as_str(), metadata.completeness.as_str());
        call.note(|record| (record.freshness, record.completeness) = (Some(freshness), Some(completeness)));
    }
    Ok(answer)
}

/// Why `health_check` isn't answered about `root`: it is no root of `here` (decisions §5). Paths are compared as text: nothing of the
/// disk outside the roots is told.
pub(super) fn other_workspace(directory: &Directory, here: &WorkspaceHandle, query: &CodeQuery) -> Option<Refusal> {
    let CodeQuery::Health { workspace: Some(path) } = query else { return None };
    if root_at(here.gate.root_set().roots(), path).is_some() {
        return None;
    }
    let all = directory.all();
    let is_elsewhere =
        all.iter().any(|other| other.tenant == here.tenant && root_at(other.gate.root_set().roots(), path).is_some());
    Some(if is_elsewhere {
        let message =
            "This endpoint serves another workspace. Ask without `workspace`, or at that workspace's endpoint.";
        Refusal::new(CodeError::WorkspaceNotAllowed, message)
    } else {
        let message = "No workspace has this root. Ask without `workspace`; an operator can add one with `codeyard workspaces put`.";
        Refusal::new(CodeError::WorkspaceNotRegistered, message)
    })
}

/// The place of the root that `path` spells.
fn root_at(roots: &[std::path::PathBuf], path: &str) -> Option<usize> {
    // A path's components leave out what is said twice and a stroke at the end.
    roots.iter().position(|root| root.components().eq(std::path::Path::new(path).components()))
}

/// Rows 7: what changed is taken, and the index is open.
async fn begin(
    workspace: &WorkspaceHandle,
    deadline: Deadline,
    board: &Board,
    call: &CallTrace,
) -> Result<Indexed, ToolError> {
    let mut is_patient = true;
    let patience = Instant::now() + Duration::from_millis(limits::CODE_WALK_WAIT_MS).min(deadline.left());
    loop {
        match workspace.watch.get() {
            // Until all that is indexed is followed, answers say that they may be stale: it isn't waited for longer than a walk.
            Some(watch) if watch.index_degraded().is_some() => drop(timeout_at(patience, watch.barrier()).await),
            Some(watch) => watch.barrier().await,
            None => {}
        }
        let begin = BeginCode { call: call.clone(), is_patient };
        match workspace.actor.send(begin).await.map_err(|_| ToolError::internal())?? {
            BegunCode::Open(indexed) => return Ok(indexed),
            BegunCode::Opening(opening) => {
                board.write(Waiting::Preparing);
                opening.await;
            }
            BegunCode::Walking(walking) => {
                board.write(Waiting::Preparing);
                is_patient = timeout_at(patience, walking).await.is_ok();
            }
        }
    }
}

/// One question under way.
struct Asking<'a> {
    workspace: &'a WorkspaceHandle,
    query: &'a CodeQuery,
    deadline: Deadline,
    board: &'a Board,
    call: &'a CallTrace,
    indexed: &'a Indexed,
}

/// Ends the work on another thread when nobody waits for it any more.
struct EndOnDrop(Arc<AtomicBool>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Asking<'_> {
    fn indexes(&self) -> &Arc<Indexes> {
        &self.workspace.indexes
    }

    /// Has roots indexed that never were, and waits for that as long as there is time.
    async fn first_index(&self) -> Result<(), ToolError> {
        if self.query.reference().is_some() {
            return Ok(());
        }
        let most = Duration::from_millis(limits::FIRST_INDEX_WAIT_MS);
        let until = Instant::now() + most.min(self.deadline.left().saturating_sub(GRACE));
        while !self.indexed.state.is_indexed() {
            let asked = self.indexed.indexer.send(FirstIndex).await.map_err(|_| ToolError::internal())?;
            let Some(mut jobs) = asked else { return Ok(()) };
            self.board.write(Waiting::Index);
            let _waiting = self.call.wait_for_index();
            let ended = timeout_at(until, jobs.changed()).await;
            if !matches!(ended, Ok(Ok(()))) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Asks the projects.
    async fn question(&self) -> Result<CodeAnswer, ToolError> {
        let (projects, query) = (self.indexed.projects.clone(), self.query.clone());
        let payload_bytes = self.workspace.payload_bytes;
        let answered = self.aside(move |ends| {
            let projects = Projects { all: &projects, payload_bytes };
            projects.answer(&query, &|| ends.load(Relaxed))
        });
        let Answered { mut answer, mut behind } = answered.await?.ok_or_else(ToolError::internal)?;
        let reference = self.query.reference().map(str::to_owned);
        let is_lost = |metadata: &Metadata| metadata.indexing == Indexing::NotIndexed;
        if reference.is_none() && self.indexed.state.is_indexed() && ask::metadata_of(&answer).is_some_and(is_lost) {
            // The working tree's index was there: somebody has removed it.
            behind = (0..self.indexed.projects.len()).collect();
        }
        if !behind.is_empty() {
            // A full mailbox holds the same already.
            drop(self.indexed.indexer.try_send(CatchUp { roots: behind, reference }));
        }
        if matches!(answer, CodeAnswer::Rows(_) | CodeAnswer::Outline(_)) {
            self.was_used();
        }
        if let (CodeAnswer::Rows(found), Some(true)) = (&mut answer, self.query.shape().map(|shape| shape.confirm)) {
            let confirming = Confirming {
                workspace: self.workspace,
                reference: self.query.reference(),
                deadline: self.deadline.earlier(GRACE),
                board: self.board,
                call: self.call,
            };
            confirming.confirm(found).await;
        }
        Ok(answer)
    }

    /// The workspace's index was used; that is remembered for the next start.
    fn was_used(&self) {
        let roots = self.workspace.gate.root_set().roots();
        if self.indexed.state.is_indexed() && self.indexes().warmset.used(roots) {
            let indexes = self.indexes().clone();
            drop(blocking::spawn(move || indexes.write_warmset()));
        }
    }

    async fn health(&self, root: Option<&str>) -> Result<CodeAnswer, ToolError> {
        let only = root.and_then(|root| root_at(self.workspace.gate.root_set().roots(), root));
        let (indexed, indexes) = (self.indexed.clone(), self.indexes().clone());
        let health = self.aside(move |_| health::health(&indexed, &indexes, only)).await?;
        Ok(match health {
            Some(health) => CodeAnswer::Health(Box::new(health)),
            None => CodeAnswer::Refused(Box::new(ask::no_root())),
        })
    }

    async fn job(&self, is_forced: bool, reference: Option<&str>) -> Result<CodeAnswer, ToolError> {
        let Some(first) = self.indexed.projects.first().cloned() else {
            return Ok(CodeAnswer::Refused(Box::new(ask::no_root())));
        };
        let order = BeginJob { reference: reference.map(str::to_owned), is_forced };
        let begun = self.indexed.indexer.send(order).await.map_err(|_| ToolError::internal())?;
        let mut metadata = self.aside(move |_| first.metadata()).await?;
        if let Some(reference) = reference {
            metadata.reference = reference.to_owned();
        }
        Ok(match begun {
            Some(Ok(begun)) => {
                CodeAnswer::Job(JobAnswer { job_id: begun.id, status: begun.status, mode: begun.mode, metadata })
            }
            Some(Err(active)) => CodeAnswer::Refused(Box::new(in_progress(active).beside(metadata))),
            None => CodeAnswer::Refused(Box::new(no_job(metadata))),
        })
    }

    /// Runs `work` on a thread that may block, once there is a place for it. It is told to end shortly before the deadline, and when
    /// this future is dropped.
    async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let waits = self.indexes().waits();
        let place = self.indexes().places.clone().acquire_owned().await.map_err(|_| ToolError::internal())?;
        drop(waits);
        self.board.write(Waiting::Answer);
        // Who has waited for a place until now has no time left to work.
        let ends = Arc::new(AtomicBool::new(self.deadline.left() <= GRACE));
        let end = EndOnDrop(ends.clone());
        let _working = self.call.asks_index();
        let mut working = blocking::spawn(move || {
            // Work that outlives its question keeps its place.
            let _place = place;
            work(&ends)
        });
        let early = self.deadline.earlier(GRACE).instant();
        let done = tokio::select! {
            biased;
            done = &mut working => done,
            () = tokio::time::sleep_until(early) => {
                end.0.store(true, Relaxed);
                working.await
            }
        };
        done.map_err(|_| ToolError::internal())
    }
}

/// So long before its deadline a question gives what it has.
const GRACE: Duration = Duration::from_millis(codeyard_engine::limits::LATE_SERVER_MS);

/// The refusal of a job while another one runs.
fn in_progress(active: ActiveJob) -> Refusal {
    let (code, what) = match active.mode {
        JobMode::Full => (CodeError::IndexInProgress, "builds the index"),
        JobMode::Incremental => (CodeError::SyncInProgress, "brings the index up to date"),
    };
    let message = format!("The job {} {what}. Call index_status until it shows no active job.", active.job_id);
    Refusal::new(code, message)
        .with("job_id", active.job_id)
        .with("status", active.status.as_str())
        .with("mode", active.mode.as_str())
        .with("changed_files", active.changed_files)
        .with("started_at", active.started_at)
}

/// The refusal of a job where there can be none.
fn no_job(metadata: Metadata) -> Refusal {
    let refusal = match metadata.schema {
        Schema::ReindexRequired | Schema::CorruptManifest => Refusal::new(
            CodeError::IndexIncompatible,
            "This build can't read the index. Call index_repo with force, or run `codeyard index --force`.",
        )
        .with("schema_status", metadata.schema.as_str())
        .with("remediation", "codeyard index --force"),
        _ => Refusal::new(CodeError::IndexNotReady, "The workspace is being stopped. Ask again once it is back."),
    };
    refusal.beside(metadata)
}
