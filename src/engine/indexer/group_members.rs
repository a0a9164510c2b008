//! A workspace of a group, as a query to the group sees it.

use std::sync::Arc;

use crate::indexer::group_report::UnitProblem;
use crate::indexer::running_queries::{RunningQueries, RunningQuery};
use codeyard_base::ids::WorkspaceName;
use codeyard_index::Project;
use codeyard_model::code::CodeRefusal;

/// Where a workspace or root comes in the order in which a group is asked, lowest first.
pub(super) fn request_rank(queries: &RunningQueries, is_loaded: bool) -> (bool, bool, bool) {
    (queries.has_late(), !is_loaded, queries.is_slow())
}

/// The order in which workspaces are asked: those with a late query last, before them those that had one lately.
pub(super) fn request_order<'q>(queries: impl Iterator<Item = &'q RunningQueries>) -> Vec<usize> {
    let keys: Vec<_> = queries.map(|queries| request_rank(queries, true)).collect();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|at| keys[*at]);
    order
}

/// The projects of one workspace of a group.
#[derive(Clone)]
pub struct MemberProjects {
    /// The workspace.
    pub name: WorkspaceName,
    /// Its projects, in its roots' order.
    pub projects: Arc<[Arc<Project>]>,
    /// Its queries that run.
    pub queries: Arc<RunningQueries>,
}

impl MemberProjects {
    /// A query begins. Refused if others of the workspace hang.
    pub(super) fn begin(&self) -> Result<RunningQuery, Box<CodeRefusal>> {
        self.queries.begin().ok_or_else(|| Box::new(UnitProblem::Hangs.refusal()))
    }
}
