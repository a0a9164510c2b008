//! Answers a query of the catalog `code` from the projects of the roots of one workspace. It blocks.
//!
//! Invariants: a root that can't answer is named in a warning if another root answers; if only one of several roots has results, the
//! answer is the one that this root alone would give.

use std::sync::Arc;

use crate::indexer::group_rows::{GroupRows, OutdatedRoots};
use crate::indexer::merge::{self, Merged, RootRows};
use crate::indexer::query_end::QueryEnd;
use crate::indexer::refusals::no_root;
use codeyard_index::Project;
use codeyard_model::code::{
    AnswerMetadata, CodeAnswer, CodeError, CodeRefusal, Freshness, FreshnessPolicy, IndexStatus, IndexingStatus,
    LocateQuery, Outline, OutlineQuery, ResultRows, SearchMode, SearchQuery,
};

/// Returns whether the query must end early.
type StopCheck<'q> = &'q (dyn Fn() -> bool + Sync);

/// The projects of one workspace.
#[derive(Clone, Copy)]
pub struct Projects<'p> {
    /// In the roots' order.
    pub all: &'p [Arc<Project>],
}

impl Projects<'_> {
    /// `search_code`.
    pub(super) fn search(self, query: &SearchQuery, end: &QueryEnd) -> GroupRows {
        self.rows(self.searched(query, &|| end.is_reached()), query.shape.freshness)
    }

    /// `locate_symbol`.
    pub(super) fn locate(self, query: &LocateQuery, end: &QueryEnd) -> GroupRows {
        let parts = self.each(|project| project.locate(query, &|| end.is_reached()));
        self.rows(parts.and_then(|parts| merge::ranked(parts, query.shape.limit)), query.shape.freshness)
    }

    /// `get_file_outline`: from the first root that has the file.
    pub fn outline(self, query: &OutlineQuery) -> (Result<Outline, Box<CodeRefusal>>, OutdatedRoots) {
        match self.outline_at(query) {
            Ok((at, outline)) => {
                let roots = [(at, outline.metadata.clone())];
                let outdated = self.outdated(query.freshness, &roots, &outline.metadata);
                (Ok(outline), outdated)
            }
            Err(refusal) => {
                let outdated = self.outdated(query.freshness, &of_refusal(&refusal), &refusal.metadata);
                (Err(refusal), outdated)
            }
        }
    }

    /// `index_status`: of the first root.
    pub fn status(self, reference: Option<&str>) -> (Result<IndexStatus, Box<CodeRefusal>>, OutdatedRoots) {
        let first = self.all.first().ok_or_else(|| Box::new(no_root()));
        let status = first.and_then(|first| first.status(reference));
        let metadata = status.as_ref().map_or_else(|refusal| &refusal.metadata, |status| &status.metadata);
        let outdated = self.outdated(None, &[], metadata);
        (status, outdated)
    }

    fn rows(self, merged: Merged, policy: Option<FreshnessPolicy>) -> GroupRows {
        let (rows, outdated) = match merged {
            Ok((rows, roots)) => {
                let outdated = self.outdated(policy, &roots, &rows.metadata);
                (Ok(rows), outdated)
            }
            Err(refusal) => {
                let outdated = self.outdated(policy, &of_refusal(&refusal), &refusal.metadata);
                (Err(refusal), outdated)
            }
        };
        GroupRows { rows, outdated, took: Vec::new() }
    }

    /// The roots whose index is behind where the policy requires an update, and whether `answer` says that there is none.
    fn outdated(
        self,
        policy: Option<FreshnessPolicy>,
        roots: &[(usize, AnswerMetadata)],
        answer: &AnswerMetadata,
    ) -> OutdatedRoots {
        let behind = self.behind(policy, roots);
        let is_unindexed = answer.indexing == IndexingStatus::NotIndexed;
        OutdatedRoots {
            behind: if behind.is_empty() { vec![] } else { vec![(0, behind)] },
            unindexed: if is_unindexed { vec![0] } else { vec![] },
        }
    }

    /// Roots whose index is behind, where the policy requires an update.
    fn behind(self, policy: Option<FreshnessPolicy>, metadata: &[(usize, AnswerMetadata)]) -> Vec<usize> {
        let policy_at = |at: usize| {
            policy.or_else(|| self.all.get(at).map(|project| project.settings().freshness)).unwrap_or_default()
        };
        let behind = metadata.iter().filter(|(at, of)| is_behind(of, policy_at(*at)));
        behind.map(|(at, _)| *at).collect()
    }

    fn searched(self, query: &SearchQuery, ends: StopCheck<'_>) -> Merged {
        let mut left = query.clone();
        let is_of_lines = matches!(query.mode, SearchMode::Text | SearchMode::Regex);
        let parts = self.each(|project| {
            let rows = project.search(&left, ends)?;
            if is_of_lines {
                // The lines of all roots form one list: the next root continues where this one ends.
                left.offset = left.offset.saturating_sub(rows.total);
                left.shape.limit = left.shape.limit.saturating_sub(rows.rows.len());
            }
            Ok(rows)
        })?;
        merge::search(parts, query)
    }

    /// The result of each root. A single root may refuse at once.
    fn each(
        self,
        mut ask: impl FnMut(&Project) -> Result<ResultRows, Box<CodeRefusal>>,
    ) -> Result<Vec<RootRows>, Box<CodeRefusal>> {
        let mut parts = Vec::with_capacity(self.all.len());
        for (at, project) in self.all.iter().enumerate() {
            match ask(project) {
                Err(refusal) if self.all.len() == 1 => return Err(refusal),
                result => parts.push(RootRows { at, label: format!("The root {}", project.root().display()), result }),
            }
        }
        if parts.is_empty() { Err(Box::new(no_root())) } else { Ok(parts) }
    }

    /// The outline from the first root that has the file.
    pub(super) fn outline_at(self, query: &OutlineQuery) -> Result<(usize, Outline), Box<CodeRefusal>> {
        // Any other refusal is more informative than a missing file, and a root that could have the file than one that couldn't.
        let weight = |refusal: &CodeRefusal| match refusal.code {
            CodeError::ProjectNotFound => 0,
            CodeError::FileNotFound => 1,
            _ => 2,
        };
        let mut refused: Option<Box<CodeRefusal>> = None;
        for (at, project) in self.all.iter().enumerate() {
            match project.outline(query) {
                Ok(outline) => return Ok((at, outline)),
                Err(refusal) => {
                    if refused.as_ref().is_none_or(|first| weight(&refusal) > weight(first)) {
                        refused = Some(refusal);
                    }
                }
            }
        }
        Err(refused.unwrap_or_else(|| Box::new(no_root())))
    }
}

/// What a refusal says of the first root. One as stale starts no update; for a missing file the index may be behind.
fn of_refusal(refusal: &CodeRefusal) -> Vec<(usize, AnswerMetadata)> {
    let metadata = (refusal.code != CodeError::IndexStale).then(|| refusal.metadata.clone());
    metadata.into_iter().map(|of| (0, of)).collect()
}

/// Whether an index is behind, and the policy requires an update.
pub(super) fn is_behind(metadata: &AnswerMetadata, policy: FreshnessPolicy) -> bool {
    policy == FreshnessPolicy::Balanced
        && metadata.freshness == Freshness::Stale
        && !matches!(metadata.indexing, IndexingStatus::NotIndexed | IndexingStatus::Failed)
}

/// The metadata of an answer.
pub fn metadata_of(answer: &CodeAnswer) -> Option<&AnswerMetadata> {
    Some(match answer {
        CodeAnswer::Rows(ResultRows { metadata, .. }) | CodeAnswer::Outline(Outline { metadata, .. }) => metadata,
        CodeAnswer::Status(status) => {
            let IndexStatus { metadata, .. } = &**status;
            metadata
        }
        CodeAnswer::Job(job) => &job.metadata,
        CodeAnswer::Jobs(jobs) => &jobs.metadata,
        CodeAnswer::Statuses(statuses) => &statuses.metadata,
        CodeAnswer::Refused(refusal) => &refusal.metadata,
        CodeAnswer::Health(_) => return None,
    })
}
