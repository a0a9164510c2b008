//! The sizes and times of the scenario `fleet`.

use std::time::Duration;

/// Agents for 60 repositories.
pub(super) const AGENTS: usize = 100;
/// Repositories for that many agents.
pub(super) const REPOSITORIES: usize = 60;
/// Searches of one agent.
pub(super) const SEARCHES: usize = 2;
/// Questions of one agent to language servers.
pub(super) const QUESTIONS: usize = 3;
/// Registered workspaces of the last part.
pub(super) const REGISTERED: usize = 200;
/// Workspaces among them that are used.
pub(super) const USED: usize = 20;
/// An agent retries no more after this time.
pub(super) const GIVES_UP_AFTER: Duration = Duration::from_secs(900);
/// Pause before idle processor time is measured.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(10);
/// Time over which idle processor time is measured.
pub(super) const IDLE: Duration = Duration::from_secs(30);
/// Pause between two lists of workspaces.
pub(super) const LIST_INTERVAL: Duration = Duration::from_millis(500);
/// Pause between two measurements of memory.
pub(super) const MEMORY_INTERVAL: Duration = Duration::from_secs(2);
/// The deadline of a call, and how much later it may be answered.
pub(super) const DEADLINE_MS: f64 = 2_000.0;
/// Allowed delay after the deadline, in milliseconds.
pub(super) const LATE_MS: f64 = 100.0;
/// The memory budget of one part, in MiB.
pub(super) const BUDGET_MIB: f64 = 2_048.0;
/// Files of one language in a generated repository.
pub(super) const FILES: usize = 3;
/// Uses of a name in each of these files.
pub(super) const USES: usize = 3;
