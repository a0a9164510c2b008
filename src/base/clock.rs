//! Time. Deadlines and timers use tokio's clock, which tests can pause; wall time is only for file stamps and logs.
//!
//! Invariant: no pure crate reads the operating system's time other than through this module.

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

    /// The deadline `by` earlier.
    pub fn earlier(self, by: Duration) -> Self {
        Self(self.0.checked_sub(by).unwrap_or(self.0))
    }

    /// The instant itself.
    pub fn instant(self) -> Instant {
        self.0
    }

    /// The remaining time, zero when it has passed.
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

/// Whole seconds of wall time since 1970; 0 for a clock before that.
pub fn wall_s() -> u64 {
    u64::try_from(wall_ns() / 1_000_000_000).unwrap_or_default()
}

/// Seconds since 1970 as a UTC time in RFC 3339, `2026-11-21T19:33:29Z`. Times after the year 9999 are shown as its last second.
pub fn utc(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).unwrap_or(LAST_SECOND).to_string()
}

/// Nanoseconds since 1970 as a UTC time in RFC 3339 with microseconds, `2026-11-21T19:33:29.000123Z`.
pub fn utc_us(nanoseconds: i128) -> String {
    const MICROSECONDS: jiff::fmt::temporal::DateTimePrinter =
        jiff::fmt::temporal::DateTimePrinter::new().precision(Some(6));
    MICROSECONDS.timestamp_to_string(&jiff::Timestamp::from_nanosecond(nanoseconds).unwrap_or(LAST_SECOND))
}

/// The seconds since 1970 of a time in RFC 3339; `None` for another text and for a time before that.
pub fn seconds(utc: &str) -> Option<u64> {
    utc.parse::<jiff::Timestamp>().ok().and_then(|time| u64::try_from(time.as_second()).ok())
}

/// The last whole second that `jiff` can represent, in the year 9999.
const LAST_SECOND: jiff::Timestamp = jiff::Timestamp::constant(253_402_207_200, 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_formats_leap_days_and_clamps() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(1_709_208_000), "2024-02-29T12:00:00Z");
        assert_eq!(utc(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(utc(u64::MAX), "9999-12-30T22:00:00Z");
        assert_eq!(utc_us(1_500_000_000), "1970-01-01T00:00:01.500000Z");
        assert_eq!(seconds("2024-02-29T13:00:00+01:00"), Some(1_709_208_000));
        assert_eq!((seconds("1969-12-31T23:59:00Z"), seconds("2024-02-29")), (None, None));
    }
}
