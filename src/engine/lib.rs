//! Rank 4: the actors. A supervisor spawns one workspace actor per root set; each workspace alone changes its epochs and its
//! snapshot store, and owns one language-server actor per kind and project root.
//!
//! Invariants: ask down, tell up: no actor awaits its parent, and no handler awaits a child, it hands out a handle whose drop
//! cancels. A slow start belongs to the workspace, never to a request. One workspace's panic or hang changes nothing in another.

mod anchors;
mod canonicalise;
pub mod census;
mod columns;
pub mod conceal;
pub mod control;
pub mod directory;
pub mod execution;
mod exit;
mod found;
mod give_back;
mod identifiers;
pub mod indexer;
pub mod kinds;
pub mod known_files;
pub mod language_server;
pub mod limits;
pub mod observed;
pub mod operation;
pub mod programs;
mod provider_call;
pub mod providers;
mod question;
mod restart;
mod seats;
pub mod server_context;
pub mod server_state;
mod stand_in;
pub mod start;
pub mod state_watch;
pub mod supervisor;
pub mod workspace;
pub mod workspace_setup;
