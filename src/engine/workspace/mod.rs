//! The workspace actor: the only one that changes the epochs and the retained results of its workspace, and the owner of its language
//! servers.
//!
//! [`actor`] holds the state, [`messages`] lists what the actor accepts, [`handle`] is how a call reaches it, and [`setup`] is what it is
//! made from. A query passes through it in two short steps, `begin` and `finish`; between them an execution runs on its own.

mod activity;
pub mod actor;
mod admin;
mod begin;
mod changes;
pub(crate) mod children;
mod code_index;
mod document_checks;
mod epochs;
mod finish;
pub mod handle;
pub mod long_questions;
pub mod messages;
mod plans;
mod project_jobs;
mod provider_selection;
mod publish_status;
mod runs;
pub mod setup;
mod shared_servers;
mod state;
mod sweep;
