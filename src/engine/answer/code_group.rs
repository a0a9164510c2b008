//! Queries of the code indexes of a group of workspaces: open the indexes, begin the first index of those without one, then query all at
//! once on a few blocking threads. Dropping the future cancels this work.
//!
//! Invariants: a workspace that fails, drains, hangs or isn't reached in time is named in the answer and disturbs no other; shortly before
//! its deadline a query returns what has been found by then, also if a thread is in a call of the system
//! (`docs/internals/decisions/slow-files.md`); no call waits for a first index while another workspace has one.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::future::join_all;
use tokio::sync::watch;
use tokio::time::timeout_at;

use super::blocking_work::{BlockingWork, PARTIAL_ANSWER_MARGIN};
use super::code;
use super::code_group_answers as answers;
use super::wait_status::{WaitStatus, Waiting};
use crate::indexer::group_health;
use crate::indexer::group_members::MemberProjects;
use crate::indexer::group_query::GroupProjects;
use crate::indexer::group_report;
use crate::indexer::group_rows::GroupRows;
use crate::indexer::handle::IndexHandle;
use crate::indexer::messages::{BeginJob, CatchUp, FirstIndex};
use crate::indexer::query_end::QueryEnd;
use crate::indexer::repo_filter::{self, RepoFilter};
use crate::limits;
use crate::workspace::handle::WorkspaceHandle;
use codeyard_base::clock::{Deadline, Instant};
use codeyard_base::ids::WorkspaceName;
use codeyard_config::NamePatterns;
use codeyard_model::code::{
    AnswerMetadata, BegunJob, CallArguments, CodeAnswer, CodeError, CodeQuery, CodeRefusal, CodeRequest, GroupJobs,
    IncompleteWorkspace, OutlineQuery, WorkspaceError,
};
use codeyard_model::error::ToolError;
use codeyard_telemetry::CallTrace;

/// Spreads the calls to groups over the threads of their workspaces.
static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

/// A workspace of the group, and whether it takes part in the call.
pub(super) type GroupMember = (Arc<WorkspaceHandle>, MemberAdmission);

/// Whether a workspace takes part in a call to its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberAdmission {
    /// It has a slot for the call.
    Admitted,
    /// It has too many calls in flight.
    Overloaded,
    /// The caller has no permission for it.
    NotPermitted,
}

/// An admitted query to the code indexes of a group.
pub struct GroupQuery {
    /// In the order of their names.
    members: Vec<GroupMember>,
    request: CodeRequest,
}

impl GroupQuery {
    /// A query to these workspaces.
    pub fn new(members: Vec<GroupMember>, request: CodeRequest) -> Self {
        Self { members, request }
    }

    /// The thread of one of the workspaces; not one that is stuck, if another one runs.
    pub(super) fn arbiter(&self) -> Option<ArbiterHandle> {
        let (count, first) = (self.members.len(), NEXT_THREAD.fetch_add(1, Relaxed));
        let in_turn = || (0..count).filter_map(|step| self.members.get(first.wrapping_add(step) % count));
        let runs = |(workspace, _): &&GroupMember| workspace.status.heartbeat().stalled().is_none();
        let (workspace, _) = in_turn().find(runs).or_else(|| in_turn().next())?;
        Some(workspace.arbiter.clone())
    }

    /// Answers the call. `deadline` isn't enforced here: shortly before it, the partial answer is returned.
    pub(super) async fn answer(
        &self,
        deadline: Deadline,
        status: &WaitStatus,
        call: &CallTrace,
    ) -> Result<CodeAnswer, ToolError> {
        let selected = match self.selected() {
            Ok(selected) => selected,
            Err(refusal) => return Ok(CodeAnswer::Refused(refusal)),
        };
        let group = OpenGroup::open(&selected, &self.request, deadline, status, call).await;
        let answer = group.answer().await?;
        code::record_state(&answer, call);
        Ok(answer)
    }

    /// The workspaces that the call selects.
    fn selected(&self) -> Result<Vec<&GroupMember>, Box<CodeRefusal>> {
        let names: Vec<&str> = self.members.iter().map(|(workspace, _)| workspace.name.as_str()).collect();
        if let CodeQuery::Health { workspace: Some(root) } = &self.request.query {
            let has_root = |(workspace, _): &&GroupMember| workspace.gate.root_set().position(root).is_some();
            let found: Vec<_> = self.members.iter().filter(has_root).collect();
            let none = || answers::no_such_workspace(root, &names);
            return if found.is_empty() { Err(none()) } else { Ok(found) };
        }
        let filter = RepoFilter::of(&self.request.query)?;
        let is_covered = |workspace: &WorkspaceHandle| {
            let roots = workspace.gate.root_set().roots();
            filter.as_ref().is_none_or(|filter| !filter.roots(workspace.name.as_str(), roots).is_empty())
        };
        let covered: Vec<_> = self.members.iter().filter(|(workspace, _)| is_covered(workspace)).collect();
        if covered.is_empty() {
            return Err(repo_filter::selects_nothing(&self.request.query, &group_report::listed(&names)));
        }
        let Some(pattern) = &self.request.workspace else { return Ok(covered) };
        let patterns = NamePatterns::new(&[pattern]).map_err(|_| answers::wrong_pattern(pattern))?;
        let found: Vec<_> =
            covered.into_iter().filter(|(workspace, _)| patterns.matches(workspace.name.as_str())).collect();
        if found.is_empty() { Err(answers::no_such_workspace(pattern, &names)) } else { Ok(found) }
    }
}

/// One workspace whose index is open.
struct OpenMember<'a> {
    workspace: &'a Arc<WorkspaceHandle>,
    indexed: IndexHandle,
}

/// The workspaces of a call, opened as far as possible.
struct OpenGroup<'a> {
    open: Vec<OpenMember<'a>>,
    /// Those that couldn't be opened.
    problems: Vec<IncompleteWorkspace>,
    request: &'a CodeRequest,
    deadline: Deadline,
    status: &'a WaitStatus,
    call: &'a CallTrace,
}

impl<'a> OpenGroup<'a> {
    /// Applies the file changes of the workspaces and opens their indexes, all at once.
    async fn open(
        members: &[&'a GroupMember],
        request: &'a CodeRequest,
        deadline: Deadline,
        status: &'a WaitStatus,
        call: &'a CallTrace,
    ) -> Self {
        let until = deadline.earlier(Duration::from_millis(limits::GROUP_QUERY_TIME_MS)).instant();
        let open_one = |(workspace, admission): &'a GroupMember| async move {
            let name = workspace.name.clone();
            match admission {
                MemberAdmission::Admitted => {}
                MemberAdmission::Overloaded => return Err(group_report::overloaded(name)),
                MemberAdmission::NotPermitted => return Err(group_report::not_permitted(name)),
            }
            let own = WaitStatus::default();
            match timeout_at(until, code::begin(workspace, deadline, &own, call)).await {
                Ok(Ok(indexed)) => Ok(OpenMember { workspace, indexed }),
                Ok(Err(error)) => Err(group_report::failed(name, &error)),
                Err(_) => Err(group_report::late(name)),
            }
        };
        status.write(Waiting::Preparing);
        let opened = join_all(members.iter().map(|member| open_one(member))).await;
        let (mut open, mut problems) = (Vec::new(), Vec::new());
        for one in opened {
            match one {
                Ok(member) => open.push(member),
                Err(problem) => problems.push(problem),
            }
        }
        Self { open, problems, request, deadline, status, call }
    }

    async fn answer(mut self) -> Result<CodeAnswer, ToolError> {
        if self.open.is_empty() {
            return Ok(self.nothing_open());
        }
        let is_read = matches!(self.request.query, CodeQuery::Search(_) | CodeQuery::Locate(_) | CodeQuery::Outline(_));
        if is_read && self.request.query.reference().is_none() {
            self.first_indexes().await;
        }
        match &self.request.query {
            CodeQuery::Search(_) | CodeQuery::Locate(_) => self.rows().await,
            CodeQuery::Outline(query) => self.outline(query).await,
            CodeQuery::Health { .. } => self.health().await,
            CodeQuery::Status { reference } => self.statuses(reference.clone()).await,
            CodeQuery::Index { force, reference } | CodeQuery::Sync { force, reference } => {
                Ok(self.jobs(*force, reference.clone()).await)
            }
        }
    }

    /// Begins the first index of the workspaces without one. If no workspace has one, waits for them within
    /// [`limits::FIRST_INDEX_WAIT_MS`].
    async fn first_indexes(&mut self) {
        let unindexed: Vec<&OpenMember<'_>> =
            self.open.iter().filter(|member| !member.indexed.state.is_indexed()).collect();
        let has_index = unindexed.len() < self.open.len();
        // A workspace whose thread is stuck delays no other.
        let limit = self.deadline.earlier(Duration::from_millis(limits::GROUP_QUERY_TIME_MS)).instant();
        let begin = |member: &&OpenMember<'_>| timeout_at(limit, member.indexed.indexer.send(FirstIndex));
        let begun = join_all(unindexed.iter().map(begin)).await;
        if has_index {
            return;
        }
        let most = Duration::from_millis(limits::FIRST_INDEX_WAIT_MS);
        let until = Instant::now() + most.min(self.deadline.left().saturating_sub(PARTIAL_ANSWER_MARGIN));
        let waits = unindexed.iter().zip(begun).filter_map(|(member, jobs)| Some((member, jobs.ok()?.ok()??)));
        let until_indexed = |(member, mut jobs): (&&OpenMember<'_>, watch::Receiver<u64>)| {
            let state = member.indexed.state.clone();
            async move { while !state.is_indexed() && jobs.changed().await.is_ok() {} }
        };
        self.status.write(Waiting::Index);
        let _waiting = self.call.wait_for_index();
        // At the end of the time the answer names those that are still being indexed.
        drop(timeout_at(until, join_all(waits.map(until_indexed))).await);
    }

    /// Rows of all workspaces.
    async fn rows(self) -> Result<CodeAnswer, ToolError> {
        let members = self.projects();
        let request = self.request.clone();
        let found: Option<GroupRows> = self
            .run(move |end, threads| {
                let group = GroupProjects { members: &members, threads };
                match &request.query {
                    CodeQuery::Search(query) => Some(group.search(query, end)),
                    CodeQuery::Locate(query) => Some(group.locate(query, end)),
                    _ => None,
                }
            })
            .await?;
        let found = found.ok_or_else(ToolError::internal)?;
        for (at, from, to) in &found.took {
            self.call.record_index_query_of(&self.open[*at].workspace.name, *from, *to);
        }
        self.catch_up(&found);
        let mut rows = match found.rows {
            Ok(rows) => rows,
            Err(refusal) => return Ok(CodeAnswer::Refused(group_report::with_problems(refusal, self.problems))),
        };
        rows.asked = CallArguments::of(&self.request.query);
        rows.asked.payload_bytes = self.open.iter().map(|member| member.workspace.payload_bytes).min();
        answers::name_workspace_in_actions(&mut rows, self.request.workspace.as_deref());
        group_report::report(&mut rows.metadata, self.problems.clone());
        if self.request.query.shape().is_some_and(|shape| shape.confirm) {
            let workspaces: Vec<&WorkspaceHandle> = self.open.iter().map(|member| &**member.workspace).collect();
            let confirmation = answers::GroupConfirmation {
                workspaces: &workspaces,
                reference: self.request.query.reference(),
                deadline: self.deadline.earlier(PARTIAL_ANSWER_MARGIN),
                status: self.status,
                call: self.call,
            };
            confirmation.confirm(&mut rows).await;
        }
        Ok(CodeAnswer::Rows(rows))
    }

    /// Updates the indexes that are behind, and those that were lost.
    fn catch_up(&self, found: &GroupRows) {
        let reference = self.request.query.reference().map(str::to_owned);
        let filter = RepoFilter::of(&self.request.query).ok().flatten();
        let ask = |at: usize, roots: Vec<usize>| {
            if let Some(member) = self.open.get(at) {
                let all = member.workspace.gate.root_set().roots();
                let selected = filter.as_ref().map(|filter| filter.roots(member.workspace.name.as_str(), all));
                let roots = match selected {
                    Some(selected) => roots.into_iter().filter_map(|at| selected.get(at).copied()).collect(),
                    None => roots,
                };
                // A full mailbox already holds the same message.
                drop(member.indexed.indexer.try_send(CatchUp { roots, reference: reference.clone() }));
            }
        };
        found.behind.iter().for_each(|(at, roots)| ask(*at, roots.clone()));
        for at in &found.unindexed {
            let lost = self.open.get(*at).filter(|member| member.indexed.state.is_indexed());
            if let Some(member) = lost.filter(|_| reference.is_none()) {
                ask(*at, (0..member.indexed.projects.len()).collect());
            }
        }
    }

    /// The outline of a file that one workspace has.
    async fn outline(self, query: &OutlineQuery) -> Result<CodeAnswer, ToolError> {
        let (members, query_of_all) = (self.projects(), query.clone());
        let outlines = self
            .run(move |end, threads| GroupProjects { members: &members, threads }.outlines(&query_of_all, end))
            .await?;
        let names = self.open.iter().map(|member| member.workspace.name.clone());
        let payload_bytes = self.open.iter().map(|member| member.workspace.payload_bytes).min();
        Ok(answers::one_outline(query, names.zip(outlines).collect(), payload_bytes, self.problems))
    }

    async fn health(self) -> Result<CodeAnswer, ToolError> {
        let first = self.open.first().ok_or_else(ToolError::internal)?;
        let indexes = first.workspace.indexes.clone();
        let members = self.handles();
        let report = self.run(move |end, threads| group_health::group_health(&members, &indexes, threads, end)).await?;
        Ok(match report {
            Ok(mut report) => {
                report.incomplete.extend(self.problems);
                CodeAnswer::Health(Box::new(report))
            }
            Err(refusal) => CodeAnswer::Refused(group_report::with_problems(refusal, self.problems)),
        })
    }

    async fn statuses(self, reference: Option<String>) -> Result<CodeAnswer, ToolError> {
        let members = self.projects();
        let mut status = self
            .run(move |end, threads| group_health::group_status(&members, reference.as_deref(), threads, end))
            .await?;
        group_report::report(&mut status.metadata, self.problems);
        Ok(CodeAnswer::Statuses(Box::new(status)))
    }

    /// Begins a job in every workspace.
    async fn jobs(self, is_forced: bool, reference: Option<String>) -> CodeAnswer {
        let limit = self.deadline.earlier(PARTIAL_ANSWER_MARGIN).instant();
        let begin = |member: &OpenMember<'_>| {
            let sent = member.indexed.indexer.send(BeginJob { reference: reference.clone(), is_forced });
            let (name, queries) = (member.workspace.name.clone(), member.indexed.queries.clone());
            async move {
                let Ok(sent) = timeout_at(limit, sent).await else {
                    let late = group_report::late(name.clone());
                    return (name, Err(WorkspaceError { code: CodeError::Timeout, message: late.message }));
                };
                let entry = match sent {
                    Ok(Some(Ok(begun))) => Ok(BegunJob { job_id: begun.id, status: begun.status, mode: begun.mode }),
                    Ok(Some(Err(active))) => Err(group_health::error_of(code::job_in_progress(active))),
                    Ok(None) if queries.hang() => Err(code::no_job_began()),
                    Ok(None) => Err(group_health::error_of(code::job_unavailable(AnswerMetadata::default()))),
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

    /// The refusal if no workspace could be opened.
    fn nothing_open(self) -> CodeAnswer {
        let message = "None of the group's workspaces can be asked now; the warnings say why. Ask again.";
        let mut metadata = AnswerMetadata::default();
        group_report::report(&mut metadata, self.problems);
        CodeAnswer::Refused(Box::new(CodeRefusal::new(CodeError::IndexNotReady, message).with_metadata(metadata)))
    }

    /// The projects of the workspaces: those of the roots that `repo:` selects.
    fn projects(&self) -> Vec<MemberProjects> {
        let mut projects = group_health::projects_of(&self.handles());
        if let Ok(Some(filter)) = RepoFilter::of(&self.request.query) {
            for (of, member) in projects.iter_mut().zip(&self.open) {
                let selected = filter.roots(of.name.as_str(), member.workspace.gate.root_set().roots());
                of.projects = selected.iter().filter_map(|at| of.projects.get(*at).cloned()).collect();
            }
        }
        projects
    }

    fn handles(&self) -> Vec<(WorkspaceName, IndexHandle)> {
        self.open.iter().map(|member| (member.workspace.name.clone(), member.indexed.clone())).collect()
    }

    /// The most threads of the call: as many as a search in one workspace uses.
    fn threads(&self) -> usize {
        let most = self.open.iter().filter_map(|member| member.indexed.projects.first());
        let threads = most.map(|project| project.settings().threads).max().unwrap_or(1);
        threads.min(self.open.len()).clamp(1, limits::MAX_GROUP_THREADS)
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&QueryEnd, usize) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let indexes = &self.open.first().ok_or_else(ToolError::internal)?.workspace.indexes;
        let turn = indexes.group_turn(self.threads()).await.ok_or_else(ToolError::internal)?;
        let blocking_work =
            BlockingWork { indexes, turn, deadline: self.deadline, status: self.status, call: self.call };
        blocking_work.run(work).await
    }
}
