//! Rank 3: language servers as children. Finding, starting, speaking to, and stopping them; nothing of tools or workspaces.

pub mod install;
pub mod registry;
