//! What is known of the running workspaces and language servers, readable without asking an actor.
//!
//! The state of each language server is published in [`state_watch`] for the requests that wait for it, and in [`server_status`] for
//! operators, with its projects in [`project_cell`]; the entries of all workspaces are in [`registry`], and whether their threads run is in [`heartbeat`]. [`watch_slot`] holds a
//! workspace's subscription to file changes. Only [`memory_gate`]
//! makes decisions: whether a start fits into the memory budget, and which servers make room.

pub mod actor_exit;
pub mod condition;
pub mod heartbeat;
pub mod index_status;
pub mod memory_gate;
pub mod project_cell;
pub mod registry;
pub mod server_failure;
pub mod server_state;
pub mod server_status;
pub mod start_status;
pub mod state_watch;
pub mod stopped_servers;
pub mod watch_slot;
