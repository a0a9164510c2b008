//! The state directory: where it is, who may serve from it, and what outlives a restart.

pub mod auth;
pub mod limits;
pub mod store;
