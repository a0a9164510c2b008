//! The admin API: operators list, inspect and change workspaces, language servers and retained results over HTTP (`docs/internals/reference/admin-api.md`).
//!
//! The router and the OpenAPI document come from one table of routes. The API is served on a local socket of mode 0600, and over TCP
//! with separate tokens if configured. The engine makes the changes. Invariants: no response holds source text, an argument or a secret;
//! only this API reveals roots and standard error; every body, connection and wait is bounded; an error names the next step.

pub mod api;
mod audit_record;
pub mod client;
pub mod dispatch;
pub mod documents;
mod isolation_document;
pub mod listen;
pub mod openapi;
mod operations;
pub mod problem;
pub mod route;
pub mod routes;
mod server_documents;

pub use api::{Api, ServiceFacts};
