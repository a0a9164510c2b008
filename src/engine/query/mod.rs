//! Turns a query into an answer: selects the language servers, sends the requests, makes the answers canonical.
//!
//! [`plan`] selects the servers, [`execution`] runs one query, [`operation`] runs an operation of the tool `lsp`, [`provider_call`]
//! sends one request to one server, and [`canonicalise`] makes the result. It changes no state of a workspace: the result is sent
//! there as [`messages::Finish`].

pub(crate) mod canonicalise;
pub mod collected;
pub mod execution;
pub(crate) mod fallback;
mod identifiers;
pub mod known_files;
pub mod messages;
pub mod operation;
pub mod plan;
mod position_encoding;
pub mod provider;
pub mod provider_call;
pub mod redact;
pub mod watch_slot;
