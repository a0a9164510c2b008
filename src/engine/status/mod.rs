//! What is known of the running workspaces and language servers, readable without asking an actor.
//!
//! The state of each language server is published in [`state_watch`]; the figures of all workspaces are in [`registry`]. Nothing in
//! this folder makes a decision.

pub mod actor_exit;
pub mod registry;
pub mod server_state;
pub mod state_watch;
