//! Answers a query of the catalog `code` from the projects of all roots. It blocks.
//!
//! Invariants: a root that can't answer is named in a warning if another root answers; if only one of several roots has results, the
//! answer is the one that this root alone would give.

use std::sync::Arc;

use crate::indexer::merge;
use crate::indexer::merge::RootRows;
use crate::indexer::refusals::no_root;
use codeyard_index::Project;
use codeyard_model::code::{
    AnswerMetadata, CallArguments, CodeAnswer, CodeError, CodeQuery, CodeRefusal, Completeness, Freshness,
    FreshnessPolicy, IndexStatus, IndexingStatus, LocateQuery, Outline, OutlineQuery, ResultRows, SearchMode,
    SearchQuery,
};

/// Returns whether the query must end early.
pub type StopCheck<'q> = &'q (dyn Fn() -> bool + Sync);

/// The result of a query.
pub struct IndexAnswer {
    /// The answer.
    pub answer: CodeAnswer,
    /// Roots whose index is behind and must be updated.
    pub behind: Vec<usize>,
}

/// The projects that are queried.
#[derive(Clone, Copy)]
pub struct Projects<'p> {
    /// In the roots' order.
    pub all: &'p [Arc<Project>],
    /// The largest payload of an answer.
    pub payload_bytes: usize,
}

impl Projects<'_> {
    /// Answers a query that reads the index; `None` for health and jobs.
    pub fn answer(self, query: &CodeQuery, ends: StopCheck<'_>) -> Option<IndexAnswer> {
        let (answer, asked) = match query {
            CodeQuery::Search(asked) => (self.search(asked, ends), Some(asked.shape.freshness)),
            CodeQuery::Locate(asked) => (self.locate(asked, ends), Some(asked.shape.freshness)),
            CodeQuery::Outline(asked) => (self.outline(asked), Some(asked.freshness)),
            CodeQuery::Status { reference } => (self.status(reference.as_deref()), None),
            CodeQuery::Health { .. } | CodeQuery::Index { .. } | CodeQuery::Sync { .. } => return None,
        };
        let (mut answer, metadata) = match answer {
            Ok((answer, metadata)) => (answer, metadata),
            Err(refusal) => {
                // A refusal as stale starts no update; for a missing file the index may be behind.
                let metadata = (refusal.code != CodeError::IndexStale).then(|| refusal.metadata.clone());
                (CodeAnswer::Refused(refusal), metadata.into_iter().map(|of| (0, of)).collect())
            }
        };
        let mut asked_as = CallArguments::of(query);
        asked_as.payload_bytes = Some(self.payload_bytes);
        match &mut answer {
            CodeAnswer::Rows(rows) => rows.asked = asked_as,
            CodeAnswer::Outline(outline) => outline.asked = asked_as,
            _ => {}
        }
        let behind = asked.map(|policy| self.behind(policy, &metadata)).unwrap_or_default();
        Some(IndexAnswer { answer, behind })
    }

    /// Roots whose index is behind, where the policy requires an update.
    fn behind(self, policy: Option<FreshnessPolicy>, metadata: &[(usize, AnswerMetadata)]) -> Vec<usize> {
        let policy_at = |at: usize| {
            policy.or_else(|| self.all.get(at).map(|project| project.settings().freshness)).unwrap_or_default()
        };
        let behind = metadata.iter().filter(|(at, of)| is_behind(of, policy_at(*at)));
        behind.map(|(at, _)| *at).collect()
    }

    fn search(self, query: &SearchQuery, ends: StopCheck<'_>) -> Result<AnswerWithMetadata, Box<CodeRefusal>> {
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
        merge::search(parts, query).map(|(rows, metadata)| (CodeAnswer::Rows(rows), metadata))
    }

    fn locate(self, query: &LocateQuery, ends: StopCheck<'_>) -> Result<AnswerWithMetadata, Box<CodeRefusal>> {
        let parts = self.each(|project| project.locate(query, ends))?;
        merge::ranked(parts, query.shape.limit).map(|(rows, metadata)| (CodeAnswer::Rows(rows), metadata))
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
    fn outline(self, query: &OutlineQuery) -> Result<AnswerWithMetadata, Box<CodeRefusal>> {
        let (at, outline) = self.outline_at(query)?;
        let metadata = vec![(at, outline.metadata.clone())];
        Ok((CodeAnswer::Outline(outline), metadata))
    }

    /// The outline from the first root that has the file.
    pub(super) fn first_outline(self, query: &OutlineQuery) -> Result<Outline, Box<CodeRefusal>> {
        self.outline_at(query).map(|(_, outline)| outline)
    }

    fn outline_at(self, query: &OutlineQuery) -> Result<(usize, Outline), Box<CodeRefusal>> {
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

    fn status(self, reference: Option<&str>) -> Result<AnswerWithMetadata, Box<CodeRefusal>> {
        let first = self.all.first().ok_or_else(|| Box::new(no_root()))?;
        let status = first.status(reference)?;
        Ok((CodeAnswer::Status(Box::new(status)), Vec::new()))
    }
}

/// An answer, with the metadata of the roots that gave it.
type AnswerWithMetadata = (CodeAnswer, Vec<(usize, AnswerMetadata)>);

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

/// Whether an answer is complete.
pub fn is_complete(answer: &CodeAnswer) -> bool {
    metadata_of(answer).is_none_or(|metadata| metadata.completeness == Completeness::Complete)
}
