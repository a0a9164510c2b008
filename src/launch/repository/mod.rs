//! Git repositories at one commit: where they may be cloned from, what they hold, and the reading of their files.

pub mod checkout;
pub mod discovery;
pub(crate) mod file_kinds;
pub(crate) mod git_errors;
pub(crate) mod product_sources;
pub(crate) mod remote_refs;
pub mod repo_scout;
pub mod repository_address;
