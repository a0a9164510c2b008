//! The language-server actor: one per workspace and server kind, or one per project root where the kind handles only one; shared by
//! every client.
//!
//! [`actor`] holds the state; [`lifecycle`] starts, supervises and stops the process; [`session`] is the running process with its
//! connection and open documents; [`request_handling`] sends requests; [`disk_reads`] reads files for the actor. [`messages`] lists what
//! the actor accepts.
//! Invariants: at most one process at a time; an event of an earlier incarnation is never attributed to the current one; a dropped
//! actor leaves no process.

pub mod actor;
mod admin;
pub(crate) mod anchors;
mod budget_end;
pub mod child_key;
mod client_host;
pub mod context;
mod crash_suspects;
mod diagnostics;
pub mod diagnostics_budget;
mod disk_reads;
pub mod document;
mod document_loading;
mod document_sync;
mod expiry;
mod file_changes;
mod folder_changes;
pub(crate) mod health;
mod index_lag;
pub mod isolation;
mod launch_spec;
mod lifecycle;
mod load_watch;
pub(crate) mod memory_limit;
pub mod messages;
pub(crate) mod overload;
pub mod prepared_projects;
mod process_guard;
pub mod program_failures;
pub mod programs;
pub mod project_folders;
pub mod project_publication;
mod project_updates;
mod pushed_diagnostics;
pub mod refused_methods;
pub mod registry;
pub mod request;
mod request_handling;
pub mod request_turns;
pub mod restart_rule;
mod session;
pub mod start_locks;
pub mod start_queue;
pub mod start_status;
mod startup;
mod stopping;
mod supervision;
mod toolchain;
mod watch_globs;
