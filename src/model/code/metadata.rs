//! What every answer of the catalog says about itself (decisions §5, `metadata`).

use super::query::{ExplainLevel, words};

words! {
    /// Whether the index is what the disk or the branch is.
    Freshness {
        /// It is.
        #[default]
        Fresh = "fresh",
        /// It isn't.
        Stale = "stale",
        /// It isn't, and is catching up.
        Syncing = "syncing",
    }
}
words! {
    /// Whether there is an index.
    IndexingStatus {
        /// There is none.
        #[default]
        NotIndexed = "not_indexed",
        /// It is being built.
        Indexing = "indexing",
        /// There is.
        Ready = "ready",
        /// Building it failed.
        Failed = "failed",
    }
}
words! {
    /// Whether the answer is all there is.
    Completeness {
        /// It is.
        #[default]
        Complete = "complete",
        /// The index doesn't hold everything yet, or the time was up.
        Partial = "partial",
        /// There is more than the limits let through.
        Truncated = "truncated",
    }
}
words! {
    /// Whether this build can read the index.
    SchemaStatus {
        /// It can.
        Compatible = "compatible",
        /// There is none.
        #[default]
        NotIndexed = "not_indexed",
        /// Another build wrote it.
        ReindexRequired = "reindex_required",
        /// It is damaged.
        CorruptManifest = "corrupt_manifest",
    }
}

/// What is said beside every answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnswerMetadata {
    /// See there.
    pub freshness: Freshness,
    /// See there.
    pub indexing: IndexingStatus,
    /// See there.
    pub completeness: Completeness,
    /// See there.
    pub schema: SchemaStatus,
    /// The branch, tag or commit that was asked about; the checked-out branch for the working tree; `live` without git.
    pub reference: String,
    /// Sentences for a person; sorted.
    pub warnings: Vec<String>,
    /// Rows left out because another root shows the same.
    pub suppressed_duplicates: usize,
    /// The limit that cut the work short, by its name.
    pub safety_limit: Option<&'static str>,
    /// Why rows stand where they stand; one for each row that is there.
    pub reasons: Option<(ExplainLevel, Vec<RankingReasons>)>,
}

/// Why a row stands where it stands (contract, "Ranking Reasons"). All but `bm25_score` lie between 0 and 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RankingReasons {
    /// The name is the query.
    pub exact_match_boost: f64,
    /// The qualified name is, or ends with, the query.
    pub qualified_name_boost: f64,
    /// The path holds words of the query, and is nobody's test or copy.
    pub path_affinity: f64,
    /// It is a definition.
    pub definition_boost: f64,
    /// It is of the kind that the query asks for.
    pub kind_match: f64,
    /// How well the words fit; not bounded.
    pub bm25_score: f64,
    /// What rows are ordered by; follows from the others by the formula in `docs/ranking.md`.
    pub final_score: f64,
}
impl Eq for AnswerMetadata {}
