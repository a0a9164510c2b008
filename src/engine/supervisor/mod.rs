//! The supervisor: it starts one workspace actor per configured workspace, replaces one that panicked, and drains them.
//!
//! [`engine`] starts the actors, [`directory`] is where calls find workspaces, [`control`] is what operators use, and [`messages`] lists
//! what the supervisor accepts.

pub mod actor;
mod config_plan;
pub mod control;
pub mod directory;
mod drain;
pub mod drain_state;
pub mod engine;
mod memory;
pub mod messages;
pub mod metrics;
mod opening_again;
mod principal_count;
pub mod problems;
mod replacement;
mod root_opening;
pub mod server_selection_check;
mod workspace_admin;
