//! Rank 3: language servers as children. Finding, starting, speaking to, and stopping them; nothing of tools or workspaces.

pub mod convert;
pub mod documents;
pub mod encoding;
pub mod methods;
pub mod progress;
pub mod readiness;
pub mod capabilities;
pub mod client;
pub mod environment;
pub mod events;
pub mod frame;
pub mod guard;
pub mod inbound;
pub mod launch;
pub mod ledger;
pub mod lifecycle;
mod message;
pub mod meter;
mod outgoing;
pub mod pending;
pub mod proc_tree;
pub mod registry;
pub mod sync_options;
pub mod text;
mod signal;
pub mod spawn;
