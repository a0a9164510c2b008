//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Workspaces in one configuration.
pub const MAX_WORKSPACES: usize = 10_000;

/// Groups of workspaces in one configuration.
pub const MAX_GROUPS: usize = 1_000;
