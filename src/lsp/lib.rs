//! The client side of language servers: find and install their programs, start them, speak LSP with them, stop them.
//!
//! The crate knows neither tools nor workspaces. It decodes what a server answers, but doesn't filter, sort or cap it
//! (`codeyard-canon` does). It starts no process itself except package tools and version probes in [`install`].

pub mod client;
pub mod convert;
pub mod documents;
pub mod install;
pub mod limits;
pub mod methods;
pub mod readiness;
pub mod registry;
pub mod text;
