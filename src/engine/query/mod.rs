//! Turns a query into an answer: selects the language servers, sends the requests, makes the answers canonical.
//!
//! [`plan`] selects the servers. [`execution`] runs one query. [`operations`] has the requests and the canonicalisation of each
//! query. [`gather`] sends an operation of the tool `lsp` to all servers. [`provider_call`] sends one request to one server.
//! [`commonjs`] finds the references that a server doesn't follow through modules. [`canonicalise`] makes the result,
//! [`useful_order`] sorts it for the tool `lsp`, and [`previews`] adds source lines. This module changes no state of a workspace: it sends the result there as [`messages::Finish`].

pub mod callers;
mod callers_by_references;
pub(crate) mod canonicalise;
mod collected;
pub mod commonjs;
pub(crate) mod companions;
mod coverage;
pub mod execution;
pub(crate) mod fallback;
pub mod file_looks;
pub mod gather;
mod identifiers;
pub mod known_files;
pub mod messages;
mod missing_servers;
pub(crate) mod operations;
pub mod plan;
pub(crate) mod position_check;
mod position_encoding;
mod previews;
pub mod provider;
pub(crate) mod provider_call;
pub(crate) mod query_operation;
pub mod redact;
mod title;
mod unanswered;
mod useful_order;
pub mod watch_slot;
