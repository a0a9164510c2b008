//! Types of the catalog `code`: queries to the code index and its answers.
//!
//! Independent of the catalog's JSON and of the index's storage. Lines and columns count from 1, as in the contract.

mod answer;
mod call_arguments;
mod group;
mod kind;
mod metadata;
mod query;
mod query_language;
mod refusal;
mod search_terms;
mod state;
mod weights;

pub use answer::{
    CodeAnswer, FoldedTests, NextAction, Outline, OutlineSymbol, RelatedSymbol, ResultRow, ResultRows, ResultType,
};
pub use call_arguments::CallArguments;
pub use group::{BegunJob, CodeRequest, GroupJobs, GroupStatus, IncompleteWorkspace, WorkspaceError};
pub use kind::{SymbolKind, Visibility};
pub use metadata::{AnswerMetadata, Completeness, Freshness, IndexingStatus, RankingReasons, SchemaStatus};
pub use query::{
    CaseRule, CodeQuery, DetailLevel, ExplainLevel, FreshnessPolicy, LocateBy, LocateQuery, OutlineDepth, OutlineQuery,
    QueryIntent, RowOptions, SearchMode, SearchQuery, tools,
};
pub use query_language::{FilterName, LanguageError, ParsedSearch, QueryTerm, TermSubject, name_expression};
pub use refusal::{CodeError, CodeRefusal};
pub use search_terms::LineCondition;
pub use state::{
    ActiveJob, GrammarStatus, HealthReport, HealthStatus, IndexStatus, InterruptedJob, JobAnswer, JobMode, JobRecord,
    JobStatus, PrewarmStatus, ProjectHealth, StartupCheck, WarmsetStatus,
};
pub use weights::{BadWeight, Weights};
