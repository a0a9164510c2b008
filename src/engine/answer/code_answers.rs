//! The answers to queries of the catalog `code`, from indexes that are open: rows, outlines, health, status and jobs, of one workspace or of a
//! group.
//!
//! Invariants: an answer about one workspace names none; one about a group names the workspaces that couldn't be asked; a suggested call
//! names its workspace there, so that it means the same thing at the group's endpoint.

use futures::future::join_all;
use tokio::time::timeout_at;

use super::blocking_work::PARTIAL_ANSWER_MARGIN;
use super::code::{AnswerForm, OpenIndexes, OpenMember};
use super::code_group_answers::{name_workspace_in_actions, one_outline};
use super::code_refusals::{hangs, job_in_progress, job_unavailable, no_job_began};
use super::confirm::RowConfirmation;
use crate::indexer::code_query::Projects;
use crate::indexer::group_health;
use crate::indexer::group_query::GroupProjects;
use crate::indexer::group_report;
use crate::indexer::group_rows::{GroupRows, OutdatedRoots};
use crate::indexer::handle::IndexHandle;
use crate::indexer::health;
use crate::indexer::messages::{BeginJob, CatchUp};
use crate::indexer::query_end::QueryEnd;
use crate::indexer::refusals::no_root;
use crate::workspace::handle::WorkspaceHandle;
use codeyard_base::ids::WorkspaceName;
use codeyard_model::code::{
    AnswerMetadata, BegunJob, CallArguments, CodeAnswer, CodeError, CodeQuery, GroupJobs, JobAnswer, OutlineQuery,
    WorkspaceError,
};
use codeyard_model::error::ToolError;

impl OpenIndexes<'_> {
    /// Answers the query.
    pub(super) async fn answer(self) -> Result<CodeAnswer, ToolError> {
        let query = &self.asked.request.query;
        let is_read = matches!(query, CodeQuery::Search(_) | CodeQuery::Locate(_) | CodeQuery::Outline(_));
        if is_read && query.reference().is_none() {
            self.first_indexes().await?;
        }
        match (query, self.asked.form) {
            (CodeQuery::Search(query), _) => {
                let query = query.clone();
                self.rows(move |projects, end| projects.search(&query, end)).await
            }
            (CodeQuery::Locate(query), _) => {
                let query = query.clone();
                self.rows(move |projects, end| projects.locate(&query, end)).await
            }
            (CodeQuery::Outline(query), AnswerForm::Group) => self.outline_of_group(query).await,
            (CodeQuery::Outline(query), AnswerForm::Workspace) => self.outline(query).await,
            (CodeQuery::Health { .. }, AnswerForm::Group) => self.health_of_group().await,
            (CodeQuery::Health { workspace }, AnswerForm::Workspace) => self.health(workspace.as_deref()).await,
            (CodeQuery::Status { reference }, AnswerForm::Group) => self.statuses(reference.clone()).await,
            (CodeQuery::Status { reference }, AnswerForm::Workspace) => self.status(reference.clone()).await,
            (CodeQuery::Index { force, reference } | CodeQuery::Sync { force, reference }, form) => {
                let jobs = BeginJob { reference: reference.clone(), is_forced: *force };
                if form == AnswerForm::Group { Ok(self.jobs(&jobs).await) } else { self.job(jobs).await }
            }
        }
    }

    /// Rows of all workspaces.
    async fn rows(
        self,
        find: impl FnOnce(GroupProjects<'_>, &QueryEnd) -> GroupRows + Send + 'static,
    ) -> Result<CodeAnswer, ToolError> {
        let members = self.projects();
        let request = self.asked.request;
        let is_group = self.asked.form == AnswerForm::Group;
        let work = move |end: &QueryEnd, threads| find(GroupProjects { members: &members, threads, is_group }, end);
        let found = self.run(work).await?;
        for (at, from, to) in &found.took {
            self.asked.call.record_index_query_of(&self.open[*at].workspace.name, *from, *to);
        }
        self.catch_up(&found.outdated);
        let mut rows = match found.rows {
            Ok(rows) => rows,
            Err(refusal) => return Ok(CodeAnswer::Refused(group_report::with_problems(refusal, self.problems))),
        };
        rows.asked = self.asked_as();
        if is_group {
            name_workspace_in_actions(&mut rows, request.workspace.as_deref());
        } else {
            self.record_use();
        }
        group_report::report(&mut rows.metadata, self.problems.clone());
        if request.query.shape().is_some_and(|shape| shape.confirm) {
            let workspaces: Vec<&WorkspaceHandle> = self.open.iter().map(|member| &**member.workspace).collect();
            let confirmation = RowConfirmation {
                workspaces: &workspaces,
                reference: request.query.reference(),
                deadline: self.asked.deadline.earlier(PARTIAL_ANSWER_MARGIN),
                status: self.asked.status,
                call: self.asked.call,
            };
            confirmation.confirm(&mut rows).await;
        }
        Ok(CodeAnswer::Rows(rows))
    }

    /// The call, as an answer repeats it.
    fn asked_as(&self) -> CallArguments {
        let payload_bytes = self.open.iter().map(|member| member.workspace.payload_bytes).min();
        CallArguments { payload_bytes, ..CallArguments::of(&self.asked.request.query) }
    }

    /// Updates the indexes that are behind, and makes those again that were there and are lost.
    fn catch_up(&self, outdated: &OutdatedRoots) {
        let reference = self.asked.request.query.reference().map(str::to_owned);
        let is_lost =
            |at: &usize| reference.is_none() && self.open.get(*at).is_some_and(|one| one.indexed.state.is_indexed());
        let ask = |member: &OpenMember<'_>, roots: Vec<usize>| {
            // A full mailbox already holds the same message.
            drop(member.indexed.indexer.try_send(CatchUp { roots, reference: reference.clone() }));
        };
        for (at, roots) in &outdated.behind {
            let Some(member) = self.open.get(*at) else { continue };
            match self.selected_roots(member) {
                Some(selected) => ask(member, roots.iter().filter_map(|at| selected.get(*at).copied()).collect()),
                None => ask(member, roots.clone()),
            }
        }
        for member in outdated.unindexed.iter().filter(|at| is_lost(at)).filter_map(|at| self.open.get(*at)) {
            let all = || (0..member.indexed.projects.len()).collect();
            let roots = match self.asked.form {
                AnswerForm::Workspace => all(),
                AnswerForm::Group => self.selected_roots(member).unwrap_or_else(all),
            };
            ask(member, roots);
        }
    }

    /// Records that the indexes were used. The next start preloads such indexes.
    fn record_use(&self) {
        for member in &self.open {
            let state = &member.indexed.state;
            if state.is_indexed() && self.indexes().warmset.record_use(&state.warm) {
                self.indexes().store_warmset();
            }
        }
    }

    /// The outline of a file of the workspace.
    async fn outline(self, query: &OutlineQuery) -> Result<CodeAnswer, ToolError> {
        let projects = self.selected_projects(&self.first);
        let query = query.clone();
        let (outline, outdated) = self.run(move |_, _| Projects { all: &projects }.outline(&query)).await?;
        self.catch_up(&outdated);
        Ok(match outline {
            Ok(mut outline) => {
                outline.asked = self.asked_as();
                self.record_use();
                CodeAnswer::Outline(outline)
            }
            Err(refusal) => CodeAnswer::Refused(refusal),
        })
    }

    /// The outline of a file that one workspace of the group has.
    async fn outline_of_group(self, query: &OutlineQuery) -> Result<CodeAnswer, ToolError> {
        let members = self.projects();
        let query_of_all = query.clone();
        let outlines = move |end: &QueryEnd, threads| {
            GroupProjects { members: &members, threads, is_group: true }.outlines(&query_of_all, end)
        };
        let outlines = self.run(outlines).await?;
        let names = self.open.iter().map(|member| member.workspace.name.clone());
        let asked = self.asked_as();
        Ok(one_outline(&query.path, names.zip(outlines).collect(), asked, self.problems))
    }

    /// The health of the workspace, or of the root that `path` names.
    async fn health(self, path: Option<&str>) -> Result<CodeAnswer, ToolError> {
        let only = path.and_then(|path| self.first.workspace.gate.root_set().position(path));
        let indexed = self.first.indexed.clone();
        let indexes = self.indexes().clone();
        let health = self.run(move |_, _| health::health(&indexed, &indexes, only)).await?;
        Ok(match health {
            Some(health) => CodeAnswer::Health(Box::new(health)),
            None => CodeAnswer::Refused(Box::new(no_root())),
        })
    }

    async fn health_of_group(self) -> Result<CodeAnswer, ToolError> {
        let handle = |member: &OpenMember<'_>| (member.workspace.name.clone(), member.indexed.clone());
        let members: Vec<(WorkspaceName, IndexHandle)> = self.open.iter().map(handle).collect();
        let indexes = self.indexes().clone();
        let health = move |end: &QueryEnd, threads| group_health::group_health(&members, &indexes, threads, end);
        Ok(match self.run(health).await? {
            Ok(mut report) => {
                report.incomplete.extend(self.problems);
                CodeAnswer::Health(Box::new(report))
            }
            Err(refusal) => CodeAnswer::Refused(group_report::with_problems(refusal, self.problems)),
        })
    }

    /// The status of the workspace's first root.
    async fn status(self, reference: Option<String>) -> Result<CodeAnswer, ToolError> {
        let projects = self.selected_projects(&self.first);
        let status = move |_: &QueryEnd, _| Projects { all: &projects }.status(reference.as_deref());
        let (status, outdated) = self.run(status).await?;
        self.catch_up(&outdated);
        Ok(status.map_or_else(CodeAnswer::Refused, |status| CodeAnswer::Status(Box::new(status))))
    }

    /// The status of the first root of each workspace.
    async fn statuses(self, reference: Option<String>) -> Result<CodeAnswer, ToolError> {
        let members = self.projects();
        let statuses =
            move |end: &QueryEnd, threads| group_health::group_status(&members, reference.as_deref(), threads, end);
        let mut status = self.run(statuses).await?;
        group_report::report(&mut status.metadata, self.problems);
        Ok(CodeAnswer::Statuses(Box::new(status)))
    }

    /// Begins a job in the workspace.
    async fn job(self, job: BeginJob) -> Result<CodeAnswer, ToolError> {
        let IndexHandle { projects, queries, indexer, .. } = &self.first.indexed;
        let Some(first) = projects.first().cloned() else {
            return Ok(CodeAnswer::Refused(Box::new(no_root())));
        };
        let reference = job.reference.clone();
        let Some(turn) = queries.turn().await else { return Err(hangs()) };
        let begun = indexer.send(job).await.map_err(|_| ToolError::internal())?;
        drop(turn);
        let mut metadata = self.run(move |_, _| first.metadata()).await?;
        if let Some(reference) = reference {
            metadata.reference = reference;
        }
        Ok(match begun {
            Some(Ok(begun)) => {
                CodeAnswer::Job(JobAnswer { job_id: begun.id, status: begun.status, mode: begun.mode, metadata })
            }
            Some(Err(active)) => CodeAnswer::Refused(Box::new(job_in_progress(active).with_metadata(metadata))),
            None if queries.hang() => return Err(hangs()),
            None => CodeAnswer::Refused(Box::new(job_unavailable(metadata))),
        })
    }

    /// Begins a job in every workspace.
    async fn jobs(self, job: &BeginJob) -> CodeAnswer {
        let limit = self.asked.deadline.earlier(PARTIAL_ANSWER_MARGIN).instant();
        let begin = |member: &OpenMember<'_>| {
            let sent = member.indexed.indexer.send(job.clone());
            let name = member.workspace.name.clone();
            let queries = member.indexed.queries.clone();
            async move {
                let Ok(sent) = timeout_at(limit, sent).await else {
                    let late = group_report::late(name.clone());
                    return (name, Err(WorkspaceError { code: CodeError::Timeout, message: late.message }));
                };
                let entry = match sent {
                    Ok(Some(Ok(begun))) => Ok(BegunJob { job_id: begun.id, status: begun.status, mode: begun.mode }),
                    Ok(Some(Err(active))) => Err(group_health::error_of(job_in_progress(active))),
                    Ok(None) if queries.hang() => Err(no_job_began()),
                    Ok(None) => Err(group_health::error_of(job_unavailable(AnswerMetadata::default()))),
                    Err(_) => Err(WorkspaceError {
                        code: CodeError::InternalError,
                        message: "The indexer of the workspace has ended; see the server's log.".to_owned(),
                    }),
                };
                (name, entry)
            }
        };
        let jobs: Vec<(WorkspaceName, _)> = join_all(self.open.iter().map(begin)).await;
        let mut metadata = AnswerMetadata::default();
        group_report::report(&mut metadata, self.problems);
        CodeAnswer::Jobs(Box::new(GroupJobs { jobs, metadata }))
    }
}
