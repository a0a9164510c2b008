//! The limits of this crate: sizes, counts and times that bound what callers, files and other processes can cost.

use std::time::Duration;

/// Bearer tokens of one audience, those of all tenants together.
pub const MAX_TOKENS: usize = 4_096;

/// Tokens that are valid at a time and were minted from one token.
pub const MAX_MINTED: usize = 64;

/// The last use of a token is stored at most once in this time, in seconds.
pub const TOKEN_USE_INTERVAL_S: u64 = 60;

/// Permissions in one state directory. The oldest is dropped first.
pub const MAX_PERMISSIONS: usize = 1_024;

/// A writer waits this long for another process that writes the state database.
pub(crate) const WRITE_WAIT: Duration = Duration::from_secs(5);

/// A reader waits this long. It never waits for a writer, only for the recovery of the database after a crash.
pub(crate) const READ_WAIT: Duration = Duration::from_millis(500);

/// How long the files of a process that was killed are waited for: a child that it was just starting holds them for a moment.
pub(crate) const DEAD_HOLDER_WAIT: Duration = Duration::from_secs(2);

/// How often it is looked whether they are free.
pub(crate) const DEAD_HOLDER_POLL: Duration = Duration::from_millis(10);
