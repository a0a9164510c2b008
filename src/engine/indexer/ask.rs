//! A question of the catalog `code`, put to the projects of all roots. It blocks.
//!
//! Invariants: a root that can't answer is named in a warning as long as another one can; what one root alone would answer is what
//! several answer of which the others have nothing.

use std::path::Path;
use std::sync::Arc;

use super::merge::{self, Part};
use codeyard_index::Project;
use codeyard_model::code::{
    Asked, CodeAnswer, CodeError, CodeQuery, Completeness, Freshness, FreshnessPolicy, Indexing, LocateQuery, Metadata,
    Outline, OutlineQuery, Refusal, Rows, SearchMode, SearchQuery, Status,
};

/// Says whether the question is to end early.
pub type Ends<'q> = &'q (dyn Fn() -> bool + Sync);

/// What came of a question.
pub struct Answered {
    /// The answer.
    pub answer: CodeAnswer,
    /// Roots whose index is behind and is to catch up.
    pub behind: Vec<usize>,
}

/// Which projects are asked.
#[derive(Clone, Copy)]
pub struct Projects<'p> {
    /// In the roots' order.
    pub all: &'p [Arc<Project>],
    /// The largest payload of an answer.
    pub payload_bytes: usize,
}

impl Projects<'_> {
    /// Answers a question that reads; `None` for those that don't: health and jobs.
    pub fn answer(self, query: &CodeQuery, ends: Ends<'_>) -> Option<Answered> {
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
                // Of what is refused as stale nothing is begun; of a file that isn't there the index may be behind.
                let metadata = (refusal.code != CodeError::IndexStale).then(|| refusal.metadata.clone());
                (CodeAnswer::Refused(refusal), metadata.into_iter().map(|of| (0, of)).collect())
            }
        };
        let mut asked_as = Asked::of(query);
        asked_as.payload_bytes = Some(self.payload_bytes);
        match &mut answer {
            CodeAnswer::Rows(rows) => rows.asked = asked_as,
            CodeAnswer::Outline(outline) => outline.asked = asked_as,
            _ => {}
        }
        let behind = asked.map(|policy| self.behind(policy, &metadata)).unwrap_or_default();
        Some(Answered { answer, behind })
    }

    /// Roots that answered from an index that is behind, where the policy has it catch up.
    fn behind(self, policy: Option<FreshnessPolicy>, metadata: &[(usize, Metadata)]) -> Vec<usize> {
        let catches_up = |at: usize| {
            let policy = policy.or_else(|| self.all.get(at).map(|project| project.settings().freshness));
            policy.unwrap_or_default() == FreshnessPolicy::Balanced
        };
        let is_behind = |of: &Metadata| {
            of.freshness == Freshness::Stale && !matches!(of.indexing, Indexing::NotIndexed | Indexing::Failed)
        };
        let behind = metadata.iter().filter(|(at, of)| is_behind(of) && catches_up(*at));
        behind.map(|(at, _)| *at).collect()
    }

    fn search(self, query: &SearchQuery, ends: Ends<'_>) -> Result<Told, Box<Refusal>> {
        let mut left = query.clone();
        let is_of_lines = matches!(query.mode, SearchMode::Text | SearchMode::Regex);
        let parts = self.each(|project| {
            let rows = project.search(&left, ends)?;
            if is_of_lines {
                // The lines of all roots are one list: what this root has isn't asked of the next one.
                left.offset = left.offset.saturating_sub(rows.total);
                left.shape.limit = left.shape.limit.saturating_sub(rows.rows.len());
            }
            Ok(rows)
        })?;
        merge::search(parts, query).map(|(rows, metadata)| (CodeAnswer::Rows(rows), metadata))
    }

    fn locate(self, query: &LocateQuery, ends: Ends<'_>) -> Result<Told, Box<Refusal>> {
        let parts = self.each(|project| project.locate(query, ends))?;
        merge::ranked(parts, query.shape.limit).map(|(rows, metadata)| (CodeAnswer::Rows(rows), metadata))
    }

    /// What each root says. One alone may refuse at once.
    fn each(self, mut ask: impl FnMut(&Project) -> Result<Rows, Box<Refusal>>) -> Result<Vec<Part>, Box<Refusal>> {
        let mut parts = Vec::with_capacity(self.all.len());
        for (at, project) in self.all.iter().enumerate() {
            match ask(project) {
                Err(refusal) if self.all.len() == 1 => return Err(refusal),
                said => parts.push(Part { at, root: shown(project.root()), said }),
            }
        }
        if parts.is_empty() { Err(Box::new(no_root())) } else { Ok(parts) }
    }

    /// Of the first root that has the file.
    fn outline(self, query: &OutlineQuery) -> Result<Told, Box<Refusal>> {
        let mut refused: Option<Box<Refusal>> = None;
        for (at, project) in self.all.iter().enumerate() {
            match project.outline(query) {
                Ok(outline) => {
                    let metadata = vec![(at, outline.metadata.clone())];
                    return Ok((CodeAnswer::Outline(outline), metadata));
                }
                // That a file isn't there says less than why one can't be looked for.
                Err(refusal) => match &refused {
                    Some(first) if first.code != CodeError::FileNotFound => {}
                    Some(_) if refusal.code == CodeError::FileNotFound => {}
                    _ => refused = Some(refusal),
                },
            }
        }
        Err(refused.unwrap_or_else(|| Box::new(no_root())))
    }

    fn status(self, reference: Option<&str>) -> Result<Told, Box<Refusal>> {
        let first = self.all.first().ok_or_else(|| Box::new(no_root()))?;
        let status = first.status(reference)?;
        Ok((CodeAnswer::Status(Box::new(status)), Vec::new()))
    }
}

/// An answer, and what the roots that gave it say of themselves.
type Told = (CodeAnswer, Vec<(usize, Metadata)>);

/// The refusal of a workspace without roots.
pub fn no_root() -> Refusal {
    Refusal::new(
        CodeError::ProjectNotFound,
        "This workspace has no root that could be indexed. Start codeyard with --root, or add a [[workspace]].",
    )
}

fn shown(root: &Path) -> String {
    root.to_string_lossy().into_owned()
}

/// What an answer says of itself.
pub fn metadata_of(answer: &CodeAnswer) -> Option<&Metadata> {
    Some(match answer {
        CodeAnswer::Rows(Rows { metadata, .. }) | CodeAnswer::Outline(Outline { metadata, .. }) => metadata,
        CodeAnswer::Status(status) => {
            let Status { metadata, .. } = &**status;
            metadata
        }
        CodeAnswer::Job(job) => &job.metadata,
        CodeAnswer::Refused(refusal) => &refusal.metadata,
        CodeAnswer::Health(_) => return None,
    })
}

/// Whether an answer holds all there is.
pub fn is_complete(answer: &CodeAnswer) -> bool {
    metadata_of(answer).is_none_or(|metadata| metadata.completeness == Completeness::Complete)
}
