//! `health_check` and `index_status` of a group: the entries of its workspaces, on a few threads. It blocks.
//!
//! Invariant: a workspace that isn't reached in time has an error in its place.

use std::sync::Arc;

use crate::indexer::fan_out::{Done, fan_out};
use crate::indexer::group_members::{MemberProjects, request_order};
use crate::indexer::group_report::{self, UnitProblem};
use crate::indexer::handle::IndexHandle;
use crate::indexer::health::health;
use crate::indexer::indexes::Indexes;
use crate::indexer::query_end::QueryEnd;
use crate::indexer::refusals::no_root;
use codeyard_base::ids::WorkspaceName;
use codeyard_model::code::{
    AnswerMetadata, CodeRefusal, GroupStatus, HealthReport, HealthStatus, IncompleteWorkspace, IndexStatus,
    PrewarmStatus, SchemaStatus, WorkspaceError,
};

/// The health of these workspaces together: of each word the worst, and the projects of all.
///
/// # Errors
/// Why the first of them has no report, if none has one.
pub fn group_health(
    members: &[(WorkspaceName, IndexHandle)],
    indexes: &Arc<Indexes>,
    threads: usize,
    end: &QueryEnd,
) -> Result<HealthReport, Box<CodeRefusal>> {
    let all = members.to_vec();
    let indexes = indexes.clone();
    let order = request_order(members.iter().map(|(_, indexed)| &*indexed.queries));
    let done = fan_out(members.len(), order, threads, end, move |at| {
        let indexed = &all[at].1;
        let _running = indexed.queries.begin().ok_or(UnitProblem::Hangs)?;
        Ok::<_, UnitProblem>(health(indexed, &indexes, None))
    });
    let mut reports = Vec::new();
    let mut incomplete = Vec::new();
    let mut refused = None;
    for ((name, _), done) in members.iter().zip(done) {
        let refusal = match done {
            Done::Result(Ok(Some(mut report))) => {
                report.projects.iter_mut().for_each(|project| project.workspace = Some(name.clone()));
                reports.push(report);
                continue;
            }
            Done::Result(Ok(None)) => no_root(),
            Done::Result(Err(problem)) => problem.refusal(),
            Done::Late => UnitProblem::Late.refusal(),
            Done::Panicked => UnitProblem::Panicked.refusal(),
        };
        incomplete.push(group_report::refused(name.clone(), &refusal));
        refused.get_or_insert(refusal);
    }
    let mut reports = reports.into_iter();
    match reports.next() {
        Some(first) => Ok(together(first, reports, incomplete)),
        None => Err(group_report::with_problems(Box::new(refused.unwrap_or_else(no_root)), incomplete)),
    }
}

fn together(
    mut sum: HealthReport,
    others: impl Iterator<Item = HealthReport>,
    incomplete: Vec<IncompleteWorkspace>,
) -> HealthReport {
    sum.incomplete = incomplete;
    let severity = |status: HealthStatus| HealthStatus::ALL.iter().position(|known| *known == status);
    for mut one in others {
        if severity(one.status) > severity(sum.status) {
            sum.status = one.status;
        }
        sum.tantivy_ok &= one.tantivy_ok;
        sum.sqlite_ok &= one.sqlite_ok;
        if prewarm_rank(one.prewarm) > prewarm_rank(sum.prewarm) {
            sum.prewarm = one.prewarm;
        }
        if sum.startup.status == SchemaStatus::Compatible && one.startup.status != SchemaStatus::Compatible {
            sum.startup = one.startup;
        }
        sum.active_job = sum.active_job.or(one.active_job);
        sum.interrupted.append(&mut one.interrupted);
        sum.warmset.members.append(&mut one.warmset.members);
        sum.projects.append(&mut one.projects);
    }
    sum
}

fn prewarm_rank(status: PrewarmStatus) -> u8 {
    match status {
        PrewarmStatus::Skipped => 0,
        PrewarmStatus::Complete => 1,
        PrewarmStatus::Pending => 2,
        PrewarmStatus::Warming => 3,
        PrewarmStatus::Failed => 4,
    }
}

/// The status of the first root of each workspace.
pub fn group_status(
    members: &[MemberProjects],
    reference: Option<&str>,
    threads: usize,
    end: &QueryEnd,
) -> GroupStatus {
    let all = members.to_vec();
    let reference = reference.map(str::to_owned);
    let order = request_order(members.iter().map(|member| &*member.queries));
    let done = fan_out(members.len(), order, threads, end, move |at| {
        let member = &all[at];
        let _running = member.begin()?;
        let project = member.projects.first().ok_or_else(|| Box::new(no_root()))?;
        project.status(reference.as_deref())
    });
    let entry = |done: Done<Result<IndexStatus, Box<CodeRefusal>>>| match done {
        Done::Result(Ok(status)) => Ok(Box::new(status)),
        Done::Result(Err(refusal)) => Err(error_of(*refusal)),
        Done::Late => Err(error_of(UnitProblem::Late.refusal())),
        Done::Panicked => Err(error_of(UnitProblem::Panicked.refusal())),
    };
    let workspaces = members.iter().zip(done).map(|(member, done)| (member.name.clone(), entry(done))).collect();
    GroupStatus { workspaces, metadata: AnswerMetadata::default() }
}

/// The error of one workspace in an answer about several.
pub fn error_of(refusal: CodeRefusal) -> WorkspaceError {
    WorkspaceError { code: refusal.code, message: refusal.message }
}
