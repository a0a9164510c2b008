//! Time. Deadlines and timers use tokio's clock, which tests can pause; wall time is only for file stamps and logs.
//!
//! Invariant: nothing outside this module asks the operating system for the time, except through tokio.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use tokio::time::Instant;

/// A point in time by which a call must be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// `after` from now.
    pub fn after(after: Duration) -> Self {
        Self(Instant::now() + after)
    }

    /// The instant itself.
    pub fn instant(self) -> Instant {
        self.0
    }

    /// What is left, zero when it has passed.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it has passed.
    pub fn passed(self) -> bool {
        self.left().is_zero()
    }
}

/// Wall time since 1970 in nanoseconds, to be compared with file stamps.
pub fn wall_ns() -> i128 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
    }
}
