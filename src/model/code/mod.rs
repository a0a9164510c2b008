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

pub use answer::{CodeAnswer, NextAction, Outline, OutlineSymbol, Related, ResultType, Row, Rows};
pub use asked::Asked;
pub use kind::{SymbolKind, Visibility};
pub use metadata::{Completeness, Freshness, Indexing, Metadata, Reasons, Schema};
pub use query::{
    CaseRule, CodeQuery, Depth, DetailLevel, ExplainLevel, FreshnessPolicy, Intent, LocateBy, LocateQuery,
    OutlineQuery, SearchMode, SearchQuery, Shape, tools,
};
pub use refusal::{CodeError, Refusal};
pub use state::{
    ActiveJob, Grammars, Health, HealthStatus, InterruptedJob, JobAnswer, JobMode, JobRecord, JobStatus, Prewarm,
    ProjectHealth, StartupCheck, Status, Warmset,
};
pub use weights::{BadWeight, Weights};
