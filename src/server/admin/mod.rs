//! Rank 6: what operators do over HTTP: look at workspaces, language servers and retained results, and change them.
//!
//! One table of routes makes the router and the OpenAPI document. It is served on a local socket of mode 0600, and on TCP
//! with tokens of its own if configured. Not here: MCP, and what a change means, which is the engine's. Invariants: no
//! answer holds source text, an argument or a secret; roots and standard error are told here and nowhere else; every body,
//! connection and wait is bounded; an error says what to do next.

pub mod api;
pub mod client;
pub mod dispatch;
pub mod documents;
pub mod listen;
pub mod openapi;
mod operations;
pub mod problem;
pub mod routes;
pub mod unique;

pub use api::{Api, ServiceFacts};
