//! The result of a search over workspaces, and what it says about names and phrases that none of them has. Pure.

use codeyard_base::clock::Instant;
use codeyard_index::Project;
use codeyard_index::project::{AbsentName, is_unknown_name_warning};
use codeyard_model::code::{CodeRefusal, ResultRows};

/// The indexes that an answer has found to be outdated. Workspaces are positions among the members.
#[derive(Debug, Default)]
pub struct OutdatedRoots {
    /// The workspaces whose index is behind where the policy requires an update, with their roots.
    pub behind: Vec<(usize, Vec<usize>)>,
    /// The workspaces whose working tree has no index.
    pub unindexed: Vec<usize>,
}

/// The result of a search over a group, or over one workspace alone.
pub struct GroupRows {
    /// The rows, or the refusal of all workspaces.
    pub rows: Result<ResultRows, Box<CodeRefusal>>,
    /// What must be indexed.
    pub outdated: OutdatedRoots,
    /// When the work for each workspace began and ended, by position.
    pub took: Vec<(usize, Instant, Instant)>,
}

impl GroupRows {
    /// With one sentence about a name that no workspace has, in place of those of the workspaces. It stays out if one of them has the name.
    pub(super) fn with_absent_name(mut self, absent: Option<AbsentName>) -> Self {
        if let (Some(absent), Ok(rows)) = (absent, &mut self.rows) {
            let warnings = &mut rows.metadata.warnings;
            let is_refuted = !rows.rows.is_empty() && !warnings.iter().any(|warning| is_unknown_name_warning(warning));
            warnings.retain(|warning| !is_unknown_name_warning(warning));
            warnings.extend((!is_refuted).then(|| absent.to_string()));
            warnings.sort();
        }
        self
    }

    /// With what the first step of the search found out, when the second one gave the rows.
    pub(super) fn with_warning(mut self, warning: Option<String>) -> Self {
        if let (Some(warning), Ok(rows)) = (warning, &mut self.rows) {
            rows.metadata.warnings.push(warning);
            rows.metadata.warnings.sort();
            rows.metadata.warnings.dedup();
        }
        self
    }

    /// With a warning if there are too few rows because only the best `compared` hits were compared with what the query leaves out.
    pub(super) fn with_compared(self, compared: Option<usize>, limit: usize) -> Self {
        let is_short = self.rows.as_ref().is_ok_and(|rows| rows.rows.len() < limit.min(rows.total));
        let warning = compared.filter(|_| is_short).map(Project::too_many_hits);
        self.with_warning(warning)
    }
}
