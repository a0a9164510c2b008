//! The build of a project: what it left behind, whether it may run and must run again, and what only it makes.

pub(super) mod build_stamp;
pub(super) mod locate;
pub(super) mod missing_headers;
pub(super) mod run_build;
#[cfg(test)]
mod run_build_tests;
