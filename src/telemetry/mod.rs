//! Rank 3: what is told about calls while they run: one span a tool call, and a few counters.
//!
//! Only the seams: no exporter is set up here, so spans cost next to nothing until one is. Invariants: span, attribute
//! and metric names come from [`names`] only; no attribute holds a path, a token or a request body.

mod call_span;
mod metrics;
pub mod names;

pub use call_span::{CallSpan, Outcome};
pub use metrics::{Counts, Metrics, NoMetrics};
