//! Parameters of a world, derived from the seed: how servers report diagnostics, fault rates, limits.

use codeyard_config::{Config, Sweep};
use codeyard_model::limits;

use crate::sim::dice::Dice;

/// How a server delivers diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Diagnosing {
    /// The client pulls them.
    Pulled,
    /// The server pushes them with the document's version.
    Versioned,
    /// The server pushes them without a version; they count after a quiet period.
    Settled,
}

/// Parameters of one world.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub workspaces: usize,
    pub steps: usize,
    pub diagnosing: Diagnosing,
    pub linter: Diagnosing,
    /// The primary server answers `workspace/diagnostic`.
    pub reports_workspace: bool,
    /// Percentage of requests with a fault.
    pub faults: u64,
    /// Percentage of starts with a fault.
    pub bad_starts: u64,
    /// The longest indexing at a start, in ms.
    pub indexing_ms: u64,
    /// Hover requests are not cancelled at the server.
    pub keeps_hovers: bool,
    pub sweep: Sweep,
    pub timeout_ms: u64,
    pub page_cap: usize,
    pub list_cap: usize,
    pub snapshot_bytes: usize,
    pub snapshots_bytes: usize,
    pub snapshot_ttl_s: u64,
    pub response_bytes: usize,
    pub prewarm: bool,
    /// Longest duration of blocking disk work, in ms.
    pub slow_disk_ms: u64,
    pub idle_s: u64,
    pub clients: usize,
}

/// Quarantine of a server that crashed too often, in seconds.
pub(crate) const QUARANTINE_S: u64 = 40;
/// Longest start, in seconds.
pub(crate) const START_S: u64 = 12;
/// Silence after which a server counts as hung, in seconds.
pub(crate) const HANG_S: u64 = 8;
/// Starts at a time.
const MAX_STARTS: usize = 8;
/// First back-off after a crash, in ms.
pub(crate) const BACKOFF_MS: u64 = 500;
/// Longest back-off after a crash, in ms.
pub(crate) const BACKOFF_MAX_MS: u64 = 10_000;
/// Restarts allowed in the window.
pub(crate) const MAX_RESTARTS: u64 = 4;
/// The window, in seconds.
pub(crate) const WINDOW_S: u64 = 60;

impl Profile {
    pub(crate) fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed, 1);
        let diagnosings = [Diagnosing::Pulled, Diagnosing::Pulled, Diagnosing::Versioned, Diagnosing::Settled];
        Self {
            workspaces: dice.range(1, 3) as usize,
            steps: dice.range(50, 110) as usize,
            diagnosing: *dice.pick(&diagnosings),
            linter: *dice.pick(&diagnosings),
            reports_workspace: dice.chance(60),
            faults: *dice.pick(&[0, 4, 15, 15, 30, 60]),
            bad_starts: *dice.pick(&[0, 0, 5, 20, 70]),
            indexing_ms: *dice.pick(&[0, 5, 300, 1_500, 6_000]),
            keeps_hovers: dice.chance(20),
            sweep: *dice.pick(&[Sweep::Off, Sweep::Open, Sweep::All]),
            timeout_ms: *dice.pick(&[limits::REQUEST_TIMEOUT_MS, limits::REQUEST_TIMEOUT_MS, 700]),
            page_cap: *dice.pick(&[200, 200, 5]),
            list_cap: *dice.pick(&[200, 200, 2]),
            snapshot_bytes: *dice.pick(&[limits::MAX_SNAPSHOT_BYTES, limits::MAX_SNAPSHOT_BYTES, 1_500]),
            snapshots_bytes: *dice.pick(&[limits::MAX_SNAPSHOTS_TOTAL_BYTES, limits::MAX_SNAPSHOTS_TOTAL_BYTES, 4_000]),
            snapshot_ttl_s: *dice.pick(&[600, 600, 5]),
            response_bytes: *dice.pick(&[limits::MAX_RESPONSE_BYTES, limits::MAX_RESPONSE_BYTES, 2_600]),
            prewarm: dice.chance(25),
            slow_disk_ms: *dice.pick(&[0, 0, 0, 3, 20]),
            idle_s: *dice.pick(&[900, 900, 20]),
            clients: dice.range(1, 4) as usize,
        }
    }

    /// Writes the configurable parameters to a configuration.
    pub(crate) fn configure(&self, config: &mut Config) {
        let limits = &mut config.limits;
        limits.request_timeout_ms = self.timeout_ms;
        limits.max_page_size = self.page_cap;
        limits.max_items_nonpaged = self.list_cap;
        limits.max_snapshot_bytes = self.snapshot_bytes;
        limits.max_snapshots_total_bytes = self.snapshots_bytes;
        limits.snapshot_ttl_s = self.snapshot_ttl_s;
        limits.max_response_bytes = self.response_bytes;
        config.diagnostics.sweep = self.sweep;
        let supervision = &mut config.supervision;
        supervision.backoff_initial_ms = BACKOFF_MS;
        supervision.backoff_max_ms = BACKOFF_MAX_MS;
        supervision.max_restarts = MAX_RESTARTS as _;
        // By default it depends on the machine's processors.
        supervision.max_starts = MAX_STARTS;
        supervision.restart_window_s = WINDOW_S;
        supervision.quarantine_s = QUARANTINE_S;
        supervision.start_timeout_s = START_S;
        supervision.hang_s = HANG_S;
        supervision.hang_with_progress_s = 3 * HANG_S;
        supervision.idle_stop_s = self.idle_s;
    }
}
