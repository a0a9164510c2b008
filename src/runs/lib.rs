//! Runs: durable pieces of work with a state machine, from their start to a validated result.
//!
//! A run belongs to a workflow, which is data: states and the stages between them. This crate knows how a run goes on, what makes it
//! durable and how it continues after a crash. It doesn't know what a stage does; the workflow's own crate does. Invariants: an event is
//! durable before its effect is visible; the events of a run are the truth, everything else can be made from them again; a finished work
//! item is never repeated.

pub mod artifact_store;
pub mod durable_run;
pub mod event;
pub mod event_log;
pub mod fair_queue;
pub mod limits;
pub mod live_run;
pub mod machine;
pub mod observer;
pub mod run_folder;
pub mod run_host;
pub mod run_id;
mod run_lease;
pub mod run_store;
pub mod run_view;
pub mod stage;
#[cfg(test)]
mod testing;
pub mod work_item;
pub mod workflow;
