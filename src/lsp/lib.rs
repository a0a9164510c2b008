//! Rank 3: language servers as children. Finding, starting, speaking to, and stopping them; nothing of tools or workspaces.

pub mod capabilities;
pub mod client;
pub mod convert;
pub mod documents;
pub mod encoding;
pub mod events;
pub mod frame;
pub mod inbound;
pub mod install;
pub mod lifecycle;
pub mod limits;
mod message;
mod meter;
pub mod methods;
mod notifications;
mod outgoing;
pub mod pending;
pub mod progress;
pub mod readiness;
pub mod registry;
mod splice;
pub mod sync_options;
pub mod text;
