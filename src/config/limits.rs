//! The limits of this crate: sizes, counts and times that bound what callers, language servers and files can cost.

/// Workspaces in one configuration.
pub const MAX_WORKSPACES: usize = 10_000;

/// Groups of workspaces in one configuration.
pub const MAX_GROUPS: usize = 1_000;

/// Authorization servers in one configuration.
pub const MAX_ISSUERS: usize = 32;
/// Rules of one authorization server.
pub const MAX_CALLER_RULES: usize = 1_000;
/// The largest `clock_skew_s`, in seconds.
pub const MAX_CLOCK_SKEW_S: u64 = 300;
