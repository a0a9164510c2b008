//! A workspace of a group, as a query to the group sees it.

use std::sync::Arc;

use crate::indexer::group_report::UnitProblem;
use crate::indexer::running_queries::{RunningQueries, RunningQuery};
use codeyard_base::ids::WorkspaceName;
use codeyard_index::Project;
use codeyard_model::code::CodeRefusal;

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
