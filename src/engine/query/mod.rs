//! Turns a query into an answer: selects the language servers, sends the requests, makes the answers canonical.
//!
//! [`plan`] selects the servers, [`execution`] runs one query, [`operation`] runs an operation of the tool `lsp`, [`provider_call`]
//! sends one request to one server, and [`canonicalise`] makes the result. It changes no state of a workspace: the result is sent
//! there as [`messages::Finish`].

pub(crate) mod canonicalise;
mod collected;
pub mod execution;
pub(crate) mod fallback;
pub mod gather;
mod identifiers;
pub mod known_files;
pub mod messages;
pub(crate) mod operations;
pub mod plan;
pub(crate) mod position_check;
mod position_encoding;
pub mod provider;
pub(crate) mod provider_call;
pub(crate) mod query_operation;
pub mod redact;
mod title;
pub mod watch_slot;
