//! The `metadata` of every answer of the catalog `code`.

use super::group::IncompleteWorkspace;
use super::query::{ExplainLevel, words};

words! {
    /// Whether the index matches the disk or the branch.
    Freshness {
        /// It matches.
        #[default]
        Fresh = "fresh",
        /// It is behind.
        Stale = "stale",
        /// It is behind, and a job is updating it.
        Syncing = "syncing",
    }
}
words! {
    /// Whether an index exists.
    IndexingStatus {
        /// No index exists.
        #[default]
        NotIndexed = "not_indexed",
        /// It is being built.
        Indexing = "indexing",
        /// It exists.
        Ready = "ready",
        /// Building it failed.
        Failed = "failed",
    }
}
words! {
    /// Whether the answer is complete.
    Completeness {
        /// It is complete.
        #[default]
        Complete = "complete",
        /// The index isn't complete yet, or the deadline passed.
        Partial = "partial",
        /// A limit cut the answer.
        Truncated = "truncated",
    }
}
words! {
    /// Whether this build can read the index.
    SchemaStatus {
        /// It can.
        Compatible = "compatible",
        /// No index exists.
        #[default]
        NotIndexed = "not_indexed",
        /// Another build wrote it.
        ReindexRequired = "reindex_required",
        /// It is damaged.
        CorruptManifest = "corrupt_manifest",
    }
}

/// Metadata of an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnswerMetadata {
    /// Whether the index matches the disk or the branch.
    pub freshness: Freshness,
    /// Whether an index exists.
    pub indexing: IndexingStatus,
    /// Whether the answer is complete.
    pub completeness: Completeness,
    /// Whether this build can read the index.
    pub schema: SchemaStatus,
    /// The branch, tag or commit of the query; the checked-out branch for the working tree; `live` without git.
    pub reference: String,
    /// Sentences for a person, sorted.
    pub warnings: Vec<String>,
    /// Rows left out because another root has the same row.
    pub suppressed_duplicates: usize,
    /// Name of the limit that ended the search early.
    pub safety_limit: Option<&'static str>,
    /// Of a group: the workspaces that the answer doesn't cover completely, in the order of their names.
    pub incomplete: Vec<IncompleteWorkspace>,
    /// When to repeat the call, because an index is being built, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The factors behind the order, one for each row.
    pub reasons: Option<(ExplainLevel, Vec<RankingReasons>)>,
}

/// The factors of a row's score. All but `bm25_score` are between 0 and 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RankingReasons {
    /// The name is the query.
    pub exact_match_boost: f64,
    /// The qualified name is, or ends with, the query.
    pub qualified_name_boost: f64,
    /// The path contains words of the query, and isn't a test or vendored code.
    pub path_affinity: f64,
    pub definition_boost: f64,
    /// It is of the kind that the query asks for.
    pub kind_match: f64,
    /// The BM25 score of the words. Not bounded.
    pub bm25_score: f64,
    /// The score that orders rows: computed from the others by the formula in `docs/internals/ranking.md`.
    pub final_score: f64,
}

impl Eq for AnswerMetadata {}
