//! Decides when a language server that exited is restarted: at once if it was ready and this is the first exit within the window, otherwise
//! after a back-off, then a quarantine, then one try. Pure; the time is passed in.
//!
//! A process that was killed from outside hasn't failed: it is restarted at once, and after a back-off if it is killed again soon, but never
//! quarantined for it. Invariant: never more than `max_restarts` restarts within `window`, whatever the server does.

use std::collections::VecDeque;
use std::time::Duration;

use crate::limits;
use codeyard_base::clock::Instant;
use codeyard_base::seeded_faults;

/// The parameters of the restart rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartRule {
    /// First wait; it doubles with each exit.
    pub backoff_first: Duration,
    /// Longest wait.
    pub backoff_max: Duration,
    /// Restarts allowed within `window`.
    pub max_restarts: usize,
    /// The window.
    pub window: Duration,
    /// How long a server that exits too often is not restarted.
    pub quarantine: Duration,
}

impl Default for RestartRule {
    fn default() -> Self {
        Self {
            backoff_first: Duration::from_millis(500),
            backoff_max: Duration::from_secs(60),
            max_restarts: 4,
            window: Duration::from_secs(180),
            quarantine: Duration::from_secs(300),
        }
    }
}

/// What to do after an exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestartDecision {
    /// Start again after this wait.
    Restart(Duration),
    /// Wait this long, then try once.
    Quarantine(Duration),
}

/// The exits of one server.
#[derive(Debug)]
pub(crate) struct RestartHistory {
    rule: RestartRule,
    exits: VecDeque<Instant>,
    /// Whether the first exit was followed by an immediate restart.
    first_was_immediate: bool,
    on_probation: bool,
    /// Kills from outside, each before the server had served for long.
    kills: u32,
    /// It exceeded its memory limit before it had served for long, and hasn't served for long since then.
    exceeds_limit: bool,
}

impl RestartHistory {
    /// No exits yet.
    pub(crate) fn new(rule: RestartRule) -> Self {
        Self {
            rule,
            exits: VecDeque::new(),
            first_was_immediate: false,
            on_probation: false,
            kills: 0,
            exceeds_limit: false,
        }
    }

    /// Records an exit. `was_ready`: the server had been ready. `jitter` in [0, 1) spreads restarts of many servers over
    /// a tenth of the wait.
    pub(crate) fn on_exit(&mut self, now: Instant, was_ready: bool, jitter: f64) -> RestartDecision {
        while self.exits.front().is_some_and(|first| now.duration_since(*first) > self.rule.window) {
            self.exits.pop_front();
            self.first_was_immediate = false;
        }
        self.exits.push_back(now);
        let too_often = self.on_probation || self.exits.len() > self.rule.max_restarts;
        if too_often && !seeded_faults::is_on("never_quarantined") {
            return self.give_up();
        }
        if self.exits.len() == 1 {
            self.first_was_immediate = was_ready;
            if was_ready {
                return RestartDecision::Restart(Duration::ZERO);
            }
        }
        let waited = self.exits.len() - 1 - usize::from(self.first_was_immediate).min(self.exits.len() - 1);
        RestartDecision::Restart(self.backoff(u32::try_from(waited).unwrap_or(u32::MAX), jitter))
    }

    /// How often in a row the process has been killed from outside soon after its start.
    pub(crate) fn kills_in_a_row(&self) -> u32 {
        self.kills
    }

    /// Records that the process was killed from outside. `served`: how long it had been ready without an interruption. One that is killed
    /// again and again as soon as it has started, for example because the machine lacks memory, waits longer each time.
    pub(crate) fn on_killed(&mut self, served: Duration, jitter: f64) -> RestartDecision {
        if served >= Duration::from_millis(limits::KILL_FORGOTTEN_MS) {
            self.kills = 0;
        }
        self.kills = self.kills.saturating_add(1);
        match self.kills {
            1 => RestartDecision::Restart(Duration::ZERO),
            kills => RestartDecision::Restart(self.backoff(kills - 2, jitter)),
        }
    }

    /// It isn't tried again before the quarantine has passed, and then once.
    pub(crate) fn give_up(&mut self) -> RestartDecision {
        self.on_probation = true;
        self.exits.clear();
        RestartDecision::Quarantine(self.rule.quarantine)
    }

    fn backoff(&self, doublings: u32, jitter: f64) -> Duration {
        let wait = self.rule.backoff_first.saturating_mul(1 << doublings.min(16)).min(self.rule.backoff_max);
        wait.mul_f64(1.0 + jitter.clamp(0.0, 1.0) / 10.0)
    }

    /// Records an end over the memory limit. `served`: how long it had been ready without an interruption. A server that has served for a
    /// whole window has grown, so a new process helps. One that exceeds the limit sooner is tried once more; if that
    /// exceeds it, too, the server needs more than the limit.
    pub(crate) fn on_memory_limit(&mut self, served: Duration) -> RestartDecision {
        if served >= self.rule.window {
            self.exceeds_limit = false;
            return RestartDecision::Restart(Duration::ZERO);
        }
        match std::mem::replace(&mut self.exceeds_limit, true) {
            false => RestartDecision::Restart(Duration::ZERO),
            true => RestartDecision::Quarantine(self.rule.quarantine),
        }
    }

    /// Forgets all failures: an operator has asked for a restart.
    pub(crate) fn forget(&mut self) {
        self.on_stable();
        self.kills = 0;
        self.exceeds_limit = false;
    }

    /// Records that the server ran for a whole window: it is no longer on probation.
    pub(crate) fn on_stable(&mut self) {
        self.on_probation = false;
        self.exits.clear();
    }

    /// The rule in force.
    pub(crate) fn rule(&self) -> &RestartRule {
        &self.rule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_restarts_then_quarantine_then_one_try() {
        let mut history = RestartHistory::new(RestartRule::default());
        let start = Instant::now();
        let waits: Vec<RestartDecision> =
            (0..5).map(|n| history.on_exit(start + Duration::from_secs(n), false, 0.0)).collect();
        let ms = |ms| RestartDecision::Restart(Duration::from_millis(ms));
        assert_eq!(waits[..4], [ms(500), ms(1_000), ms(2_000), ms(4_000)]);
        assert_eq!(waits[4], RestartDecision::Quarantine(Duration::from_secs(300)));
        let again = history.on_exit(start + Duration::from_secs(400), true, 0.0);
        assert_eq!(again, RestartDecision::Quarantine(Duration::from_secs(300)), "after quarantine there is one try");
        history.on_stable();
        assert_eq!(history.on_exit(start + Duration::from_secs(900), false, 0.0), ms(500));
    }

    #[test]
    fn the_first_death_of_one_that_was_ready_costs_no_wait() {
        let mut history = RestartHistory::new(RestartRule::default());
        let start = Instant::now();
        let waits: Vec<RestartDecision> =
            (0..5).map(|n| history.on_exit(start + Duration::from_secs(n), true, 0.0)).collect();
        let ms = |ms| RestartDecision::Restart(Duration::from_millis(ms));
        assert_eq!(waits[..4], [ms(0), ms(500), ms(1_000), ms(2_000)]);
        assert_eq!(waits[4], RestartDecision::Quarantine(Duration::from_secs(300)));
    }

    #[test]
    fn a_server_that_needs_more_than_its_memory_limit_is_tried_twice() {
        let mut history = RestartHistory::new(RestartRule::default());
        let again = RestartDecision::Restart(Duration::ZERO);
        let given_up = RestartDecision::Quarantine(Duration::from_secs(300));
        let early = Duration::from_secs(179);
        let late = Duration::from_secs(180);
        assert_eq!([late, late, late].map(|served| history.on_memory_limit(served)), [again; 3], "it grows slowly");
        assert_eq!([early, early, early].map(|served| history.on_memory_limit(served)), [again, given_up, given_up]);
        history.on_stable();
        assert_eq!(history.on_memory_limit(early), given_up, "a long start is no service");
        assert_eq!([late, early].map(|served| history.on_memory_limit(served)), [again; 2]);
        history.forget();
        assert_eq!(history.on_memory_limit(early), again);
    }

    #[test]
    fn kills_from_outside_wait_longer_each_time_and_never_end_in_quarantine() {
        let mut history = RestartHistory::new(RestartRule::default());
        let waits: Vec<_> = (0..40).map(|_| history.on_killed(Duration::ZERO, 0.0)).collect();
        let ms = |ms| RestartDecision::Restart(Duration::from_millis(ms));
        assert_eq!(waits[..5], [ms(0), ms(500), ms(1_000), ms(2_000), ms(4_000)]);
        assert!(waits[10..].iter().all(|wait| *wait == ms(60_000)), "{waits:?}");
        let served = Duration::from_millis(limits::KILL_FORGOTTEN_MS);
        assert_eq!([served; 3].map(|served| history.on_killed(served, 0.0)), [ms(0); 3]);
        assert_eq!(history.on_exit(Instant::now(), true, 0.0), ms(0), "they aren't failures");
    }

    #[test]
    fn old_deaths_are_forgotten_and_waits_are_capped() {
        let rule = RestartRule { max_restarts: 100, ..RestartRule::default() };
        let mut history = RestartHistory::new(rule);
        let start = Instant::now();
        let mut last = RestartDecision::Restart(Duration::ZERO);
        for n in 0..20 {
            last = history.on_exit(start + Duration::from_secs(n), false, 0.0);
        }
        assert_eq!(last, RestartDecision::Restart(Duration::from_secs(60)));
        let later = history.on_exit(start + Duration::from_secs(1_000), false, 0.999);
        assert!(matches!(later, RestartDecision::Restart(wait) if wait < Duration::from_millis(551)));
    }
}
