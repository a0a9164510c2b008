//! The words of the catalog `code`: what is asked of the index and what it answers (code catalog contract, decisions §5).
//!
//! Free of the catalog's JSON and of the index's storage. Lines and columns here count from 1, as the contract's do.

mod answer;
mod asked;
mod kind;
mod metadata;
mod query;
mod refusal;
mod state;
mod weights;

pub use answer::{CodeAnswer, NextAction, Outline, OutlineSymbol, RelatedSymbol, ResultRow, ResultRows, ResultType};
pub use asked::CallArguments;
pub use kind::{SymbolKind, Visibility};
pub use metadata::{AnswerMetadata, Completeness, Freshness, IndexingStatus, RankingReasons, SchemaStatus};
pub use query::{
    CaseRule, CodeQuery, DetailLevel, ExplainLevel, FreshnessPolicy, LocateBy, LocateQuery, OutlineDepth, OutlineQuery,
    QueryIntent, RowOptions, SearchMode, SearchQuery, tools,
};
pub use refusal::{CodeError, CodeRefusal};
pub use state::{
    ActiveJob, GrammarStatus, HealthReport, HealthStatus, IndexStatus, InterruptedJob, JobAnswer, JobMode, JobRecord,
    JobStatus, PrewarmStatus, ProjectHealth, StartupCheck, WarmsetStatus,
};
pub use weights::{BadWeight, Weights};
