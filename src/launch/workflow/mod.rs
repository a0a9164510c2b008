//! The launch workflow as `codeyard-runs` carries it out: states, stages, what the operator allows, what callers see.

pub mod run_status;
pub mod settings;
pub mod stages;
pub mod states;
