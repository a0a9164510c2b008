//! The scenarios that compare codeyard with a bare language server. Each file measures one or a few of them and adds figures to the
//! report.

pub(crate) mod disagree;
pub(crate) mod feature_cost;
pub(crate) mod fleet;
pub(crate) mod freshness;
pub(crate) mod latency;
pub(crate) mod leak;
pub(crate) mod mix;
pub(crate) mod operations;
pub(crate) mod references;
pub(crate) mod runs;
pub(crate) mod sharing;
pub(crate) mod start_times;
pub(crate) mod telemetry;
