//! Queries of the catalog `code`: select the workspaces, open their indexes, begin the first index of those without one, then query all at
//! once on blocking threads. A query to one workspace is one to a group with one member; only the form of its answer differs
//! ([`code_answers`](super::code_answers)). Dropping the future cancels this work.
//!
//! Invariants: a query sees every file change that was on disk before the call; a workspace of a group that fails, drains, hangs or isn't
//! reached in time is named in the answer and disturbs no other; shortly before its deadline a query returns what has been found by then,
//! also if a thread is in a call of the system (`docs/internals/decisions/slow-files.md`); no call waits for an indexing job to end, nor for a first
//! index while another workspace has one.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::future::join_all;
use tokio::sync::watch;
use tokio::time::timeout_at;

use super::blocking_work::{BlockingWork, PARTIAL_ANSWER_MARGIN};
use super::code_refusals as refusals;
use super::wait_status::{WaitStatus, Waiting};
use crate::indexer::code_query;
use crate::indexer::group_members::MemberProjects;
use crate::indexer::group_report;
use crate::indexer::handle::IndexHandle;
use crate::indexer::indexes::Indexes;
use crate::indexer::messages::FirstIndex;
use crate::indexer::query_end::QueryEnd;
use crate::indexer::repo_filter::{self, RepoFilter};
use crate::limits;
use crate::workspace::handle::WorkspaceHandle;
use crate::workspace::messages::{BeginCode, BegunCode};
use codeyard_access::NamePatterns;
use codeyard_base::clock::{Deadline, Instant};
use codeyard_index::Project;
use codeyard_model::code::{
    AnswerMetadata, CodeAnswer, CodeError, CodeQuery, CodeRefusal, CodeRequest, IncompleteWorkspace,
};
use codeyard_model::error::ToolError;
use codeyard_telemetry::CallTrace;

/// Spreads the calls to groups over the threads of their workspaces.
static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

/// A workspace, and whether it takes part in the call.
type Member = (Arc<WorkspaceHandle>, MemberAdmission);

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

/// An admitted query of the catalog `code`.
pub struct CodeIndexQuery {
    /// In the order of their names.
    members: Vec<Member>,
    form: AnswerForm,
    request: CodeRequest,
}

/// What the answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// One workspace, which the answer doesn't name. If it can't be asked, the call fails.
    Workspace,
    /// A group: rows name their workspaces, and the answer those that couldn't be asked.
    Group,
}

impl CodeIndexQuery {
    /// A query to these workspaces, which are a group.
    pub fn of_group(members: Vec<(Arc<WorkspaceHandle>, MemberAdmission)>, request: CodeRequest) -> Self {
        Self { members, form: AnswerForm::Group, request }
    }

    /// A query to this workspace.
    pub(super) fn of_workspace(workspace: Arc<WorkspaceHandle>, request: CodeRequest) -> Self {
        Self { members: vec![(workspace, MemberAdmission::Admitted)], form: AnswerForm::Workspace, request }
    }

    /// The thread of one of the workspaces; not one that is stuck, if another one runs.
    pub(super) fn arbiter(&self) -> Option<ArbiterHandle> {
        let count = self.members.len();
        let first = NEXT_THREAD.fetch_add(1, Relaxed);
        let in_turn = || (0..count).filter_map(|step| self.members.get(first.wrapping_add(step) % count));
        let runs = |(workspace, _): &&Member| workspace.status.heartbeat().stalled().is_none();
        let (workspace, _) = in_turn().find(runs).or_else(|| in_turn().next())?;
        Some(workspace.arbiter.clone())
    }

    /// Answers the query. `deadline` isn't enforced here: shortly before it, the partial answer is returned.
    pub(super) async fn answer(
        &self,
        deadline: Deadline,
        status: &WaitStatus,
        call: &CallTrace,
    ) -> Result<CodeAnswer, ToolError> {
        let (selected, refusal) = match self.selected() {
            Ok(selected) => (selected, None),
            // A workspace that can't be asked says so first.
            Err(refusal) if self.form == AnswerForm::Workspace => (self.members.iter().collect(), Some(refusal)),
            Err(refusal) => return Ok(CodeAnswer::Refused(refusal)),
        };
        let call_of = IndexCall { form: self.form, request: &self.request, deadline, status, call };
        let answer = match (call_of.open(&selected).await?, refusal) {
            (Ok(open), None) => open.answer().await?,
            (Ok(_), Some(refusal)) | (Err(refusal), _) => CodeAnswer::Refused(refusal),
        };
        record_state(&answer, call);
        Ok(answer)
    }

    /// The workspaces that the call selects.
    fn selected(&self) -> Result<Vec<&Member>, Box<CodeRefusal>> {
        let names: Vec<&str> = self.members.iter().map(|(workspace, _)| workspace.name.short()).collect();
        if let CodeQuery::Health { workspace: Some(root) } = &self.request.query {
            let has_root = |(workspace, _): &&Member| workspace.gate.root_set().position(root).is_some();
            let found: Vec<_> = self.members.iter().filter(has_root).collect();
            let none = || refusals::no_such_workspace(root, &names);
            return if found.is_empty() { Err(none()) } else { Ok(found) };
        }
        let filter = RepoFilter::of(&self.request.query)?;
        let is_covered = |workspace: &WorkspaceHandle| {
            let roots = workspace.gate.root_set().roots();
            filter.as_ref().is_none_or(|filter| !filter.roots(workspace.name.short(), roots).is_empty())
        };
        let covered: Vec<_> = self.members.iter().filter(|(workspace, _)| is_covered(workspace)).collect();
        if covered.is_empty() {
            return Err(repo_filter::selects_nothing(&self.request.query, &group_report::listed(&names)));
        }
        let Some(pattern) = &self.request.workspace else { return Ok(covered) };
        let patterns = NamePatterns::new(&[pattern]).map_err(|_| refusals::wrong_pattern(pattern))?;
        let found: Vec<_> =
            covered.into_iter().filter(|(workspace, _)| patterns.matches(workspace.name.short())).collect();
        if found.is_empty() { Err(refusals::no_such_workspace(pattern, &names)) } else { Ok(found) }
    }
}

/// Records how fresh and how complete an answer is.
fn record_state(answer: &CodeAnswer, call: &CallTrace) {
    if let Some(metadata) = code_query::metadata_of(answer) {
        let freshness = metadata.freshness.as_str();
        let completeness = metadata.completeness.as_str();
        call.update(|record| (record.freshness, record.completeness) = (Some(freshness), Some(completeness)));
    }
}

/// Applies the file changes and opens the index.
async fn begin(
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

/// One query while it is answered.
#[derive(Clone, Copy)]
pub(super) struct IndexCall<'a> {
    pub(super) form: AnswerForm,
    pub(super) request: &'a CodeRequest,
    pub(super) deadline: Deadline,
    pub(super) status: &'a WaitStatus,
    pub(super) call: &'a CallTrace,
}

impl<'a> IndexCall<'a> {
    /// Applies the file changes of the workspaces and opens their indexes, all at once. The refusal if none of a group can be opened.
    async fn open(self, members: &[&'a Member]) -> Result<Result<OpenIndexes<'a>, Box<CodeRefusal>>, ToolError> {
        let mut open = Vec::new();
        let mut problems = Vec::new();
        match (self.form, members) {
            (AnswerForm::Workspace, [(workspace, _)]) => {
                let indexed = begin(workspace, self.deadline, self.status, self.call).await?;
                open.push(OpenMember { workspace, indexed });
            }
            _ => {
                self.status.write(Waiting::Preparing);
                for opened in join_all(members.iter().map(|member| self.open_member(member))).await {
                    match opened {
                        Ok(member) => open.push(member),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
        }
        let Some(first) = open.first().cloned() else {
            let message = "None of the group's workspaces can be asked now; the warnings say why. Ask again.";
            let mut metadata = AnswerMetadata::default();
            group_report::report(&mut metadata, problems);
            return Ok(Err(Box::new(CodeRefusal::new(CodeError::IndexNotReady, message).with_metadata(metadata))));
        };
        Ok(Ok(OpenIndexes { first, open, problems, asked: self }))
    }

    async fn open_member(self, member: &'a Member) -> Result<OpenMember<'a>, IncompleteWorkspace> {
        let (workspace, admission) = member;
        let until = self.deadline.earlier(Duration::from_millis(limits::GROUP_QUERY_TIME_MS)).instant();
        let name = workspace.name.clone();
        match admission {
            MemberAdmission::Admitted => {}
            MemberAdmission::Overloaded => return Err(group_report::overloaded(name)),
            MemberAdmission::NotPermitted => return Err(group_report::not_permitted(name)),
        }
        let own = WaitStatus::default();
        match timeout_at(until, begin(workspace, self.deadline, &own, self.call)).await {
            Ok(Ok(indexed)) => Ok(OpenMember { workspace, indexed }),
            Ok(Err(error)) => Err(group_report::failed(name, &error)),
            Err(_) => Err(group_report::late(name)),
        }
    }
}

/// One workspace whose index is open.
#[derive(Clone)]
pub(super) struct OpenMember<'a> {
    pub(super) workspace: &'a Arc<WorkspaceHandle>,
    pub(super) indexed: IndexHandle,
}

/// The workspaces of a query, opened as far as possible; at least one is open.
pub(super) struct OpenIndexes<'a> {
    /// The first of them, and the only one if the answer is about one workspace.
    pub(super) first: OpenMember<'a>,
    pub(super) open: Vec<OpenMember<'a>>,
    /// Those that couldn't be opened.
    pub(super) problems: Vec<IncompleteWorkspace>,
    pub(super) asked: IndexCall<'a>,
}

impl OpenIndexes<'_> {
    /// Begins the first index of the workspaces without one. If no workspace has one, waits for them within
    /// [`limits::FIRST_INDEX_WAIT_MS`].
    ///
    /// # Errors
    /// If the indexer of a workspace alone has ended.
    pub(super) async fn first_indexes(&self) -> Result<(), ToolError> {
        let IndexCall { deadline, status, call, form, .. } = self.asked;
        let unindexed: Vec<&OpenMember<'_>> =
            self.open.iter().filter(|member| !member.indexed.state.is_indexed()).collect();
        let has_index = unindexed.len() < self.open.len();
        let limit = match form {
            AnswerForm::Workspace => deadline,
            // A workspace whose thread is stuck delays no other.
            AnswerForm::Group => deadline.earlier(Duration::from_millis(limits::GROUP_QUERY_TIME_MS)),
        };
        let limit = limit.instant();
        let begin = |member: &&OpenMember<'_>| timeout_at(limit, member.indexed.indexer.send(FirstIndex));
        let begun = join_all(unindexed.iter().map(begin)).await;
        let mut waits = Vec::new();
        for (member, jobs) in unindexed.iter().zip(begun) {
            match jobs {
                Ok(Ok(Some(jobs))) => waits.push(until_indexed(&member.indexed, jobs)),
                Ok(Err(_)) if form == AnswerForm::Workspace => return Err(ToolError::internal()),
                _ => {}
            }
        }
        if has_index || waits.is_empty() {
            return Ok(());
        }
        let most = Duration::from_millis(limits::FIRST_INDEX_WAIT_MS);
        let until = Instant::now() + most.min(deadline.left().saturating_sub(PARTIAL_ANSWER_MARGIN));
        status.write(Waiting::Index);
        let _waiting = call.wait_for_index();
        // At the end of the time the answer names those that are still being indexed.
        drop(timeout_at(until, join_all(waits)).await);
        Ok(())
    }

    /// Runs `work` on a blocking thread. It gets the number of threads that it may use.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&QueryEnd, usize) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let IndexCall { deadline, status, call, form, .. } = self.asked;
        // The workspaces of a group begin and hang one by one.
        let alone = (form == AnswerForm::Workspace).then(|| self.first.indexed.queries.clone());
        let indexes = self.indexes();
        let turn = match &alone {
            Some(queries) => queries.turn().await.ok_or_else(refusals::hangs)?,
            None => indexes.group_turn(self.threads()).await.ok_or_else(ToolError::internal)?,
        };
        let blocking_work = BlockingWork { indexes, turn, deadline, status, call };
        let work = move |end: &QueryEnd, threads: usize| {
            let _running = match &alone {
                Some(queries) => Some(queries.begin()?),
                None => None,
            };
            Some(work(end, threads))
        };
        blocking_work.run(work).await?.ok_or_else(refusals::hangs)
    }

    /// The most threads of the call: as many as a search in one workspace uses.
    fn threads(&self) -> usize {
        let most = self.open.iter().filter_map(|member| member.indexed.projects.first());
        let threads = most.map(|project| project.settings().threads).max().unwrap_or(1);
        threads.min(self.open.len()).clamp(1, limits::MAX_GROUP_THREADS)
    }

    /// What the indexes of all workspaces share.
    pub(super) fn indexes(&self) -> &Arc<Indexes> {
        &self.first.workspace.indexes
    }

    /// The projects of the workspaces: those of the roots that `repo:` selects.
    pub(super) fn projects(&self) -> Vec<MemberProjects> {
        let projects = |member: &OpenMember<'_>| MemberProjects {
            name: member.workspace.name.clone(),
            projects: self.selected_projects(member),
            queries: member.indexed.queries.clone(),
        };
        self.open.iter().map(projects).collect()
    }

    /// The projects of one workspace.
    pub(super) fn selected_projects(&self, member: &OpenMember<'_>) -> Arc<[Arc<Project>]> {
        let all = &member.indexed.projects;
        match self.selected_roots(member) {
            Some(selected) => selected.iter().filter_map(|at| all.get(*at).cloned()).collect(),
            None => all.clone(),
        }
    }

    /// The positions of the roots that `repo:` selects; `None` if the query has no such filter.
    pub(super) fn selected_roots(&self, member: &OpenMember<'_>) -> Option<Vec<usize>> {
        // A wrong filter was refused before.
        let filter = RepoFilter::of(&self.asked.request.query).ok()??;
        Some(filter.roots(member.workspace.name.short(), member.workspace.gate.root_set().roots()))
    }
}

/// Waits until the index of a workspace is built, or until no job builds it any more. `jobs` changes whenever one ends.
async fn until_indexed(indexed: &IndexHandle, mut jobs: watch::Receiver<u64>) {
    while !indexed.state.is_indexed() && jobs.changed().await.is_ok() && !indexed.state.is_indexed() {
        // The jobs of other roots may begin only now.
        match indexed.indexer.send(FirstIndex).await {
            Ok(Some(more)) => jobs = more,
            _ => return,
        }
    }
}
