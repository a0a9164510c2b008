//! Rank 3: language servers as children. Finding, starting, speaking to, and stopping them; nothing of tools or workspaces.

pub mod convert;
pub mod documents;
pub mod encoding;
pub mod methods;
pub mod outgoing;
pub mod progress;
pub mod readiness;
pub mod registry;
pub mod splice;
pub mod sync_options;
pub mod text;
